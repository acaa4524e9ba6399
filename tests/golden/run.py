#!/usr/bin/env python3
"""Converts files that torch and safetensors made of a real model's weights; the results must be their bytes.

usage: run.py -- COMMAND [ARGUMENT ...]

manifest.json says how the files were made (`make conformance GOLDEN=1`). Standard library only.
"""
import hashlib
import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import checkpoint  # noqa: E402
from cli import Cli, Tally, command_line  # noqa: E402


def faults_of(cli, source, label, want, folder):
    out = pathlib.Path(folder) / f"{source.stem}.{label}.safetensors"
    run = cli("convert", "--to", label, "-o", out, source)
    if run.exit:
        return [f"exit {run.exit}: {run.first_words()}"]
    if hashlib.sha256(out.read_bytes()).hexdigest() == want["sha256"]:
        return []
    ours = {tensor.name: tensor.sha256() for tensor in checkpoint.read(out)[0]}
    faults = [f"{name} is {'missing' if name not in ours else 'different'}" for name, digest in want["tensors"].items() if ours.get(name) != digest]
    faults += [f"{name} is left over" for name in ours if name not in want["tensors"]]
    return faults or ["the tensors are right, the header or the layout is not"]


def main():
    _, command = command_line(__doc__)
    cli, tally = Cli(command), Tally()
    with tempfile.TemporaryDirectory(prefix="weighbridge-golden-") as folder:
        for row in json.loads((HERE / "manifest.json").read_text())["files"]:
            for label, want in row["expected"].items():
                tally.add(f"{row['input']} to {label}", "", faults_of(cli, HERE / row["input"], label, want, folder))
    tally.close("golden")


main()
