"""comfy-kitchen, ComfyUI's own kernels (the eager ones: no CUDA here), saved with the markers ComfyUI reads."""
import dataclasses
import json

import torch
from comfy_kitchen.tensor import QuantizedTensor
from comfy_kitchen.tensor.base import get_layout_class

from golden import Golden, edges, every_byte, plain, scaled, text_tensor

PACKAGE = "comfy-kitchen"
ROOT = "model.diffusion_model.blocks.0."


def given_back(layout, payload, params, dtype):
    return QuantizedTensor(payload, layout, dataclasses.replace(params, orig_dtype=dtype)).dequantize()


def make(folder, layout, form, layers, convention, *, marker=None, change=None, exact=True, max_ulp=0, options=None, summed=0.0, in_metadata=False,
         note="", with_f32=True, padded=False):
    golden = Golden(folder, PACKAGE, f"{layout}.quantize and QuantizedTensor.dequantize, eager backend", convention, exact=exact, max_ulp=max_ulp, note=note)
    if summed:
        golden.manifest["bf16"]["of_largest"] = summed
    markers = {}
    for stem, weight in layers.items():
        payload, params = get_layout_class(layout).quantize(weight, **(options or {}))
        if change:
            payload, params = change(stem, payload, params)
        state = {f"weight{ending}": tensor for ending, tensor in get_layout_class(layout).state_dict_tensors(payload, params).items()}
        marker_here = {"format": form} | (marker or {}) | ({"orig_shape": list(weight.shape)} if padded else {})
        if in_metadata:
            markers[ROOT + stem] = marker_here
        else:
            state["comfy_quant"] = text_tensor(json.dumps(marker_here))
        f32 = given_back(layout, payload, params, torch.float32)
        golden.layer(ROOT + stem, state, given_back(layout, payload, params, torch.bfloat16), f32 if with_f32 else None)
    if in_metadata:
        golden.metadata = {"_quantization_metadata": json.dumps({"format_version": "1.0", "layers": markers})}
    golden.keep(ROOT + "norm.scale", plain(1, 32, 7)[0].contiguous())
    golden.keep(ROOT + "attn.to_q.bias", plain(1, 16, 8)[0].contiguous())
    golden.write()


def all_codes(stem, payload, params):
    return (every_byte(payload), params) if stem.endswith("to_k") else (payload, params)


