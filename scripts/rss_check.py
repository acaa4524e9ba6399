#!/usr/bin/env python3
"""Peak memory of a conversion by the command line, for a small and a big file: it must not grow with the file.

usage: rss_check.py [--small GIB] [--big GIB] [--limit MIB] [--dir FOLDER]

Makes both files (sparse, with the names and scales of a real one), converts each to bf16, and compares the peak
resident memory that the kernel reports of the finished process. Standard library only.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
CLI = ["node", str(ROOT / "web/cli/weighbridge.mjs")]


def peak_of(command):
    """(peak resident KiB, seconds) of one command, from its own resource usage."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    words = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} exits {process.returncode}: {words.decode()[-500:]}")
    return usage.ru_maxrss, time.monotonic() - start


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--small", type=float, default=0.5, metavar="GIB")
    options.add_argument("--big", type=float, default=6, metavar="GIB")
    options.add_argument("--limit", type=float, default=40, metavar="MIB", help="how far the two peaks may lie apart")
    options.add_argument("--dir", help="where the files go (default: the system's temporary folder)")
    given = options.parse_args()
    peaks = {}
    with tempfile.TemporaryDirectory(prefix="weighbridge-rss-", dir=given.dir) as folder:
        need = (3 * given.big + 1) * 2**30
        if shutil.disk_usage(folder).free < need:
            sys.exit(f"{need / 2**30:.0f} GiB of disk are needed in {folder}")
        for gib in (given.small, given.big):
            source, output = pathlib.Path(folder) / "in.safetensors", pathlib.Path(folder) / "out.safetensors"
            subprocess.run(["node", ROOT / "scripts/make_big.mjs", source, "--gib", str(gib), "--sparse"],
                           check=True, stdout=subprocess.DEVNULL)
            kib, seconds = peak_of([*CLI, "convert", "--to", "bf16", "-o", str(output), str(source)])
            peaks[gib] = kib / 1024
            print(f"{gib:g} GiB in, {output.stat().st_size / 2**30:.2f} GiB out: peak {kib / 1024:.1f} MiB, {seconds:.1f} s")
            source.unlink()
            output.unlink()
    apart = peaks[given.big] - peaks[given.small]
    print(f"the bigger file took {apart:+.1f} MiB; the limit is {given.limit:g} MiB")
    passed = apart <= given.limit
    print(f"memory: {int(passed)} passed, {int(not passed)} failed")
    sys.exit(not passed)


main()
