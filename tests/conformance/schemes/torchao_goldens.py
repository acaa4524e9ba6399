"""torchao: quantize_ on a small model or a tensor class's own constructor, flattened by its own safetensors support."""
import torch
from torchao.prototype.mx_formats.mx_tensor import MXTensor
from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor, per_tensor_amax_to_scale
from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict
from torchao.quantization import (Float8WeightOnlyConfig, Int4TilePackedTo4dTensor, Int4Tensor, Int8Tensor, Int8WeightOnlyConfig, IntxUnpackedToInt8Tensor,
                                  IntxWeightOnlyConfig, MappingType, PerGroup, PerRow, quantize_)

from golden import Golden, edges, every_byte, plain, scaled

PACKAGE = "torchao"


def make(folder, config, layers, convention, called, **rest):
    model = torch.nn.ModuleDict()
    for stem, weight in layers.items():
        model[stem] = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False, dtype=weight.dtype)
        model[stem].weight.data = weight.clone()
    quantize_(model, config)
    state = {name: tensor for name, tensor in model.state_dict().items()}
    flat, metadata = flatten_tensor_state_dict(state)
    golden = Golden(folder, PACKAGE, called, convention, metadata=dict(metadata) | {"format": "pt"}, **rest)
    for name, tensor in state.items():
        golden.layer(name, {}, tensor.dequantize(torch.bfloat16) if "float8" in folder or "mx" in folder or "nvfp4" in folder else tensor.dequantize().to(torch.bfloat16), name=name)
    for name, tensor in flat.items():
        golden.drop(name, tensor.contiguous())
    golden.write()


def give(folder, tensors, convention, called, backs=None, note="", words=None, arguments=None, **rest):
    """Tensors of torchao's classes; `backs` says how each gives its bf16 and float32, by default its dequantize."""
    flat, metadata = flatten_tensor_state_dict({f"{stem}.weight": tensor for stem, tensor in tensors.items()})
    golden = Golden(folder, PACKAGE, called, convention, metadata=dict(metadata) | {"format": "pt"}, note=note, **rest)
    for stem, tensor in tensors.items():
        if words is None:
            golden.layer(stem, {}, *(backs or both)(tensor))
    for name, tensor in flat.items():
        golden.drop(name, tensor.contiguous())
    if words is not None:
        golden.refuse(words)
    if arguments:
        golden.manifest["arguments"] = arguments
    golden.write()


def both(tensor):
    return tensor.dequantize(torch.bfloat16), tensor.dequantize(torch.float32)


def once(tensor):
    """Float32 only, for what rounds more than once in bf16."""
    f32 = tensor.dequantize(torch.float32)
    return f32.to(torch.bfloat16), f32


def all_codes(stem, tensor):
    if stem == "k_proj":
        tensor.qdata = every_byte(tensor.qdata)
    return tensor


def micro():
    layers = {"q_proj": plain(17, 96, 1), "k_proj": plain(9, 64, 2), "v_proj": edges(13, 32, 3, tiny=2.0**-90, huge=2.0**60)}
    tall = {"q_proj": plain(130, 32, 1), "k_proj": plain(5, 160, 2), "v_proj": edges(8, 32, 3, tiny=2.0**-90, huge=2.0**60)}
    for name, dtype in (("mxfp8", torch.float8_e4m3fn), ("mxfp8-e5m2", torch.float8_e5m2), ("mxfp4", torch.float4_e2m1fn_x2)):
        for swizzled in (False, True):
            tensors = {stem: all_codes(stem, MXTensor.to_mx(weight, dtype, 32, is_swizzled_scales=swizzled)) for stem, weight in (tall if swizzled else layers).items()}
            give(f"torchao-{name}{'-swizzled' if swizzled else ''}", tensors, "A", "MXTensor.to_mx, flatten_tensor_state_dict, MXTensor.dequantize")
    exponents = MXTensor.to_mx(plain(16, 512, 4), torch.float4_e2m1fn_x2, 32)
    exponents.scale = every_byte(exponents.scale)
    give("torchao-mxfp4-exponents", {"q_proj": exponents}, "A", "MXTensor.to_mx, flatten_tensor_state_dict, MXTensor.dequantize", note="every exponent from 0 to 255; 255 is NaN", arguments=["--assume", "scale_nan=apply"])
    tensors = {stem: MXTensor.to_mx(weight, torch.float8_e4m3fn, 16) for stem, weight in {"q_proj": plain(7, 48, 1), "v_proj": edges(9, 16, 3, tiny=2.0**-90, huge=2.0**60)}.items()}
    give("torchao-mxfp8-blocks-of-16", tensors, "A", "MXTensor.to_mx with block_size 16, flatten_tensor_state_dict, MXTensor.dequantize")
    give("torchao-mxfp6", {"q_proj": MXTensor.to_mx(plain(8, 64, 1), "fp6_e3m2", 32)}, "A", "MXTensor.to_mx, flatten_tensor_state_dict", words="fp6_e3m2")
    for amax in (False, True):
        for swizzled in (False, True):
            tensors = {}
            for stem, weight in (tall if swizzled else layers | {"o_proj": plain(6, 48, 5), "up_proj": scaled(5, 16, 6, 2.0**-20 if amax else 1.0)}).items():
                scale = per_tensor_amax_to_scale(weight.abs().max().float()) if amax else None
                tensors[stem] = all_codes(stem, NVFP4Tensor.to_nvfp4(weight, 16, per_tensor_scale=scale, is_swizzled_scales=swizzled))
            give(f"torchao-nvfp4{'-two-scales' if amax else ''}{'-swizzled' if swizzled else ''}", tensors, "A", "NVFP4Tensor.to_nvfp4, flatten_tensor_state_dict, NVFP4Tensor.dequantize")
    scale = per_tensor_amax_to_scale(plain(17, 96, 1).abs().max().float())
    tensors = {"q_proj": NVFP4Tensor.to_nvfp4(plain(17, 96, 1), 16, per_tensor_scale=scale, act_per_tensor_scale=torch.tensor(0.0123))}
    give("torchao-nvfp4-static-activations", tensors, "A", "NVFP4Tensor.to_nvfp4 with act_per_tensor_scale, flatten_tensor_state_dict, NVFP4Tensor.dequantize")