def main():
    b = "B in the output dtype; in float32 it is A"
    per_tensor = {"attn.to_q": plain(17, 45, 1), "attn.to_k": plain(9, 64, 2), "attn.to_v": scaled(7, 40, 3, 2.0**-100),
                  "attn.to_out": scaled(7, 24, 6, 2.0**100), "ff.up": plain(6, 33, 4, torch.float32)}
    for name, dtype, form in (("e4m3", torch.float8_e4m3fn, "float8_e4m3fn"), ("e5m2", torch.float8_e5m2, "float8_e5m2")):
        make(f"ck-float8-{name}", "TensorCoreFP8Layout", form, per_tensor, b, change=all_codes, exact=False, max_ulp=2, options={"dtype": dtype})
    make("ck-float8-e4m3-in-metadata", "TensorCoreFP8Layout", "float8_e4m3fn", {"attn.to_q": plain(17, 45, 1)}, b, exact=False, max_ulp=2, in_metadata=True)
    blocks = {"attn.to_q": plain(144, 16, 1), "attn.to_k": plain(16, 96, 2), "attn.to_v": edges(16, 80, 3, tiny=2.0**-8, huge=16.0),
              "ff.up": scaled(16, 16, 4, 2.0**-90), "ff.down": scaled(16, 16, 5, 2.0**90)}
    make("ck-nvfp4", "TensorCoreNVFP4Layout", "nvfp4", blocks, b, change=all_codes, exact=False, max_ulp=3)
    make("ck-nvfp4-padded", "TensorCoreNVFP4Layout", "nvfp4", {"attn.to_q": plain(17, 24, 1), "attn.to_k": plain(5, 40, 2)}, b, exact=False, max_ulp=3,
         padded=True, note="rows and columns padded to 16; the marker's orig_shape says what is real")
    eights = {"attn.to_q": plain(160, 32, 1), "attn.to_k": plain(32, 64, 2), "attn.to_v": edges(32, 32, 3, tiny=2.0**-90)}
    make("ck-mxfp8", "TensorCoreMXFP8Layout", "mxfp8", eights, "A", change=all_codes, with_f32=False)
    make("ck-mxfp8-f32", "TensorCoreMXFP8Layout", "mxfp8", {"attn.to_k": plain(32, 32, 2)}, "A", change=all_codes)
    make("ck-mxfp8-least-exponent", "TensorCoreMXFP8Layout", "mxfp8", {"attn.to_v": edges(32, 32, 3)}, "A",
         note="exponent byte 0 beside payload that is not 0: comfy-kitchen reads the scale as 0, OCP as 2^-127")
    make("ck-mxfp8-padded", "TensorCoreMXFP8Layout", "mxfp8", {"attn.to_q": plain(17, 40, 1)}, "A", padded=True,
         note="rows and columns padded to 32; the marker's orig_shape says what is real")
    make("ck-int8-tensor", "TensorWiseINT8Layout", "int8_tensorwise", per_tensor, "A", change=all_codes)
    rows = {"attn.to_q": plain(17, 45, 1), "attn.to_k": plain(9, 64, 2), "attn.to_v": edges(13, 40, 3), "ff.up": edges(6, 33, 4, torch.float32)}
    make("ck-int8-row", "TensorWiseINT8Layout", "int8_tensorwise", rows, "A", change=all_codes, options={"per_channel": True}, marker={"per_row": True})
    summed = dict(exact=False, max_ulp=1, summed=2.0**-20, with_f32=False, note="un-rotated by a float32 matrix product, whose order of summation is nobody's promise")
    for size, layers in ((256, {"attn.to_q": plain(5, 512, 1), "attn.to_k": plain(9, 256, 2)}),
                         (64, {"attn.to_q": plain(5, 192, 1), "attn.to_k": plain(9, 64, 2)}), (16, {"attn.to_q": plain(5, 48, 1), "attn.to_k": plain(20, 16, 2)})):
        make(f"ck-int8-convrot-{size}", "TensorWiseINT8Layout", "int8_tensorwise", layers, "A, then a float32 rotation", change=all_codes,
             options={"per_channel": True, "convrot": True, "convrot_groupsize": size}, marker={"convrot": True, "convrot_groupsize": size}, **summed)
    make("ck-convrot-w4a4", "TensorCoreConvRotW4A4Layout", "convrot_w4a4", {"attn.to_q": plain(5, 512, 1), "attn.to_k": plain(9, 256, 2)},
         "A, then a float32 rotation", change=all_codes, marker={"convrot_groupsize": 256, "linear_dtype": "int4"}, **summed)
    make("ck-asym-w4a8-int8", "AsymW4A8Int8Layout", "asym_w4a8_int8", {"attn.to_q": plain(5, 512, 1), "attn.to_k": plain(9, 256, 2)},
         "B: the rotation is computed in the output dtype", change=all_codes, marker={"group_size": 16, "convrot_groupsize": 256},
         **(summed | {"summed": 2.0**-6, "max_ulp": 2}))
    more_int4(all_codes, summed)


