"""AutoAWQ's gemm layout: WQLinear_GEMM.from_linear packs, packing_utils.dequantize_gemm unpacks. Its gemv layout is unpacked by a
CUDA kernel alone, so there the expected numbers are those of the pseudo-quantized weight, which WQLinear_GEMV.from_linear packs.

Its package imports models this CPU has no use for, so only the two modules needed are loaded.
"""
import importlib.util
import pathlib
import sys
import types

import torch

from golden import Golden, every_byte, plain

PACKAGE = "autoawq"


def load():
    found = pathlib.Path(importlib.util.find_spec("torch").origin).parents[1]
    roots = [pathlib.Path(path) / "awq" for path in sys.path if (pathlib.Path(path) / "awq").is_dir()]
    for name, sub in (("awq", ""), ("awq.modules", "modules"), ("awq.modules.linear", "modules/linear"), ("awq.utils", "utils")):
        module = types.ModuleType(name)
        module.__path__ = [str((roots or [found / "awq"])[0] / sub)]
        sys.modules[name] = module
    from awq.modules.linear.gemm import WQLinear_GEMM
    from awq.utils.packing_utils import dequantize_gemm
    sys.modules["awq.utils.module"] = types.ModuleType("awq.utils.module")
    sys.modules["awq.utils.module"].try_import = lambda name: (None, "no CUDA here")
    from awq.modules.linear.gemv import WQLinear_GEMV
    return WQLinear_GEMM, dequantize_gemm, WQLinear_GEMV


def gemv(pack, group, shapes):
    golden = Golden(f"awq-gemv-{group}", PACKAGE, "WQLinear_GEMV.from_linear", "A in float32; its own compute dtype is fp16",
                    config={"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "float16",
                            "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": group, "version": "gemv", "zero_point": True, "modules_to_not_convert": None}},
                    note="expected is the pseudo-quantized weight that was packed: its kernel needs CUDA")
    for seed, (stem, (high, wide)) in enumerate(shapes.items()):
        weight = plain(high, wide, seed + group, torch.float32)
        weight[:2] *= 2.0**-9
        parts = weight.reshape(high, -1, group)
        least, greatest = parts.amin(-1), parts.amax(-1)
        scales = ((greatest - least).clamp(min=1e-5) / 15).half()
        zeros = (-torch.round(least / scales.float())).clamp(0, 15)
        spread = scales.float().repeat_interleave(group, 1), zeros.repeat_interleave(group, 1)
        codes = torch.clamp(torch.round(weight / spread[0]) + spread[1], 0, 15)
        if stem.endswith("k_proj"):
            codes = (torch.arange(high * wide).reshape(high, wide) * 5 % 16).float()
        linear = torch.nn.Linear(wide, high, bias=False)
        linear.weight.data = (codes - spread[1]) * spread[0]
        layer = pack.from_linear(linear, 4, group, scales=scales.float(), zeros=zeros)
        golden.layer(f"model.layers.0.{stem}", layer.state_dict(), linear.weight.data.to(torch.bfloat16), linear.weight.data)
    golden.keep("lm_head.weight", plain(4, 32, 8, torch.float16))
    golden.write()


def main():
    pack, unpack, pack_gemv = load()
    gemv(pack_gemv, 32, {"self_attn.q_proj": (16, 96), "self_attn.k_proj": (24, 64)})
    gemv(pack_gemv, 64, {"self_attn.q_proj": (8, 640), "self_attn.k_proj": (16, 64)})
    gemv(pack_gemv, 128, {"self_attn.q_proj": (8, 384), "self_attn.k_proj": (8, 128)})
    golden = Golden("awq-gemm", PACKAGE, "WQLinear_GEMM.from_linear, packing_utils.dequantize_gemm", "A in float32; its own compute dtype is fp16",
                    config={"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "float16",
                            "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm", "zero_point": True, "modules_to_not_convert": None}},
                    note="dequantize_gemm gives [in, out]; expected is its transpose")
    group = 32
    for stem, high, wide, seed in (("self_attn.q_proj", 32, 64, 1), ("self_attn.k_proj", 64, 32, 2), ("mlp.up_proj", 32, 32, 3)):
        weight = plain(high, wide, seed, torch.float32)
        if stem.endswith("up_proj"):
            weight[:8] *= 2.0**-12
            weight[8:16] = weight[8:16].abs()
        parts = weight.reshape(high, -1, group)
        least, greatest = parts.amin(-1), parts.amax(-1)
        scales = ((greatest - least).clamp(min=1e-5) / 15).half()
        zeros = (-torch.round(least / scales.float())).clamp(0, 15)
        linear = torch.nn.Linear(wide, high, bias=False)
        linear.weight.data = weight
        # AutoAWQ has clamped the weight to what 4 bits can say before it packs.
        spread = scales.float().repeat_interleave(group, 1), zeros.repeat_interleave(group, 1)
        linear.weight.data = (torch.clamp(torch.round(weight / spread[0]) + spread[1], 0, 15) - spread[1]) * spread[0]
        layer = pack.from_linear(linear, 4, group, scales=scales.t().contiguous(), zeros=zeros.t().contiguous())
        stored = {key: value for key, value in layer.state_dict().items()}
        if stem.endswith("k_proj"):
            stored["qweight"] = every_byte(stored["qweight"])
        half = unpack(stored["qweight"], stored["qzeros"], stored["scales"], 4, group)
        wide_made = unpack(stored["qweight"], stored["qzeros"], stored["scales"].float(), 4, group)
        golden.layer(f"model.layers.0.{stem}", stored, wide_made.to(torch.bfloat16).t(), wide_made.t())
        assert torch.equal(half.float(), wide_made.half().float())
    golden.keep("lm_head.weight", plain(4, 32, 8, torch.float16))
    golden.write()


if __name__ == "__main__":
    main()
