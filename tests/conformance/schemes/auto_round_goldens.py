"""Intel's auto-round: its QuantLinear packs for GPTQ's kernels and for its own, its WQLinear_GEMM for AWQ's.

Its package imports data sets and devices this CPU has no use for, so only the modules needed are loaded.
"""
import pathlib
import sys
import types

import torch

from golden import Golden, every_byte, plain

PACKAGE = "auto-round"


def load():
    root = next(pathlib.Path(path) / "auto_round" for path in sys.path if (pathlib.Path(path) / "auto_round").is_dir())
    for name in ("auto_round", "auto_round.utils", "auto_round.export", "auto_round.export.export_to_awq"):
        module = types.ModuleType(name)
        module.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = module
    sys.modules["auto_round.utils"].get_packing_device = lambda device=None: torch.device("cpu")
    from auto_round.export.export_to_awq import utils
    from auto_round_extension.torch import qlinear_torch, qlinear_torch_zp
    return qlinear_torch.QuantLinear, qlinear_torch_zp.QuantLinear, utils


def quantized(weight, bits, group, symmetric):
    most, parts = 2**bits - 1, weight.reshape(weight.shape[0], -1, group)
    least, greatest = parts.amin(-1).clamp(max=0), parts.amax(-1).clamp(min=0)
    if symmetric:
        return (2 * torch.maximum(-least, greatest) / most).half().float(), 2 ** (bits - 1)
    scales = ((greatest - least) / most).half().float()
    return scales, torch.round(-least / scales).clamp(1, most)


def config(packing, bits, group, symmetric):
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "float16",
            "quantization_config": {"quant_method": "auto-round", "packing_format": packing, "bits": bits, "group_size": group, "sym": symmetric,
                                    "data_type": "int", "autoround_version": "0.16.1"}}


def linear_of(weight):
    linear = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
    linear.weight.data = weight
    return linear


def gptq_packed(folder, kind, packing, bits, symmetric, group=32):
    golden = Golden(folder, PACKAGE, "QuantLinear.pack, QuantLinear.forward of the unit matrix in float32", "A in float32; its own compute dtype is fp16",
                    config=config(packing, bits, group, symmetric))
    for stem, high, wide, seed in (("q_proj", 32, 64, 1), ("k_proj", 64, 32, 2), ("v_proj", 32, 32, 3)):
        weight = plain(high, wide, seed + bits, torch.float32)
        scales, zeros = quantized(weight, bits, group, symmetric)
        layer = kind(bits, group, wide, high, False)
        layer.device = "cpu"  # as its export does
        layer.pack(linear_of(weight), scales, zeros)
        if stem == "k_proj":
            layer.qweight = every_byte(layer.qweight)
        stored = dict(layer.state_dict())
        layer.scales = layer.scales.float()
        made = layer(torch.eye(wide)).t()
        golden.layer(f"model.layers.0.self_attn.{stem}", stored, made.to(torch.bfloat16), made)
    golden.write()


def awq_packed(utils, group=32):
    golden = Golden("auto-round-awq", PACKAGE, "WQLinear_GEMM.from_linear, export_to_awq.utils.dequantize_gemm", "A in float32; its own compute dtype is fp16",
                    config=config("auto_round:auto_awq", 4, group, False))
    for stem, high, wide, seed in (("q_proj", 32, 64, 1), ("k_proj", 64, 32, 2)):
        weight = plain(high, wide, seed, torch.float32)
        scales, zeros = quantized(weight, 4, group, False)
        layer = utils.WQLinear_GEMM.from_linear(linear_of(weight), 4, group, scales=scales.t().contiguous(), zeros=zeros.t().contiguous())
        stored = dict(layer.state_dict())
        if stem == "k_proj":
            stored["qweight"] = every_byte(stored["qweight"])
        made = utils.dequantize_gemm(stored["qweight"], stored["qzeros"], stored["scales"].float(), 4, group).t()
        golden.layer(f"model.layers.0.self_attn.{stem}", stored, made.to(torch.bfloat16), made)
    golden.write()


def main():
    own, gptq, awq = load()
    for bits in (2, 3, 4, 8):
        gptq_packed(f"auto-round-gptq-int{bits}", gptq, "auto_round:auto_gptq", bits, True)
    gptq_packed("auto-round-gptq-int4-asymmetric", gptq, "auto_round:auto_gptq", 4, False)
    gptq_packed("auto-round-int4-asymmetric", own, "auto_round", 4, False)
    gptq_packed("auto-round-int3-asymmetric", own, "auto_round", 3, False)
    awq_packed(awq)


if __name__ == "__main__":
    main()
