#!/usr/bin/env python3
"""Converts what each scheme's own tool saved; the result must be what that tool itself makes of it.

usage: check.py [--only BEGINNING] COMMAND [ARGUMENT ...]

The goldens are made by tests/conformance/schemes; each folder's manifest.json says with what. Standard library only.
  expected.safetensors      the tool's bf16, compared bit for bit, or within `max_ulp` (sums: or within `of_largest` of the tensor's largest)
  expected_f32.safetensors  the tool's float32: rounded once it must be our bf16 and our f16, bit for bit
  "refused" in a manifest   words the refusal must have: what the tool writes and the product does not convert must never pass silently
NaN equals NaN. pending.txt lists what the product does not convert yet; a pending golden that passes is a fault of the list.
"""
import json
import math
import pathlib
import re
import struct
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))
import checkpoint  # noqa: E402
from cli import Cli, pending  # noqa: E402

SHOWN = 3


def bf16_of(bits):
    if bits & 0x7FFFFFFF > 0x7F800000:
        return 0x7FC0
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def f16_of(bits):
    value = struct.unpack("<f", struct.pack("<I", bits))[0]
    if math.isnan(value):
        return 0x7E00
    if abs(value) >= 65520:
        return 0x7C00 | (0x8000 if value < 0 else 0)
    return struct.unpack("<H", struct.pack("<e", value))[0]


def words(data, code):
    return struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)


def is_nan(word, label):
    return word & 0x7FFF > (0x7F80 if label == "bf16" else 0x7C00)


def steps(word):
    """Where a 16-bit float stands in the order of all of them; both zeros are one."""
    return -(word & 0x7FFF) if word & 0x8000 else word


def value_of(word):
    return struct.unpack("<f", struct.pack("<I", word << 16))[0]


def worst(got, want, label, near, either_zero):
    """(most steps apart, where, how many differ); within `near` of each other, or both zero if the sign is free, is the same."""
    most, where, count = 0, 0, 0
    for index, (mine, theirs) in enumerate(zip(got, want)):
        if mine == theirs or (is_nan(mine, label) and is_nan(theirs, label)):
            continue
        if either_zero and not (mine | theirs) & 0x7FFF:
            continue
        if near and abs(value_of(mine) - value_of(theirs)) <= near:
            continue
        count += 1
        apart = 1 << 16 if is_nan(mine, label) != is_nan(theirs, label) else max(1, abs(steps(mine) - steps(theirs)))
        if apart > most:
            most, where = apart, index
    return most, where, count


def difference(name, got, want, label, max_ulp, rule):
    of_largest = rule.get("of_largest", 0)
    near = of_largest * max((abs(value_of(word)) for word in want if not is_nan(word, label)), default=0) if of_largest else 0
    most, where, count = worst(got, want, label, near, rule.get("either_zero"))
    if most <= max_ulp:
        return []
    return [f"{name} as {label}: {count} of {len(want)} differ, most at {where}: {got[where]:04x} for {want[where]:04x} ({most} ulp, {max_ulp} allowed)"]


def tensors_of(path):
    return {tensor.name: tensor for tensor in checkpoint.read(path)[0]}


def compare(got, want, widened, label, manifest):
    """Names, dtypes and shapes, then the numbers."""
    rule = manifest["bf16"]
    faults = [f"{name} is {'missing' if name not in got else 'left over'}" for name in sorted(set(got) ^ set(want))]
    for name in sorted(set(got) & set(want)):
        mine, theirs = got[name], want[name]
        dtype = theirs.dtype if name in manifest["kept"] else label.upper()
        if (mine.dtype, list(mine.shape)) != (dtype, list(theirs.shape)):
            faults.append(f"{name} is {mine.dtype} {list(mine.shape)}, not {dtype} {list(theirs.shape)}")
            continue
        if name in manifest["kept"]:
            if mine.data() != theirs.data():
                faults.append(f"{name} is not what went in")
            continue
        ours = words(mine.data(), "H")
        if label == "bf16":
            faults += difference(name, ours, words(theirs.data(), "H"), label, rule.get("max_ulp", 0), rule)
        if name in widened:
            once = bf16_of if label == "bf16" else f16_of
            faults += difference(name + " rounded once", ours, tuple(map(once, words(widened[name].data(), "I"))), label, 0, {"either_zero": rule.get("either_zero")})
    return faults


