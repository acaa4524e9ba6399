"""nvidia-modelopt: what its export packs, by the same functions, and what its QTensor classes make of it.

Nothing in it unpacks INT4_AWQ. There the expected numbers are those of the fake-quantized weight, which the packing was computed from.
"""
import copy

import modelopt.torch.quantization as mtq
import torch
from modelopt.torch.export.quant_utils import from_quantized_weight, pack_int4_in_uint8, postprocess_state_dict, to_quantized_weight
from modelopt.torch.export.unified_export_hf import _export_quantized_weight
from modelopt.torch.quantization.qtensor import FP8QTensor, MXFP4QTensor, MXFP8QTensor, NVFP4QTensor

from golden import Golden, edges, every_byte, plain, scaled, version

PACKAGE = "nvidia-modelopt"


def config(algorithm, **more):
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16",
            "quantization_config": {"quant_method": "modelopt", "quant_algo": algorithm, "ignore": ["lm_head"],
                                    "producer": {"name": "modelopt", "version": version(PACKAGE)}, **more}}


def make(folder, called, convention, configuration, layers, quantize, either_zero=False, **rest):
    golden = Golden(folder, PACKAGE, called, convention, config=configuration, **rest)
    if either_zero:
        golden.manifest["bf16"]["either_zero"] = True
    for stem, weight in layers.items():
        stored, bf16, f32 = quantize(stem, weight)
        golden.layer(f"model.layers.0.{stem}", stored, bf16, f32)
    golden.keep("lm_head.weight", plain(4, 32, 8))
    golden.write()


def codes(stem, payload):
    return every_byte(payload) if stem.endswith("k_proj") else payload


def nvfp4(stem, weight):
    second = NVFP4QTensor.get_weights_scaling_factor_2(weight)
    scale, second = NVFP4QTensor.get_weights_scaling_factor(weight, 16, second)
    packed = codes(stem, to_quantized_weight(weight, scale, "nvfp4", second, 16))
    tensor = NVFP4QTensor(weight.shape, weight.dtype, packed)
    back = [tensor.dequantize(dtype=dtype, scale=scale, double_scale=second, block_sizes={-1: 16}) for dtype in (torch.bfloat16, torch.float32)]
    return {"weight": packed, "weight_scale": scale, "weight_scale_2": second}, *back


def fp8(stem, weight):
    scale = (weight.abs().amax().float() / 448).reshape(())
    payload = codes(stem, to_quantized_weight(weight, scale, "fp8"))
    back = [from_quantized_weight(payload, scale, "fp8", dtype) for dtype in (torch.bfloat16, torch.float32)]
    return {"weight": payload, "weight_scale": scale, "input_scale": torch.tensor(0.5)}, *back


def mxfp8(stem, weight):
    scale = MXFP8QTensor.get_weights_scaling_factor(weight)
    payload = codes(stem, to_quantized_weight(weight, scale, "mxfp8"))
    tensor = MXFP8QTensor(weight.shape, weight.dtype, payload)
    back = [tensor.dequantize(dtype=dtype, scale=scale) for dtype in (torch.bfloat16, torch.float32)]
    return {"weight": payload, "weight_scale": scale}, *back


def mxfp4(stem, weight):
    tensor, scale = MXFP4QTensor.quantize(weight, 32)
    tensor._quantized_data = codes(stem, tensor._quantized_data)
    back = [tensor.dequantize(dtype=dtype, scale=scale, block_sizes={-1: 32}) for dtype in (torch.bfloat16, torch.float32)]
    return {"weight": tensor._quantized_data, "weight_scale": scale.reshape(weight.shape[0], -1)}, *back


def calibrated(weight, configuration):
    """One linear layer through mtq.quantize, with channels of unequal loudness."""
    model = torch.nn.ModuleDict({"layer": torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False, dtype=weight.dtype)})
    model["layer"].weight.data = weight.clone()
    model.forward = model["layer"].forward
    generator = torch.Generator().manual_seed(weight.shape[1])
    loudness = torch.rand(weight.shape[1], generator=generator) * 4 + 0.1
    rows = (torch.randn(32, weight.shape[1], generator=generator) * loudness).to(weight.dtype)
    return mtq.quantize(model, configuration, lambda given: given["layer"](rows))


def exported(model, dtype):
    _export_quantized_weight(model["layer"], dtype)
    return {name.removeprefix("layer."): tensor for name, tensor in postprocess_state_dict(model.state_dict(), 0, None).items()}


