"""compressed-tensors: the presets its users choose, through its own compressors."""
import json

import torch
from compressed_tensors.compressors.base import BaseCompressor
from compressed_tensors.compressors.mxfp8.base import MXFP8QuantizationCompressor
from compressed_tensors.compressors.naive_quantized.base import NaiveQuantizationCompressor
from compressed_tensors.compressors.nvfp4.helpers import unpack_fp4_from_uint8
from compressed_tensors.quantization import QuantizationConfig, QuantizationScheme
from compressed_tensors.quantization.lifecycle.forward import dequantize
from compressed_tensors.quantization.quant_scheme import preset_name_to_scheme
from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam, maybe_pad_tensor_for_block_quant

from golden import Golden, edges, every_byte, plain, scaled

PACKAGE = "compressed-tensors"


def extremes(weight, args):
    """(least, greatest) of every part that gets a scale of its own."""
    strategy = str(args.strategy)
    if strategy == "tensor":
        parts = weight.reshape(1, -1)
    elif strategy == "channel":
        return weight.amin(1, keepdim=True), weight.amax(1, keepdim=True)
    elif strategy in ("group", "tensor_group"):
        parts = weight.reshape(weight.shape[0], -1, args.group_size)
    elif strategy == "block":
        high, wide = args.block_structure
        padded = maybe_pad_tensor_for_block_quant(weight, args.block_structure)
        parts = padded.reshape(padded.shape[0] // high, high, padded.shape[1] // wide, wide).transpose(1, 2).flatten(2)
    else:
        raise ValueError(strategy)
    return parts.amin(-1), parts.amax(-1)


def compressed(scheme, weight):
    """The tensors of one layer, by the compressor's own names."""
    args = scheme.weights
    state = {"weight": weight}
    least, greatest = extremes(weight, args)
    shared = None
    if str(args.strategy) == "tensor_group":
        shared = state["weight_global_scale"] = generate_gparam(weight.amin(), weight.amax())
    scale, zero = calculate_qparams(least, greatest, args, global_scale=shared)
    state["weight_scale"], state["weight_zero_point"] = scale, zero
    return BaseCompressor.get_value_from_registry(scheme.format).compress(state, scheme)


def in_float32(scheme, state):
    """The FP4 compressors unpack to bf16 always; asked for float32, their parts go the same way without that rounding."""
    compressor = BaseCompressor.get_value_from_registry(scheme.format)
    packed = state["weight_packed"]
    values = unpack_fp4_from_uint8(packed, packed.shape[0], packed.shape[1] * 2, dtype=torch.float32)
    return dequantize(x_q=values, scale=compressor._decompress_scale(state["weight_scale"], torch.float32), args=scheme.weights,
                      global_scale=state.get("weight_global_scale"), dtype=torch.float32)


def decompressed(scheme, state, dtype=None):
    """What the compressor gives back; with `dtype` float32 its scales are widened first, so that it computes in float32."""
    if dtype is not None and "fp4" in str(scheme.format):
        return in_float32(scheme, state)
    if dtype is not None and "mxfp8" in str(scheme.format):
        widened = MXFP8QuantizationCompressor._decompress_scale(state["weight_scale"]).to(dtype)
        return NaiveQuantizationCompressor.decompress(state | {"weight_scale": widened}, scheme)["weight"]
    if dtype is not None and state["weight_scale"].dtype == torch.bfloat16:
        state = state | {"weight_scale": state["weight_scale"].to(dtype)}
    return BaseCompressor.get_value_from_registry(scheme.format).decompress(state, scheme)["weight"]


def preset(name, stored_as, **changes):
    scheme = QuantizationScheme.model_validate(preset_name_to_scheme(name, ["Linear"]).model_dump())
    scheme.format = stored_as
    for key, value in changes.items():
        setattr(scheme.weights, key, value)
    return scheme


def config_of(scheme, stored_as):
    quantization = QuantizationConfig(config_groups={"group_0": scheme}, format=stored_as, quantization_status="compressed", ignore=["lm_head"])
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16",
            "quantization_config": json.loads(quantization.model_dump_json())}


def make(folder, name, stored_as, layers, change=None, with_f32=True, note="", **changes):
    scheme = preset(name, stored_as, **changes)
    golden = Golden(folder, PACKAGE, f"preset {name}: calculate_qparams, BaseCompressor[{stored_as}].compress and .decompress",
                    "A" if with_f32 is None else "B in the dtype of the scale, which rounds the same", config=config_of(scheme, stored_as), note=note)
    for stem, weight in layers.items():
        state = compressed(scheme, weight)
        if change:
            change(stem, state)
        made = decompressed(scheme, state)
        f32 = made if made.dtype == torch.float32 else decompressed(scheme, state, torch.float32) if with_f32 else None
        golden.layer(f"model.layers.0.{stem}", state, made.to(torch.bfloat16), f32)
    golden.keep("model.layers.0.input_layernorm.weight", plain(1, 32, 7)[0].contiguous())
    golden.keep("lm_head.weight", plain(4, 32, 8))
    golden.write()
    return golden


def all_codes(stem, state):
    """In one layer, every code that a byte of the payload can hold."""
    if stem.endswith("k_proj"):
        key = "weight_packed" if "weight_packed" in state else "weight"
        state[key] = every_byte(state[key])


def least_exponent(stem, state):
    all_codes(stem, state)
    if stem.endswith("v_proj"):
        state["weight_scale"].view(-1)[:4] = torch.tensor([0, 1, 2, 253], dtype=torch.uint8)


