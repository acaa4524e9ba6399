"""convert-to-quant: its command line writes the file, its own layouts (or comfy-kitchen's, for the formats it leaves to it) read it back."""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from comfy_kitchen.tensor import QuantizedTensor
from comfy_kitchen.tensor.base import get_layout_class
from convert_to_quant.comfy import quant_ops
from convert_to_quant.converters.learned_rounding import LearnedRoundingConverter
from convert_to_quant.utils.comfy_quant import create_comfy_quant_tensor
from safetensors import safe_open
from safetensors.torch import save_file

from golden import Golden, edges, plain

PACKAGE = "convert-to-quant"
COMMAND = pathlib.Path(sys.executable).with_name("convert_to_quant")
KITCHEN = {"nvfp4": "TensorCoreNVFP4Layout", "mxfp8": "TensorCoreMXFP8Layout", "hybrid_mxfp8": "TensorCoreMXFP8Layout"}


def converted(layers, options, then):
    with tempfile.TemporaryDirectory() as folder:
        source, made = pathlib.Path(folder) / "in.safetensors", pathlib.Path(folder) / "out.safetensors"
        save_file(layers | {"blocks.0.norm.weight": plain(1, 32, 7)[0].contiguous(), "blocks.0.attn.q.bias": plain(1, layers["blocks.0.attn.q.weight"].shape[0], 8)[0].contiguous()}, source)
        run = subprocess.run([COMMAND, "-i", source, "-o", made, "--simple", "--device", "cpu", *options], capture_output=True, text=True)
        if not made.exists():
            raise RuntimeError(run.stdout[-500:] + run.stderr[-500:])
        if then:
            made, first = made.with_name("then.safetensors"), made
            subprocess.run([COMMAND, "-i", first, "-o", made, *then], capture_output=True, check=True)
        with safe_open(made, "pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}


def given_back(form, marker, stored, stem, shape, dtype):
    weight, scale = stored[f"{stem}.weight"], stored.get(f"{stem}.weight_scale", stored.get(f"{stem}.scale_weight"))
    if form in KITCHEN:
        kind = get_layout_class(KITCHEN[form])
        params = dict(scale=scale.view(torch.float8_e8m0fnu), orig_dtype=dtype, orig_shape=shape)
        if form == "nvfp4":
            params = dict(scale=stored[f"{stem}.weight_scale_2"], block_scale=scale, orig_dtype=dtype, orig_shape=shape)
        return QuantizedTensor(weight, KITCHEN[form], kind.Params(**params)).dequantize()
    if marker.get("convrot"):
        params = get_layout_class("TensorWiseINT8Layout").Params(scale=scale, orig_dtype=dtype, orig_shape=shape, convrot=True, convrot_groupsize=marker["convrot_groupsize"])
        return QuantizedTensor(weight, "TensorWiseINT8Layout", params).dequantize()
    algorithm = quant_ops.QUANT_ALGOS[form]
    layout = quant_ops.LAYOUTS[algorithm["comfy_tensor_layout"]]
    more = {"block_size": marker.get("group_size", algorithm.get("group_size"))} if "group_size" in algorithm else {}
    return layout.dequantize(weight, scale=scale, orig_dtype=dtype, is_weight=True, **more).to(dtype)


def make(folder, layers, options, exact=True, max_ulp=0, convention="A: a float32 scale of more than one element promotes", summed=0.0, with_f32=True, then=(), note=""):
    layers = {f"blocks.0.{stem}.weight": weight for stem, weight in layers.items()}
    stored, metadata = converted(layers, options, then)
    golden = Golden(folder, PACKAGE, " ".join(["convert_to_quant --simple", *options, *(["then", *then] if then else [])]) + ", read back by its quant_ops or comfy-kitchen", convention,
                    exact=exact, max_ulp=max_ulp, metadata=metadata or None, note=note)
    golden.metadata = metadata or None
    if summed:
        golden.manifest["bf16"]["of_largest"] = summed
    for name, weight in layers.items():
        stem = name[:-len(".weight")]
        marker = json.loads(bytes(stored[f"{stem}.comfy_quant"].tolist())) if f"{stem}.comfy_quant" in stored else {"format": "float8_e4m3fn"}
        mine = {ending[len(stem) + 1:]: tensor for ending, tensor in stored.items() if ending.startswith(stem + ".") and not ending.endswith(".bias")}
        shape = tuple(weight.shape)
        f32 = given_back(marker["format"], marker, stored, stem, shape, torch.float32) if with_f32 else None
        golden.layer(stem, mine, given_back(marker["format"], marker, stored, stem, shape, torch.bfloat16), f32)
    for name in set(stored) - set(golden.stored):
        if name.endswith((".norm.weight", ".bias")):
            golden.keep(name, stored[name])
        else:
            golden.drop(name, stored[name])
    golden.write()


def block3d(folder, label, layers, note):
    """The command line takes block3d for block since 1.3; its converter still has the code that wrote [rows, groups, 1]."""
    golden = Golden(folder, PACKAGE, "LearnedRoundingConverter._convert_fp8 with groups along the rows", "A", exact=False, max_ulp=1, note=note)
    golden.metadata = None
    converter = LearnedRoundingConverter(scaling_mode="block", block_size=16, no_learned_rounding=True)
    for stem, weight in layers.items():
        stem = f"blocks.0.{stem}"
        payload, scale, made = converter._convert_fp8(weight.float())
        golden.layer(stem, {"weight": payload, "weight_scale": scale, "comfy_quant": create_comfy_quant_tensor(label, block_size=16)}, made.float().to(torch.bfloat16))
    golden.write()


def main():
    comfy = ["--comfy_quant"]
    odd = {"attn.q": plain(17, 45, 1), "attn.k": plain(9, 64, 2), "attn.v": edges(12, 24, 3)}
    tiles = {"attn.q": plain(64, 64, 1)}
    one = dict(convention="B: an in-place multiply in the output dtype", exact=False, max_ulp=2)
    make("ctq-float8", odd, comfy, **one)
    make("ctq-float8-legacy", odd, [], **one)
    make("ctq-float8-rowwise", odd, comfy + ["--scaling_mode", "row"])
    make("ctq-float8-blockwise", tiles, comfy + ["--scaling_mode", "block", "--block_size", "32"], with_f32=False)
    make("ctq-int8-row", odd, comfy + ["--int8", "--scaling_mode", "row"])
    make("ctq-int8-tensor", odd, comfy + ["--int8", "--scaling_mode", "tensor"], convention="A", exact=False, max_ulp=2)
    make("ctq-int8-blockwise", tiles, comfy + ["--int8", "--scaling_mode", "block", "--block_size", "32"], with_f32=False)
    make("ctq-nvfp4", {"attn.q": plain(16, 64, 1), "attn.k": plain(16, 16, 2)}, comfy + ["--nvfp4"], convention="B in bf16", exact=False, max_ulp=3)
    make("ctq-mxfp8", {"attn.q": plain(32, 32, 1)}, comfy + ["--mxfp8"], convention="A")
    make("ctq-hybrid-mxfp8", {"attn.q": plain(32, 32, 1), "attn.k": plain(64, 96, 2)}, comfy + ["--mxfp8"], convention="A", then=["--make-hybrid-mxfp8"],
         note="weight_scalar is for hardware without MXFP8; the numbers are those of the block scales")
    grouped = {"attn.q": plain(17, 48, 1), "attn.k": plain(9, 64, 2), "attn.v": edges(12, 32, 3, tiny=2.0**-20, huge=2.0**20)}
    divided = "its own numbers are code / (448 / amax), the stored scale is the reciprocal: now and then one step of bf16"
    block3d("ctq-float8-block3d", "float8_e4m3fn_block3d", grouped, divided)
    block3d("ctq-float8-block3d-unlabelled", "float8_e4m3fn", {"attn.q": plain(17, 48, 1)}, divided + "; labelled as the command line labelled it")
    make("ctq-int8-convrot", {"attn.q": plain(17, 128, 1), "attn.k": plain(9, 64, 2)}, comfy + ["--int8", "--scaling_mode", "row", "--convrot", "--convrot-group-size", "64"],
         convention="A, then a float32 rotation", exact=False, max_ulp=1, summed=2.0**-20, with_f32=False)


if __name__ == "__main__":
    main()