def awq_w4a16():
    """It has no quantizer ("load pre-quantized tensors"), so the codes are made here; the numbers are its dequantize's.

    In bf16 that rounds after the product and after the sum, where cancelling makes the first rounding large; in float32 of
    widened scales it is exact.
    """
    golden = Golden("ck-awq-w4a16", PACKAGE, "TensorCoreAWQW4A16Layout.dequantize, eager backend, of scales widened to float32", "A: code - 8, times scale, plus zero, in float32",
                    note="codes made by hand; bf16 is its float32 rounded once")
    layout = get_layout_class("TensorCoreAWQW4A16Layout")
    for stem, high, wide, seed, group in (("attn.to_q", 17, 128, 1, 64), ("attn.to_k", 9, 64, 2, 64), ("ff.up", 6, 192, 3, 64), ("ff.down", 5, 96, 4, 32)):
        dtype = torch.float16 if stem == "ff.up" else torch.bfloat16
        parts = plain(high, wide, seed, torch.float32).reshape(high, -1, group)
        if stem == "ff.down":
            parts[0], parts[1], parts[2] = 0, 0.25, parts[2] * 2.0**40
        least, greatest = parts.amin(-1), parts.amax(-1)
        scale = ((greatest - least) / 15).to(dtype)
        zero = (least + 8 * scale.float()).to(dtype)
        codes = torch.round((parts - zero.float()[..., None]) / scale.float().clamp(min=1e-30)[..., None] + 8).clamp(0, 15).to(torch.uint8).reshape(high, wide)
        payload = (codes[:, ::2] | codes[:, 1::2] << 4).view(torch.int8)
        if stem == "attn.to_k":
            payload = every_byte(payload)
        scale, zero = scale.t().contiguous(), zero.t().contiguous()
        params = layout.Params(scale=scale.float(), zeros=zero.float(), orig_dtype=torch.float32, orig_shape=(high, wide), group_size=group)
        f32 = layout.dequantize(payload, params)
        state = {f"weight{ending}": tensor for ending, tensor in layout.state_dict_tensors(payload, dataclasses.replace(params, scale=scale, zeros=zero)).items()}
        state["comfy_quant"] = text_tensor(json.dumps({"format": "awq_w4a16", "group_size": group}))
        golden.layer(ROOT + stem, state, f32.to(torch.bfloat16), f32)
    golden.write()


def six_bits():
    golden = Golden("ck-asym-w6a8-int8", PACKAGE, "AsymW4A8Int8Layout.quantize with bits=6", "none")
    payload, params = get_layout_class("AsymW4A8Int8Layout").quantize(plain(5, 512, 1), bits=6)
    for ending, tensor in get_layout_class("AsymW4A8Int8Layout").state_dict_tensors(payload, params).items():
        golden.drop(f"{ROOT}attn.to_q.weight{ending}", tensor)
    golden.drop(f"{ROOT}attn.to_q.comfy_quant", text_tensor(json.dumps({"format": "asym_w4a8_int8", "group_size": 16, "convrot_groupsize": 256})))
    golden.refuse("6 bits")
    golden.write()


def more_int4(all_codes, summed):
    layers = {"attn.to_q": plain(5, 512, 1), "attn.to_k": plain(9, 256, 2)}
    rotated = summed | {"summed": 2.0**-6, "max_ulp": 2}
    b = "B: the rotation is computed in the output dtype"
    for name, options in (("correction", {"symmetric": False}), ("no-codebook", {"codebook": False}), ("f32-scales", {"symmetric": False, "scale_dtype": torch.float32})):
        make(f"ck-asym-w4a8-int8-{name}", "AsymW4A8Int8Layout", "asym_w4a8_int8", layers, b, change=all_codes, options=options, marker={"group_size": 16, "convrot_groupsize": 256}, **rotated)
    make("ck-asym-w4a8-int8-rotated-by-16", "AsymW4A8Int8Layout", "asym_w4a8_int8", {"attn.to_q": plain(17, 48, 1), "attn.to_k": plain(9, 64, 2)}, b, change=all_codes,
         options={"symmetric": False, "group_size": 8, "convrot_groupsize": 16}, marker={"group_size": 8, "convrot_groupsize": 16}, **rotated)
    awq_w4a16()
    six_bits()


if __name__ == "__main__":
    main()