def main():
    attention = "self_attn"
    rowwise = {f"{attention}.q_proj": plain(17, 45, 1), f"{attention}.k_proj": plain(9, 64, 2), f"{attention}.v_proj": edges(13, 40, 3),
               "mlp.up_proj": plain(6, 33, 4, torch.float32), "mlp.down_proj": edges(9, 24, 5, torch.float32)}
    make("ct-float-quantized-tensor", "FP8", "float-quantized",
         {f"{attention}.q_proj": plain(17, 45, 1), f"{attention}.k_proj": plain(9, 64, 2), f"{attention}.v_proj": scaled(7, 40, 3, 2.0**-122),
          f"{attention}.o_proj": scaled(7, 24, 6, 2.0**120), "mlp.up_proj": plain(6, 33, 4, torch.float32), "mlp.down_proj": scaled(5, 24, 5, 2.0**-121, torch.float32),
          "mlp.gate_proj": torch.zeros(4, 16, dtype=torch.bfloat16)}, all_codes)
    make("ct-float-quantized-channel", "FP8_DYNAMIC", "float-quantized", rowwise, all_codes)
    make("ct-float-quantized-block", "FP8_BLOCK", "float-quantized",
         {f"{attention}.q_proj": plain(136, 18, 1), f"{attention}.k_proj": plain(5, 132, 2), f"{attention}.v_proj": plain(130, 7, 3, torch.float32)}, all_codes, with_f32=False)
    make("ct-float-quantized-block-f32", "FP8_BLOCK", "float-quantized",
         {f"{attention}.q_proj": plain(130, 9, 4, torch.float32), f"{attention}.v_proj": plain(3, 260, 5, torch.float32)}, all_codes)
    make("ct-int-quantized-channel", "W8A8", "int-quantized", rowwise, all_codes)
    grouped = {f"{attention}.q_proj": plain(10, 96, 11), f"{attention}.k_proj": plain(8, 64, 12), f"{attention}.v_proj": edges(11, 64, 13),
               "mlp.up_proj": plain(7, 32, 14, torch.float32), "mlp.down_proj": edges(9, 32, 15, torch.float32)}
    make("ct-pack-quantized-int4-group", "W4A16", "pack-quantized", grouped, all_codes, group_size=32)
    # Its unpacking of zero points fails where they fill one word row only, so every layer here has more than 8 rows.
    make("ct-pack-quantized-int4-group-asymmetric", "W4A16_ASYM", "pack-quantized",
         {f"{attention}.q_proj": plain(10, 96, 11), f"{attention}.k_proj": plain(16, 64, 12), f"{attention}.v_proj": edges(11, 64, 13),
          "mlp.up_proj": plain(17, 32, 14, torch.float32), "mlp.gate_proj": (plain(9, 64, 16, torch.float32).abs() + 0.01).to(torch.bfloat16)},
         all_codes, group_size=32)
    words = {f"{attention}.q_proj": plain(17, 48, 1), f"{attention}.k_proj": plain(9, 64, 2), f"{attention}.v_proj": edges(13, 40, 3),
             "mlp.up_proj": plain(6, 32, 4, torch.float32), "mlp.down_proj": edges(9, 24, 5, torch.float32)}
    channel = {"strategy": "channel", "group_size": None}
    make("ct-pack-quantized-int8-channel", "W8A16", "pack-quantized", words, all_codes, **channel)
    make("ct-pack-quantized-int8-group", "W8A16", "pack-quantized", grouped, all_codes, group_size=32)
    make("ct-pack-quantized-int4-channel", "W4A16", "pack-quantized", words, all_codes, **channel)
    # Rows that end inside a word.
    make("ct-pack-quantized-int8-channel-odd", "W8A16", "pack-quantized", rowwise, all_codes, **channel)
    make("ct-pack-quantized-int4-channel-odd", "W4A16", "pack-quantized", rowwise, all_codes, **channel)
    for bits in (2, 3, 5, 6):
        make(f"ct-pack-quantized-int{bits}-group", "W4A16", "pack-quantized",
             {f"{attention}.q_proj": plain(6, 96, 20 + bits), "mlp.up_proj": plain(3, 32, 30 + bits, torch.float32)}, num_bits=bits, group_size=32)
    make("ct-nvfp4-pack-quantized", "NVFP4", "nvfp4-pack-quantized",
         {f"{attention}.q_proj": plain(10, 96, 41), f"{attention}.k_proj": plain(17, 32, 42), f"{attention}.v_proj": edges(9, 64, 43, tiny=2.0**-8, huge=16.0),
          "mlp.up_proj": scaled(7, 48, 44, 2.0**-121), "mlp.down_proj": scaled(7, 48, 45, 2.0**100), "mlp.gate_proj": plain(5, 16, 46, torch.float32)}, all_codes)
    make("ct-mxfp4-pack-quantized", "MXFP4", "mxfp4-pack-quantized",
         {f"{attention}.q_proj": plain(10, 96, 51), f"{attention}.k_proj": plain(17, 32, 52), f"{attention}.v_proj": edges(9, 64, 53)}, least_exponent)
    make("ct-mxfp8-quantized", "MXFP8", "mxfp8-quantized",
         {f"{attention}.q_proj": plain(10, 96, 61), f"{attention}.k_proj": plain(17, 32, 62), f"{attention}.v_proj": edges(9, 64, 63)}, least_exponent)


if __name__ == "__main__":
    main()