def with_blocks(preset, **sizes):
    """A preset with other block sizes, to fit small weights."""
    preset = copy.deepcopy(preset)
    for row in preset["quant_cfg"]:
        if isinstance(row.get("cfg"), dict) and row["cfg"].get("block_sizes") and row["quantizer_name"] == "*weight_quantizer":
            row["cfg"]["block_sizes"] |= {-int(key[1:]): size for key, size in sizes.items()}
    return preset


def smoothed(stored, made):
    """Both as rounded once, with the columns multiplied by what the activations are multiplied by at run time."""
    f32 = made * stored["pre_quant_scale"].float() if "pre_quant_scale" in stored else made
    return f32.to(torch.bfloat16), f32


def int4_awq(stem, weight):
    model = calibrated(weight, with_blocks(mtq.INT4_AWQ_CFG, d1=32))
    layer = model["layer"]
    fake = layer.weight_quantizer(layer.weight.float())
    stored = exported(model, weight.dtype)
    return stored, smoothed(stored, fake)[0], None


def int4_codes(stem, weight):
    """Every code in either nibble, of a weight that is already fake-quantized."""
    high, wide = weight.shape
    scale = weight.float().reshape(high, -1, 32).abs().amax(-1) / 7
    codes = torch.arange(high * wide).reshape(high, wide) * 7 % 16 - 8
    codes[1::2] = torch.arange(high // 2 * wide).reshape(-1, wide) // 16 % 16 - 8
    fake = codes * scale.repeat_interleave(32, 1)
    return {"weight": pack_int4_in_uint8(fake, scale, 32), "weight_scale": scale}, fake.to(torch.bfloat16), fake


def nvfp4_awq(stem, weight):
    stored, _, f32 = nvfp4(stem, weight)
    stored["pre_quant_scale"] = (torch.rand(weight.shape[1], generator=torch.Generator().manual_seed(5)) * 3 + 0.2).to(torch.bfloat16)
    return stored, *smoothed(stored, f32)


def int8_smoothed(stem, weight):
    stored = exported(calibrated(weight, mtq.INT8_SMOOTHQUANT_CFG), weight.dtype)
    return stored, *smoothed(stored, from_quantized_weight(stored["weight"], stored["weight_scale"], "int8_sq", torch.float32))


def fp8_channel(stem, weight):
    stored = exported(calibrated(weight, mtq.FP8_PER_CHANNEL_PER_TOKEN_CFG), weight.dtype)
    stored["weight"] = codes(stem, stored["weight"])
    tensor = FP8QTensor(weight.shape, weight.dtype, stored["weight"])
    return stored, *[tensor.dequantize(dtype=dtype, scale=stored["weight_scale"][:, None]) for dtype in (torch.bfloat16, torch.float32)]


def fp8_block(stem, weight, block=16):
    stored = exported(calibrated(weight, with_blocks(mtq.FP8_2D_BLOCKWISE_WEIGHT_ONLY_CFG, d1=block, d2=block)), weight.dtype)
    stored["weight"] = codes(stem, stored["weight"])
    tensor = FP8QTensor(weight.shape, weight.dtype, stored["weight"])
    grid = stored["weight_scale"].squeeze(-1).squeeze(-2)
    return stored, *[tensor.dequantize(dtype=dtype, scale=grid, block_sizes={-1: block, -2: block}) for dtype in (torch.bfloat16, torch.float32)]


def calibrations():
    awq = {"self_attn.q_proj": plain(18, 96, 1), "self_attn.v_proj": plain(14, 32, 2), "mlp.up_proj": scaled(6, 64, 3, 2.0**-10)}
    derived = "expected is the fake-quantized weight (TensorQuantizer in float32)"
    make("modelopt-int4-awq", "mtq.quantize(INT4_AWQ_CFG, groups of 32), its HF export", "A", config("W4A16_AWQ", group_size=32, has_zero_point=False, pre_quant_scale=True), awq, int4_awq, either_zero=True, exact=False, max_ulp=1,
         note=derived + " times pre_quant_scale in float32. It divides a code by 7/amax where the stored scale is amax/7: now and then one step of bf16. "
         "It keeps the sign of values that round to 0, which no code of 4 bits has.")
    make("modelopt-int4-awq-codes", "export's pack_int4_in_uint8", "A", config("W4A16_AWQ", group_size=32, has_zero_point=False, pre_quant_scale=False),
         {"self_attn.q_proj": plain(16, 96, 1), "self_attn.k_proj": plain(34, 32, 2), "self_attn.v_proj": scaled(2, 64, 3, 2.0**-60)}, int4_codes,
         note="expected is the weight that was packed: codes -8..7 times their scales in float32, so already fake-quantized")
    make("modelopt-nvfp4-awq", "NVFP4QTensor, export to_quantized_weight, NVFP4QTensor.dequantize", "A", config("NVFP4_AWQ", group_size=16, has_zero_point=False, pre_quant_scale=True),
         {"self_attn.q_proj": plain(10, 96, 1), "self_attn.k_proj": plain(17, 32, 2), "mlp.gate_proj": plain(5, 16, 6)}, nvfp4_awq, either_zero=True,
         note="expected is its dequantize in float32 times pre_quant_scale; its AWQ search needs a GPU, so pre_quant_scale is random; its table has +0 for code 8")
    make("modelopt-int8-smoothquant", "mtq.quantize(INT8_SMOOTHQUANT_CFG), its HF export, from_quantized_weight", "A", config("W8A8_SQ_PER_CHANNEL"),
         {"self_attn.q_proj": plain(17, 45, 1), "self_attn.v_proj": scaled(9, 64, 2, 2.0**-40)}, int8_smoothed, note="expected is from_quantized_weight in float32 times pre_quant_scale")
    one = dict(exact=False, max_ulp=2, recipe="target-mul-rne")
    rows = {"self_attn.q_proj": plain(17, 45, 1), "self_attn.k_proj": plain(9, 64, 2), "self_attn.v_proj": scaled(7, 40, 3, 2.0**-100)}
    make("modelopt-fp8-per-channel", "mtq.quantize(FP8_PER_CHANNEL_PER_TOKEN_CFG), its HF export, FP8QTensor.dequantize", "B in the output dtype", config("FP8_PER_CHANNEL_PER_TOKEN"), rows, fp8_channel, **one)
    blocks = {"self_attn.q_proj": plain(48, 64, 1), "self_attn.k_proj": plain(16, 32, 2), "self_attn.v_proj": plain(19, 32, 3), "mlp.up_proj": plain(32, 16, 4)}
    make("modelopt-fp8-block", "mtq.quantize(FP8_2D_BLOCKWISE_WEIGHT_ONLY_CFG, blocks of 16 x 16), its HF export, FP8QTensor.dequantize", "B in the output dtype",
         config("FP8_PB_WO"), blocks, fp8_block, **one)
    golden = Golden("modelopt-w4a8-awq", PACKAGE, "mtq.quantize(W4A8_AWQ_BETA_CFG), its HF export", "none", config=config("W4A8_AWQ", group_size=128, has_zero_point=False, pre_quant_scale=True))
    for ending, tensor in exported(calibrated(plain(4, 128, 1), mtq.W4A8_AWQ_BETA_CFG), torch.bfloat16).items():
        golden.drop(f"model.layers.0.self_attn.q_proj.{ending}", tensor.detach().contiguous().clone())
    golden.refuse("W4A8")
    golden.write()


def main():
    fours = {"self_attn.q_proj": plain(10, 96, 1), "self_attn.k_proj": plain(17, 32, 2), "self_attn.v_proj": edges(9, 64, 3, tiny=2.0**-8, huge=16.0),
             "mlp.up_proj": scaled(7, 48, 4, 2.0**-90), "mlp.gate_proj": plain(5, 16, 6, torch.float32)}
    make("modelopt-nvfp4", "NVFP4QTensor, export to_quantized_weight, NVFP4QTensor.dequantize", "A", config("NVFP4", group_size=16), fours, nvfp4, either_zero=True,
         note="its table of values has +0 for code 8, which E2M1 reads as -0")
    tensors = {"self_attn.q_proj": plain(17, 45, 1), "self_attn.k_proj": plain(9, 64, 2), "self_attn.v_proj": scaled(7, 40, 3, 2.0**-100), "mlp.up_proj": plain(6, 33, 4, torch.float32)}
    make("modelopt-fp8", "export to_quantized_weight, from_quantized_weight", "B in the output dtype", config("FP8"), tensors, fp8, exact=False, max_ulp=2)
    eights = {"self_attn.q_proj": plain(10, 96, 1), "self_attn.k_proj": plain(17, 32, 2), "self_attn.v_proj": edges(9, 64, 3, tiny=2.0**-90)}
    make("modelopt-mxfp8", "MXFP8QTensor, export to_quantized_weight, MXFP8QTensor.dequantize", "A", config("MXFP8", group_size=32), eights, mxfp8)
    make("modelopt-mxfp4", "MXFP4QTensor.quantize and .dequantize", "A", config("MXFP4", group_size=32), eights, mxfp4)
    calibrations()


if __name__ == "__main__":
    main()