def overflows(widened):
    return any(f16_of(bits) & 0x7FFF == 0x7C00 for tensor in widened.values() for bits in words(tensor.data(), "I"))


def not_refused(cli, folder, words):
    with tempfile.TemporaryDirectory(prefix="weighbridge-scheme-") as out:
        path = pathlib.Path(out) / "bf16.safetensors"
        run = cli("convert", "--to", "bf16", "-o", path, folder / "model.safetensors")
        faults = [] if run.exit == 1 else [f"exit {run.exit}, not 1: {run.first_words()}"]
        if words not in run.words:
            faults.append(f"does not say {words!r}: {run.first_words()}")
        return faults + (["wrote a file"] if path.exists() else [])


def convert(cli, label, path, arguments, folder):
    """Goldens have rows up to 2^100 on purpose, about which the product asks; that question alone is answered here."""
    run = cli("convert", "--to", label, "-o", path, *arguments, folder / "model.safetensors")
    if run.exit == 3 and set(re.findall(r"\[([a-z0-9_]+)\]", run.words)) == {"magnitude_implausible"}:
        run = cli("convert", "--to", label, "-o", path, *arguments, "--assume", "magnitude_implausible=apply", folder / "model.safetensors")
    return run


def faults_of_recipe(cli, folder, manifest, path, want):
    """The tool's own arithmetic, where the product offers it under a name: bit for bit."""
    recipe = manifest["bf16"]["recipe"]
    run = convert(cli, "bf16", path, ["--recipe", recipe, *manifest.get("arguments", [])], folder)
    if run.exit:
        return [f"--recipe {recipe}: exit {run.exit}: {run.first_words()}"]
    exact = manifest | {"bf16": {"either_zero": manifest["bf16"].get("either_zero")}}
    return [f"--recipe {recipe}: {fault}" for fault in compare(tensors_of(path), want, {}, "bf16", exact)]


def faults_of(cli, folder, manifest):
    if "refused" in manifest:
        return not_refused(cli, folder, manifest["refused"])
    want = tensors_of(folder / manifest["bf16"]["file"])
    widened = tensors_of(folder / manifest["f32"]["file"]) if "f32" in manifest else {}
    faults = []
    with tempfile.TemporaryDirectory(prefix="weighbridge-scheme-") as out:
        for label in ["bf16", "f16"] if widened else ["bf16"]:
            path = pathlib.Path(out) / f"{label}.safetensors"
            assumed = ["--assume", "f16_overflow=inf"] if label == "f16" and overflows(widened) else []
            run = convert(cli, label, path, [*assumed, *manifest.get("arguments", [])], folder)
            if run.exit:
                return [f"exit {run.exit}: {run.first_words()}"]
            faults += compare(tensors_of(path), want, widened, label, manifest)
        if "recipe" in manifest["bf16"]:
            faults += faults_of_recipe(cli, folder, manifest, pathlib.Path(out) / "recipe.safetensors", want)
    return faults


def main():
    arguments = sys.argv[1:]
    only = ""
    if arguments[:1] == ["--only"]:
        only, arguments = arguments[1], arguments[2:]
    if not arguments:
        sys.exit(__doc__)
    cli, waiting = Cli(arguments), pending(HERE / "pending.txt")
    passed = failed = waited = 0
    met = set()
    for path in sorted(HERE.glob("*/manifest.json")):
        manifest = json.loads(path.read_text())
        name = path.parent.name
        met.add(name)
        if not name.startswith(only):
            continue
        title = f"{name} ({manifest['tool']} {manifest['version']})"
        faults = faults_of(cli, path.parent, manifest)
        if name in waiting and faults:
            waited += 1
            print(f"pending {title}: {waiting[name]}")
            continue
        if name in waiting:
            faults = ["passes, but pending.txt still lists it: remove the line"]
        failed, passed = failed + bool(faults), passed + (not faults)
        print(f"FAIL    {title}" + "".join(f"\n          {fault}" for fault in faults) if faults else f"ok      {title}")
    for name in sorted(set(waiting) - met):
        failed += 1
        print(f"FAIL    {name}: pending.txt lists it, but there is no such golden")
    print(f"{passed} passed, {failed} failed, {waited} pending")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
