"""AutoGPTQ's QuantLinear: its pack writes, and its forward on the unit matrix gives the weight back.

Its package imports models and kernels this CPU has no use for, so only the one module needed is loaded.
"""
import pathlib
import sys
import types

import torch

from golden import Golden, every_byte, plain

PACKAGE = "auto-gptq"


def load():
    root = next(pathlib.Path(path) / "auto_gptq" for path in sys.path if (pathlib.Path(path) / "auto_gptq").is_dir())
    for name in ("auto_gptq", "auto_gptq.nn_modules", "auto_gptq.nn_modules.qlinear"):
        module = types.ModuleType(name)
        module.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = module
    from auto_gptq.nn_modules.qlinear.qlinear_cuda import QuantLinear
    return QuantLinear


def make(kind, folder, bits, group, shapes, desc_act, symmetric):
    golden = Golden(folder, PACKAGE, "QuantLinear.pack, QuantLinear.forward of the unit matrix in float32", "A in float32; its own compute dtype is fp16",
                    config={"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "float16",
                            "quantization_config": {"quant_method": "gptq", "bits": bits, "group_size": group, "desc_act": desc_act, "sym": symmetric,
                                                    "checkpoint_format": "gptq", "damp_percent": 0.01, "lm_head": False}})
    most = 2**bits - 1
    for index, (stem, (high, wide)) in enumerate(shapes.items()):
        weight = plain(high, wide, 10 * bits + index, torch.float32)
        weight[:4] *= 2.0**-6
        size = group if group > 0 else wide
        order = torch.randperm(wide, generator=torch.Generator().manual_seed(index)) if desc_act else torch.arange(wide)
        groups = torch.empty(wide, dtype=torch.int32)
        groups[order] = (torch.arange(wide) // size).to(torch.int32)
        parts = weight[:, order].reshape(high, -1, size)
        least, greatest = parts.amin(-1).clamp(max=0), parts.amax(-1).clamp(min=0)
        if symmetric:
            scales, zeros = 2 * torch.maximum(-least, greatest) / most, torch.full_like(least, (most + 1) / 2)
        else:
            scales = (greatest - least) / most
            zeros = torch.round(-least / scales).clamp(1, most)  # v1 stores zero - 1
        scales = scales.half().float()
        codes = (torch.round(weight / scales[:, groups.long()]) + zeros[:, groups.long()]).clamp(0, most)
        linear = torch.nn.Linear(wide, high, bias=False)
        linear.weight.data = (codes - zeros[:, groups.long()]) * scales[:, groups.long()]
        layer = kind(bits, group, wide, high, False, weight_dtype=torch.float32)
        layer.pack(linear, scales.clone(), zeros.clone(), groups)
        if stem.endswith("k_proj"):
            layer.qweight = every_byte(layer.qweight)
        made = layer(torch.eye(wide, dtype=torch.float32)).t()
        stored = {key: value.half() if value.is_floating_point() else value for key, value in layer.state_dict().items()}
        golden.layer(f"model.layers.0.{stem}", stored, made.to(torch.bfloat16), made.float())
    golden.keep("lm_head.weight", plain(4, 32, 8, torch.float16))
    golden.write()


def main():
    kind = load()
    shapes = {"self_attn.q_proj": (32, 64), "self_attn.k_proj": (64, 32)}
    make(kind, "gptq-int4", 4, 32, shapes, False, True)
    make(kind, "gptq-int4-asymmetric", 4, 32, {"self_attn.q_proj": (32, 64)}, False, False)
    make(kind, "gptq-int4-desc-act", 4, 32, {"self_attn.q_proj": (32, 64), "self_attn.k_proj": (32, 32)}, True, True)
    make(kind, "gptq-int4-whole-rows", 4, -1, {"self_attn.q_proj": (32, 64)}, False, True)
    make(kind, "gptq-int8", 8, 32, {"self_attn.q_proj": (32, 32), "self_attn.k_proj": (32, 32)}, False, True)
    for bits in (2, 3):
        make(kind, f"gptq-int{bits}", bits, 32, {"self_attn.q_proj": (32, 64)}, False, True)


if __name__ == "__main__":
    main()
