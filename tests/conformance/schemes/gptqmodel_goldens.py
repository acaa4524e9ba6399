"""GPTQModel's format gptq_v2 and its own conversion of whole files.

Its sdist does not build here, so the files that convert checkpoints are read from the unpacked sdist (run.sh unpacks it); nothing else
of the package is loaded. AutoGPTQ packs version 1, GPTQModel's code makes version 2 of it and gives the weights back.
"""
import logging
import pathlib
import re
import sys
import tempfile
import types

import torch
from safetensors.torch import save_file

from golden import Golden, every_byte, plain
from gptq_goldens import load as load_autogptq

PACKAGE = "gptqmodel"
SDIST = pathlib.Path(sys.prefix) / "gptqmodel"
VERSION = re.search(r"^Version: (.*)$", (SDIST / "PKG-INFO").read_text(), re.M).group(1)


def load():
    """gptqmodel.utils.model_dequant, with stand-ins for the dtypes and the logger, which GPTQ has no use for."""
    for name in ("gptqmodel", "gptqmodel.utils", "gptqmodel.quantization"):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [str(SDIST.joinpath(*name.split(".")))]
    dtype = sys.modules["gptqmodel.quantization.dtype"] = types.ModuleType("gptqmodel.quantization.dtype")
    dtype.__getattr__ = lambda name: lambda *arguments, **keywords: ()
    logger = sys.modules["gptqmodel.utils.logger"] = types.ModuleType("gptqmodel.utils.logger")
    logger.setup_logger = lambda *arguments: logging.getLogger("gptqmodel")
    from gptqmodel.utils import model_dequant, planar_packing
    return model_dequant, planar_packing


def given_back(tool, stored, config, dtype):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.safetensors"
        save_file(stored, path)
        return tool.convert_gptq_file(path, dtype, config, "cpu")


def packed(kind, bits, group, weight, seed, desc_act):
    high, wide = weight.shape
    order = torch.randperm(wide, generator=torch.Generator().manual_seed(seed)) if desc_act else torch.arange(wide)
    groups = torch.empty(wide, dtype=torch.int32)
    groups[order] = (torch.arange(wide) // group).to(torch.int32)
    parts, most = weight[:, order].reshape(high, -1, group), 2**bits - 1
    least, greatest = parts.amin(-1).clamp(max=0), parts.amax(-1).clamp(min=0)
    scales = ((greatest - least) / most).half().float()
    zeros = torch.round(-least / scales).clamp(1, most)  # version 1 stores them minus one
    linear = torch.nn.Linear(wide, high, bias=False)
    codes = (torch.round(weight / scales[:, groups.long()]) + zeros[:, groups.long()]).clamp(0, most)
    linear.weight.data = (codes - zeros[:, groups.long()]) * scales[:, groups.long()]
    layer = kind(bits, group, wide, high, False, weight_dtype=torch.float32)
    layer.pack(linear, scales.clone(), zeros.clone(), groups)
    return {key: value.half() if value.is_floating_point() else value for key, value in layer.state_dict().items()}


def config(bits, group, form, desc_act=False):
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "float16",
            "quantization_config": {"quant_method": "gptq", "bits": bits, "group_size": group, "desc_act": desc_act, "sym": False,
                                    "checkpoint_format": form, "meta": {"quantizer": [f"gptqmodel:{VERSION}"]}}}


def make(tool, kind, folder, bits, form, shapes, desc_act=False, group=32):
    called = "AutoGPTQ's QuantLinear.pack" + (", _correct_gptq_v1_qzeros" if form == "gptq_v2" else "") + ", convert_gptq_file"
    golden = Golden(folder, PACKAGE, called, "A in float32", config=config(bits, group, form, desc_act), tool_version=VERSION)
    for index, (stem, shape) in enumerate(shapes.items()):
        stem = f"model.layers.0.self_attn.{stem}"
        stored = packed(kind, bits, group, plain(*shape, 10 * bits + index, torch.float32), index, desc_act)
        if stem.endswith("k_proj"):
            stored["qweight"] = every_byte(stored["qweight"])
        if form == "gptq_v2":
            stored["qzeros"] = tool._correct_gptq_v1_qzeros(stored["qzeros"], bits)
            if stem.endswith("v_proj"):
                stored["qzeros"] = every_byte(stored["qzeros"])  # also a zero point of 0, which version 1 does not have
        whole = {f"{stem}.{ending}": tensor for ending, tensor in stored.items()}
        bf16, f32 = (given_back(tool, whole, golden.config["quantization_config"], dtype)[f"{stem}.weight"] for dtype in (torch.bfloat16, torch.float32))
        golden.layer(stem, stored, bf16, f32)
    golden.keep("lm_head.weight", plain(4, 32, 8, torch.float16))
    golden.write()


def planar(tool, planes):
    """gptq_p has the shapes of the others and other bits; the product must refuse it by name."""
    golden = Golden("gptqmodel-p-int3", PACKAGE, "planar_pack_rows, planar_pack_cols", "none", config=config(3, 32, "gptq_p"), tool_version=VERSION)
    generator = torch.Generator().manual_seed(1)
    codes, zeros = (torch.randint(0, 8, shape, generator=generator, dtype=torch.int32) for shape in ((64, 32), (2, 32)))
    stem = "model.layers.0.self_attn.q_proj."
    for ending, tensor in {"qweight": planes.planar_pack_rows(codes, 3), "qzeros": planes.planar_pack_cols(zeros, 3), "scales": plain(2, 32, 1, torch.float16).abs(),
                           "g_idx": (torch.arange(64) // 32).to(torch.int32)}.items():
        golden.drop(stem + ending, tensor)
    golden.refuse("gptq_p")
    golden.write()


def main():
    tool, planes = load()
    kind = load_autogptq()
    shapes = {"q_proj": (32, 64), "k_proj": (64, 32), "v_proj": (32, 96)}
    for bits in (2, 3, 4, 8):
        make(tool, kind, f"gptqmodel-v2-int{bits}", bits, "gptq_v2", shapes)
    make(tool, kind, "gptqmodel-v2-int4-desc-act", 4, "gptq_v2", shapes, desc_act=True)
    make(tool, kind, "gptqmodel-v1-int3", 3, "gptq", {"q_proj": (32, 64), "k_proj": (64, 32)})
    planar(tool, planes)


if __name__ == "__main__":
    main()
