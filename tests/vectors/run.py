#!/usr/bin/env python3
"""Runs the command-line program over the container vectors and holds it to their verdicts.

usage: run.py [--huge] [NAME ...] -- COMMAND [ARGUMENT ...]

A vector's `strict` verdict counts: accept exits 0, accept+warn does so with a warning, reject exits 1 and names a
code of src/base/errc.inc. Two deviations, decided: white space before the header is accepted with a warning, as the
reference crate accepts it, and so is an index that lists more tensors than its shards hold. --huge adds the vectors of 100 MB headers, made on the spot. Standard library only.
"""
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from cli import Cli, Tally, command_line, error_codes, pending, workers  # noqa: E402

# Codes that would mean a broken program rather than a broken file.
OUR_OWN_FAULT = {"core_crash", "wrong_state", "out_of_memory", "read_failed"}
# What may be wrong with a shard index: a folder must not be refused merely for holding several files.
INDEX_FAULTS = {"index_not_json", "index_bad_path", "shard_missing", "tensor_wrong_shard", "duplicate_tensor", "truncated_data"}
# An index that promises what no shard holds is told, not refused: the headers are believed (case B03, a real report).
PHANTOMS = {"x06_tensor_not_in_shard"}


def expected(vector):
    if vector["name"] in PHANTOMS:
        return "accept+warn"
    if "leading-ws" in vector.get("tags", []) and vector["verdict"] == "accept":
        return "accept+warn"
    return vector.get("strict", vector["verdict"])


def faults_of(run, vector, codes):
    want = expected(vector)
    try:
        report = run.json()
    except ValueError as problem:
        return [f"no JSON report (exit {run.exit}): {problem}; {run.first_words()}"]
    error = report.get("error")
    if want == "reject":
        if run.exit != 1 or not error:
            return [f"not refused, exit {run.exit}: {vector['why']}"]
        if error.get("code") not in codes or error.get("code") in OUR_OWN_FAULT:
            return [f"refused with {error.get('code')!r}"]
        if vector["file"].startswith("index/") and error["code"] not in INDEX_FAULTS:
            return [f"refused with {error['code']!r}, which says nothing about the index: {vector['why']}"]
        return [] if error.get("message") else ["refused without words"]
    if run.exit != 0 or error:
        return [f"refused, exit {run.exit}: {error}: {vector['why']}"]
    faults = []
    if "tensors" in vector and report["tensor_count"] != vector["tensors"]:
        faults.append(f"{report['tensor_count']} tensors, not {vector['tensors']}")
    if want == "accept+warn" and not report["warnings"]:
        faults.append(f"no warning: {vector['why']}")
    return faults


def main():
    options, command = command_line(__doc__)
    names = {option for option in options if not option.startswith("--")}
    cli, codes, tally = Cli(command, 300), error_codes(), Tally(pending())
    with tempfile.TemporaryDirectory() as made:
        work = [(HERE / v["file"], v) for v in json.loads((HERE / "manifest.json").read_text())]
        work += [(HERE / v["file"], v) for v in json.loads((HERE / "manifest_index.json").read_text())]
        if "--huge" in options:
            known = {vector["name"] for _, vector in work}
            subprocess.run([sys.executable, HERE / "make_vectors.py", made, "--huge"], check=True, stdout=subprocess.DEVNULL)
            rows = json.loads((pathlib.Path(made) / "manifest.json").read_text())
            work += [(pathlib.Path(made) / v["file"], v) for v in rows if v["name"] not in known]
        if names:
            work = [(path, vector) for path, vector in work if vector["name"] in names]

        def look(item):
            path, vector = item
            if not path.exists():
                return [f"{path} is not here"]
            try:
                return faults_of(cli("inspect", "--json", path), vector, codes)
            except subprocess.TimeoutExpired:
                return ["no answer in time"]

        with concurrent.futures.ThreadPoolExecutor(workers()) as pool:
            for (_, vector), faults in zip(work, pool.map(look, work)):
                tally.add(vector["name"], "", faults, quiet=True)
    tally.close("vectors")


main()
