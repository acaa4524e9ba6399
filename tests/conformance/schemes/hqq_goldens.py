"""hqq: HQQLinear quantizes, its encoded state_dict is what a file holds, Quantizer.dequantize gives the weight back.

Expected is its dequantization with compute_dtype float32. In bf16 or fp16, which its users choose, it rounds after the subtraction
and after the product. Files that the product must refuse hold no expected tensors: their manifest says which words the refusal has.
"""
import torch
from hqq.core.quantize import BaseQuantizeConfig, HQQLinear, Quantizer

from golden import Golden, edges, every_byte, plain

PACKAGE = "hqq"
CALLED = "HQQLinear.from_weights, its state_dict, Quantizer.dequantize"
CONVENTION = "A in float32; its own compute dtype rounds after each of its two operations"


def config(bits, group, axis):
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16",
            "quantization_config": {"quant_method": "hqq", "skip_modules": ["lm_head"],
                                    "quant_config": {"weight_quant_params": {"nbits": bits, "group_size": group, "axis": axis}}}}


def quantized(weight, bits, group, axis=1, dtype=torch.bfloat16, view_as_float=False, optimize=True):
    settings = BaseQuantizeConfig(nbits=bits, group_size=group, axis=axis, view_as_float=view_as_float)
    settings["weight_quant_params"]["optimize"] = optimize
    return HQQLinear.from_weights(weight.float(), None, settings, compute_dtype=dtype, device="cpu")


def given_back(layer):
    meta = layer.meta | {"compute_dtype": torch.float32, "scale": layer.meta["scale"].float(), "zero": layer.meta["zero"].float()}
    return Quantizer.dequantize(layer.W_q.data, meta)


def make(folder, bits, group, layers, **options):
    golden = Golden(folder, PACKAGE, CALLED, CONVENTION, config=config(bits, group, 1))
    for stem, weight in layers.items():
        layer = quantized(weight, bits, group, optimize=stem != "v_proj", **options)
        if stem == "k_proj":
            layer.W_q.data = every_byte(layer.W_q.data)
        f32 = given_back(layer)
        golden.layer(f"model.layers.0.self_attn.{stem}", layer.state_dict(), f32.to(torch.bfloat16), f32)
    golden.keep("lm_head.weight", plain(4, 32, 8))
    golden.write()


def nested(bits, group):
    """Scales and zero points that are quantized themselves: hqq 0.2 no longer writes them, its Quantizer still does. The names are
    those of HQQLinear's own meta, the encoding is its encode_safetensor_type."""
    from hqq.core.utils import encode_safetensor_type
    layer = quantized(plain(16, 128, 1), bits, group)
    state = dict(layer.state_dict())
    for key in ("scale", "zero"):
        codes, meta = Quantizer.quantize(state.pop(key).float(), nbits=8, group_size=16, channel_wise=True, axis=1, device="cpu")
        state[f"{key}_q"] = codes
        state |= {f"meta_{key}.{name}": encode_safetensor_type(value) for name, value in meta.items()}
    state["quant_scale"] = state["quant_zero"] = torch.tensor(1, dtype=torch.uint8)
    return state


def refused(folder, words, state, axis):
    golden = Golden(folder, PACKAGE, CALLED, CONVENTION, config=config(4, 64, axis))
    for ending, tensor in state.items():
        golden.drop(f"model.layers.0.self_attn.q_proj.{ending}", tensor.detach().contiguous().clone())
    golden.refuse(words)
    golden.write()


def main():
    # Shares of the grouped matrix end inside rows: 10 groups in halves, 12 in quarters, 21 in padded tenths, 40 in eighths.
    shapes = {8: ((5, 128), (3, 64)), 4: ((5, 128), (6, 192)), 3: ((7, 192), (8, 128)), 2: ((3, 256), (4, 192)), 1: ((5, 512), (8, 128))}
    for bits, (odd, all_codes) in shapes.items():
        make(f"hqq-int{bits}", bits, 64, {"q_proj": plain(*odd, bits), "k_proj": plain(*all_codes, 10 + bits), "v_proj": edges(16, 64, 20 + bits, tiny=2.0**-60, huge=2.0**60)})
    make("hqq-int4-whole-rows", 4, None, {"q_proj": plain(6, 45, 1), "k_proj": plain(10, 64, 2)})
    make("hqq-int3-whole-rows", 3, None, {"q_proj": plain(7, 45, 1)})
    make("hqq-int4-across-rows", 4, 64, {"q_proj": plain(16, 24, 1), "k_proj": plain(16, 72, 2)})
    make("hqq-int4-fp16", 4, 64, {"q_proj": plain(5, 128, 1), "k_proj": plain(6, 192, 2)}, dtype=torch.float16)
    make("hqq-int4-f32", 4, 64, {"q_proj": plain(5, 128, 1), "k_proj": plain(6, 192, 2)}, dtype=torch.float32)
    make("hqq-int4-as-float", 4, 64, {"q_proj": plain(6, 128, 1), "k_proj": plain(6, 192, 2)}, view_as_float=True)
    make("hqq-int3-as-float", 3, 64, {"q_proj": plain(7, 192, 1)}, view_as_float=True)
    for bits in (5, 6):
        make(f"hqq-int{bits}", bits, 64, {"q_proj": plain(5, 128, bits)})
    axis0 = quantized(plain(16, 128, 1), 4, 64, axis=0)
    refused("hqq-int4-axis-0", "axis 0", axis0.state_dict(), 0)
    refused("hqq-int4-quantized-scales", "quantized themselves", nested(4, 64), 1)


if __name__ == "__main__":
    main()