def intx(weight, bits, group, mapping=MappingType.ASYMMETRIC):
    return IntxUnpackedToInt8Tensor.from_hp(weight, (1, group), getattr(torch, f"int{bits}"), mapping_type=mapping)


def widened(tensor):
    """Its dequantize in float32: of scales widened beforehand, since the class computes in the dtype of its scales."""
    f32 = tensor.to(torch.float32).dequantize()
    return f32.to(torch.bfloat16), f32


def integers():
    called = "IntxUnpackedToInt8Tensor.from_hp, flatten_tensor_state_dict; expected by its dequantize after .to(torch.float32)"
    for bits in (4, 8):
        layers = {"q_proj": plain(17, 96, 1), "v_proj": edges(13, 64, 3, tiny=2.0**-40, huge=2.0**40), "up_proj": plain(5, 64, 4, torch.float32), "down_proj": plain(6, 32, 5, torch.float16)}
        give(f"torchao-intx{bits}-zero-points", {stem: intx(weight, bits, 32) for stem, weight in layers.items()}, "A", called, backs=widened)
    codes = intx(plain(9, 64, 2), 8, 64)
    codes.qdata, codes.zero_point = every_byte(codes.qdata), torch.arange(-5, 4, dtype=torch.int8).reshape(9, 1) * 31
    give("torchao-intx8-whole-rows", {"q_proj": intx(plain(17, 45, 1), 8, 45), "k_proj": codes}, "A", called, backs=widened)
    give("torchao-intx2-symmetric", {"q_proj": intx(plain(17, 96, 1), 2, 32, MappingType.SYMMETRIC)}, "A", called, backs=widened)
    called = "Int8Tensor.from_hp, flatten_tensor_state_dict, Int8Tensor.dequantize"
    tensors = {"q_proj": plain(17, 48, 1), "k_proj": plain(9, 64, 2), "v_proj": edges(13, 32, 3, tiny=2.0**-40, huge=2.0**40)}
    give("torchao-int8-zero-points", {stem: all_codes(stem, Int8Tensor.from_hp(weight, PerRow(), MappingType.ASYMMETRIC)) for stem, weight in tensors.items()}, "A", called, backs=once)
    give("torchao-int8-groups", {stem: all_codes(stem, Int8Tensor.from_hp(weight, PerGroup(16))) for stem, weight in tensors.items()}, "A", called, backs=once)
    smooth = Int8Tensor.from_hp(plain(17, 48, 1), PerRow(), act_pre_scale=plain(1, 48, 9)[0].abs() + 0.5)
    give("torchao-int8-smoothed", {"q_proj": smooth}, "A", called + " times act_pre_scale in float32, which its linear multiplies the input by",
         backs=lambda tensor: ((tensor.dequantize(torch.float32) * tensor.act_pre_scale.float()).to(torch.bfloat16), tensor.dequantize(torch.float32) * tensor.act_pre_scale.float()))


def refusals():
    generator = torch.Generator().manual_seed(1)
    nibbles = torch.randint(-128, 128, (16, 64), generator=generator, dtype=torch.int8)
    numbers = plain(4, 16, 2).abs()
    give("torchao-int4", {"q_proj": Int4Tensor(nibbles, numbers, torch.zeros_like(numbers), [1, 32], torch.Size([16, 128]))}, "none",
         "Int4Tensor, flatten_tensor_state_dict", note="its quantizer needs mslk and a GPU; the class and the flattening are its own", words="Int4Tensor")
    tiles = torch.randint(-2**31, 2**31, (2, 8, 32, 4), generator=generator, dtype=torch.int64).to(torch.int32)
    give("torchao-int4-tile-packed", {"q_proj": Int4TilePackedTo4dTensor(tiles, plain(32, 32, 3).reshape(32, 16, 2), [1, 32], torch.Size([16, 1024]))}, "none",
         "Int4TilePackedTo4dTensor, flatten_tensor_state_dict", note="its quantizer needs a GPU; the class and the flattening are its own", words="Int4TilePackedTo4dTensor")


def main():
    layers = {"q_proj": plain(17, 48, 1), "k_proj": plain(9, 64, 2), "v_proj": edges(13, 32, 3, tiny=2.0**-60)}
    make("torchao-float8", Float8WeightOnlyConfig(), layers, "A", "quantize_(Float8WeightOnlyConfig), flatten_tensor_state_dict, Float8Tensor.dequantize")
    make("torchao-int8", Int8WeightOnlyConfig(version=2), layers, "A", "quantize_(Int8WeightOnlyConfig), flatten_tensor_state_dict, dequantize", exact=False, max_ulp=2)
    micro()
    integers()
    refusals()


if __name__ == "__main__":
    main()
