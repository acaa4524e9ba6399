#!/usr/bin/env python3
"""Predicted against measured memory of every way of loading that runs on this machine's processor.

usage: calibrate.py [--dir FOLDER] [--only TEXT] [--write FILE] -- COMMAND [ARGUMENT ...]

COMMAND is the command line whose `ram --json` predicts. Each strategy loads a generated checkpoint in a fresh process.
Exits 1 when a peak is off by more than 5 % and more than 100 MB. --write renews docs/ram-calibration.md.
"""
import argparse
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

import make_checkpoints
import measure
import strategies

HERE = pathlib.Path(__file__).resolve().parent
MB = 1e6


def predict(command, path, loader, dtype):
    argv = [*command, "ram", "--json", "--ram", "1TB", "--vram", "0", "--loader", loader]
    argv += ["--dtype", dtype] if dtype else []
    done = subprocess.run([*argv, str(path)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(argv)}: {done.stdout}{done.stderr}")
    (row,) = json.loads(done.stdout)["memory"]["loaders"]
    if not row["applies"]:
        sys.exit(f"{loader} does not apply to {path}: {row['reason']}")
    return row


def pickle_of(path):
    """The same tensors as torch saves them, for torch.load."""
    target = strategies.pickled(path)
    if not os.path.exists(target):
        code = "import sys,torch;from safetensors.torch import load_file;torch.save(load_file(sys.argv[1]),sys.argv[2])"
        subprocess.run([sys.executable, "-c", code, strategies.only(path), target], check=True)


class Row:
    """One line of the table: a name, and two pairs of predicted and measured bytes."""

    def __init__(self, name, loader, origin, checkpoint, predicted, measured):
        self.name, self.loader, self.origin, self.checkpoint = name, loader, origin, checkpoint
        self.predicted, self.measured = predicted, measured

    def errors(self):
        """(what, predicted, measured, agrees)"""
        stages = self.predicted["stages"]
        pairs = [("peak", self.predicted["peak_bytes"], self.measured.resident_peak),
                 ("without file pages", self.predicted["firm_peak_bytes"], self.measured.anonymous_peak),
                 ("then, anonymous", firm_steady(stages[-1]), self.measured.anonymous_after)]
        return [(what, want, got, abs(want - got) <= max(0.05 * want, 100 * MB)) for what, want, got in pairs]

    def agrees(self):
        return all(agrees for *_, agrees in self.errors())


def firm_steady(stage):
    return sum(term["bytes"] for term in stage["terms"] if term["kind"] == "anonymous")


def strategy_rows(command, folder, wanted):
    last = None
    for name, (checkpoint, loader, dtype, origin, _) in strategies.STRATEGIES.items():
        if wanted not in name:
            continue
        if last not in (None, checkpoint):
            shutil.rmtree(folder / last)
        last = checkpoint
        path = make_checkpoints.make(checkpoint, folder)
        if loader == "torch_load":
            pickle_of(path)
        measured = measure.run([sys.executable, str(HERE / "strategies.py"), name, str(path)])
        yield Row(name, loader, origin, checkpoint, predict(command, path, loader, dtype), measured)


def node_peak(argv):
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    words = process.stderr.read()
    _, code, usage = os.wait4(process.pid, 0)
    if code:
        sys.exit(f"{argv}: {words.decode()[-500:]}")
    return usage.ru_maxrss * 1024


def own_row(command, folder):
    """Our own conversion: the whole process, less what the same program takes to say its version."""
    path = make_checkpoints.make("fp8_diffusion", folder) / "model.safetensors"
    output = folder / "out.safetensors"
    baseline = node_peak([*command, "--version"])
    peak = node_peak([*command, "convert", "--to", "bf16", "--no-verify", "-o", str(output), str(path)]) - baseline
    output.unlink()
    predicted = predict(command, path, "weighbridge", None)
    steady = firm_steady(predicted["stages"][-1])
    return Row("Weighbridge converting", "weighbridge", "installed", "fp8_diffusion", predicted,
               measure.Measured(peak, peak, steady, 0, baseline, 0, 0, None))


def table(rows):
    lines = ["| strategy | row | code | checkpoint | what | predicted MB | measured MB | off |",
             "|---|---|---|---|---|---:|---:|---:|"]
    for row in rows:
        for i, (what, want, got, agrees) in enumerate(row.errors()):
            head = [row.name, f"`{row.loader}`", row.origin, f"`{row.checkpoint}`"] if i == 0 else ["", "", "", ""]
            share = f"{100 * (got - want) / want:+.1f} %" if want else f"{(got - want) / MB:+.0f} MB"
            cells = [*head, what, f"{want / MB:,.0f}", f"{got / MB:,.0f}", share + ("" if agrees else " **no**")]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def versions():
    import diffusers
    import safetensors
    import torch
    import transformers

    return (f"torch {torch.__version__}, safetensors {safetensors.__version__}, transformers {transformers.__version__}, "
            f"diffusers {diffusers.__version__}, Python {platform.python_version()}, {platform.system()} "
            f"{platform.release()} on {os.cpu_count()} processors")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--dir")
    options.add_argument("--only", default="", metavar="TEXT")
    options.add_argument("--write", metavar="FILE")
    options.add_argument("command", nargs="+")
    given = options.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="weighbridge-ram-", dir=given.dir) as name:
        folder = pathlib.Path(name)
        for row in strategy_rows(given.command, folder, given.only):
            rows.append(row)
            report(row)
        if given.only in "Weighbridge converting":
            rows.append(own_row(given.command, folder))
            report(rows[-1])
    wrong = [row for row in rows if not row.agrees()]
    if given.write:
        write(pathlib.Path(given.write), rows)
    print(f"calibration: {len(rows) - len(wrong)} passed, {len(wrong)} failed")
    sys.exit(bool(wrong) or not rows)


def report(row):
    parts = [f"{what} {want / MB:.0f}/{got / MB:.0f}{'' if agrees else ' NO'}" for what, want, got, agrees in row.errors()]
    print(f"{row.name}: {', '.join(parts)} MB ({row.measured.samples} samples, {row.measured.seconds:.1f} s)", flush=True)


def write(path, rows):
    begin, end = "<!-- measured -->\n", "<!-- /measured -->\n"
    text = path.read_text()
    head, rest = text.split(begin)
    tail = rest.split(end)[1]
    path.write_text(f"{head}{begin}\n{versions()}.\n\n{table(rows)}\n\n{end}{tail}")


if __name__ == "__main__":
    main()
