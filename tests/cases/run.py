#!/usr/bin/env python3
"""Runs the command-line program over real bug reports (manifest.json) and compares what it does with the right answer.

usage: run.py [--no-big] [ID ...] -- COMMAND [ARGUMENT ...]

A case is its main file, checked by the manifest's verdict, and any number of further checks named ID.something: the
case's other files, the choices a decision offers, the fp16 target. What the product cannot do yet stands in
pending.txt. --no-big leaves out A18, which makes a 4 GiB file and converts it. Standard library only.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import checkpoint  # noqa: E402
from cli import Cli, Tally, command_line, error_codes, pending, workers  # noqa: E402

DONE, REFUSED, ASK = 0, 1, 3
# The manifest's word for a number, and the report's.
REPORT_FIELDS = {
    "parameters": "parameters", "file_bytes": "file_bytes", "data_bytes": "data_bytes",
    "data_bytes_on_disk": "data_bytes", "bf16_data_bytes": "bf16_data_bytes", "bf16_bytes": "bf16_data_bytes",
}


# Why an error case is refused; where the manifest's phrases could be met by a mere quotation of the input.
REFUSAL_CODES = {
    "A01": "git_lfs_pointer", "A02": "html_page", "A03": "json_document", "A04": "truncated_data", "A05": "truncated_header",
    "A06": "duplicate_tensor", "A07": "tensors_overlap", "A19": "unknown_dtype", "B02": "shard_missing",
}


def squeezed(text):
    return re.sub(r"[,\s]+", "", text).lower()


def not_mentioned(words, wanted):
    """Each wanted phrase may offer alternatives with " or " and carry a remark in brackets; digit grouping is ignored."""
    flat = squeezed(words)
    missing = []
    for phrase in wanted:
        spellings = [squeezed(re.sub(r"\(.*?\)", "", one)) for one in phrase.split(" or ")]
        if not any(one in flat for one in spellings):
            missing.append(f"does not mention {phrase!r}")
    return missing


def tensor_faults(expected, found, wrong_answers=None):
    """Differences between the manifest's output tensors and those of a file, with the name of the usual mistake."""
    faults = []
    for name, want in expected.items():
        row = found.get(name)
        if row is None:
            faults.append(f"{name} is not in the output")
            continue
        if row.dtype != want["dtype"] or row.shape != want["shape"]:
            faults.append(f"{name} is {row.dtype} {row.shape}, not {want['dtype']} {want['shape']}")
            continue
        got = {at: row.bits16(at) for at in want.get("bits", {})}
        off = [f"[{at}] is 0x{got[at]:04X}, not {bits}" for at, bits in want.get("bits", {}).items()
               if got[at] != int(bits, 16) and not (at in want.get("nan_any", []) and is_bf16_nan(got[at]))]
        if not off and ("sha256" not in want or want.get("nan_any") or row.sha256() == want["sha256"]):
            continue
        named = [mistake for mistake, tensors in (wrong_answers or {}).items() if has_bits(row, tensors.get(name))]
        faults.append(f"{name} has other values: {'; '.join(off[:4]) or 'none of the listed ones, but the hash differs'}"
                      + (f"; this is the mistake {' / '.join(map(repr, named))}" if named else ""))
    return faults


def has_bits(row, wanted):
    return bool(wanted) and all(row.bits16(at) == int(bits, 16) for at, bits in wanted.items())


def is_bf16_nan(bits):
    return bits & 0x7F80 == 0x7F80 and bits & 0x7F != 0


class Case:
    def __init__(self, row, cli, scratch, codes):
        self.row, self.cli, self.codes = row, cli, codes
        self.id = row["id"]
        self.scratch = pathlib.Path(scratch)
        self.main = HERE / row["open"]
        self.output = row.get("output") or {}
        self.output_from = row.get("output_from") or {}
        self.wrong = row.get("wrong")

    def beside(self, name):
        return HERE / self.row["folder"] / name

    def out(self, label):
        folder = self.main.is_dir() or self.main.suffix == ".json"
        return self.scratch / (f"{self.id}-{label}" + ("" if folder else ".safetensors"))

    # -- one run each, the rules that always hold included

    def inspect(self, path=None):
        run = self.cli("inspect", "--json", path or self.main)
        return run, run.json()

    def convert(self, label, path=None, to="bf16", want=DONE, extra=()):
        """Runs convert; returns (run, path of the output, faults)."""
        out = self.out(label)
        run = self.cli("convert", "--to", to, "-o", out, *extra, path or self.main)
        faults = []
        if run.exit != want:
            return run, out, [f"convert of {(path or self.main).name} exits {run.exit}, not {want}: {run.first_words()}"]
        if want == DONE:
            for file in [out] if out.is_file() else sorted(out.rglob("*.safetensors")):
                faults += checkpoint.layout_faults(file)
        else:
            faults += [f"{left.name} was written" for left in self.scratch.iterdir() if left.name.startswith(out.name)]
        return run, out, faults

    def refusal(self, path, code=None, mentions=()):
        """inspect and convert both refuse; the code is one of ours, and the expected one."""
        run, report = self.inspect(path)
        error = report.get("error") or {}
        faults = [] if run.exit == REFUSED else [f"inspect of {path.name} exits {run.exit}, not {REFUSED}"]
        if code and error.get("code") != code:
            faults.append(f"{path.name} is refused as {error.get('code')!r}, not {code!r}")
        faults += not_mentioned(run.words, mentions)
        return faults + self.convert("refused-" + path.stem, path, want=REFUSED)[2]

    # -- the manifest's own check

    def own_tensors(self, source=None):
        source = source or self.main.name
        return {name: want for name, want in self.output.items() if self.output_from.get(name, source) == source}

    def target(self):
        made = {want["dtype"] for want in self.output.values() if not want.get("unchanged")}
        return "f16" if made == {"F16"} else "bf16"

    def written(self, out, expected, everything=True):
        found, metadata = checkpoint.read_set(out)
        faults = tensor_faults(expected, found, self.wrong)
        gone = set(self.row.get("absent") or []) | set(self.row.get("must_not_add") or [])
        faults += [f"{name} does not belong in the output" for name in found if name in gone]
        if everything and not self.row.get("alternatives"):
            faults += self.unlisted(found, expected, gone)
        rule = self.row.get("output_metadata") or {}
        faults += [f"metadata {key} is still there" for key in rule.get("drop", []) if key in metadata]
        kept = {**rule.get("keep", {}), **rule.get("add", {}), "format": "pt"}
        faults += [f"metadata {key} is {metadata.get(key)!r}, not {value!r}" for key, value in kept.items() if metadata.get(key) != value]
        return faults

    def unlisted(self, found, expected, gone):
        """Tensors that the manifest passes over in silence must have come through unchanged."""
        source = checkpoint.read_set(self.main.parent if self.main.suffix == ".json" else self.main)[0]
        rest = [row for name, row in found.items() if name not in expected and name not in gone]
        return [f"{row.name} is in the output, but nobody expects it so" for row in rest
                if row.name not in source or row.dtype != source[row.name].dtype or row.data() != source[row.name].data()]

    def number_faults(self, report, words):
        faults = []
        for name, value in (self.row.get("numbers") or {}).items():
            if name in REPORT_FIELDS:
                got = report.get(REPORT_FIELDS[name])
                if got != value:
                    faults.append(f"the report's {REPORT_FIELDS[name]} is {got}, not {value}")
            elif name in ("expected_bytes", "actual_bytes"):
                faults += not_mentioned(words, [str(value)])
            # new_index_total_size, naive_f16_bits, f16_*: their own checks below
        return faults

    def check_main(self):
        verdict, row = self.row["verdict"], self.row
        if verdict == "error":
            run, report = self.inspect()
            if run.exit == DONE:
                run, _, faults = self.convert("main", to=self.target(), want=REFUSED)
            else:
                faults = [] if run.exit == REFUSED else [f"inspect exits {run.exit}, not {REFUSED}"]
                code = (report.get("error") or {}).get("code")
                if code not in self.codes or code != REFUSAL_CODES.get(self.id, code):
                    faults.append(f"refused with {report.get('error')}")
                faults += self.convert("main", to=self.target(), want=REFUSED)[2]
            return faults + not_mentioned(run.words, row.get("error_mentions") or []) + self.number_faults(report, run.words)
        run, report = self.inspect()
        faults = [] if run.exit == DONE else [f"inspect exits {run.exit}, not 0: {run.first_words()}"]
        faults += self.number_faults(report, run.words)
        faults += not_mentioned(run.words, row.get("inspector_shows") or [])
        if verdict == "ask":
            asked, _, more = self.convert("main", to=self.target(), want=ASK)
            return faults + more + not_mentioned(asked.words, row.get("error_mentions") or [])
        if verdict == "convert":
            _, out, more = self.convert("main", to=self.target())
            return faults + (more or self.written(out, self.own_tensors()))
        return faults

    def check_source(self, name):
        """A file of output_from beside the main one."""
        _, out, faults = self.convert("from-" + pathlib.Path(name).stem, self.beside(name), to=self.target())
        return faults or self.written(out, self.own_tensors(name))

    def chosen(self, label, choose, expected, to="bf16", others=()):
        """Converts with every open decision answered by choose(decision) -> choice."""
        run = self.cli("convert", "--json", "--to", to, "-o", self.out(label), *others, self.main)
        if run.exit != ASK:
            return [f"no decision was asked for, exit {run.exit}: {run.first_words()}"], None
        extra = list(others)
        for decision in run.json()["decisions"]:
            offered = [choice["choice"] for choice in decision["choices"]]
            pick = choose(decision)
            if pick not in offered:
                return [f"{decision['subject']}: {pick!r} is not offered, only {offered}"], None
            extra += ["--assume", f"{decision['subject']}={pick}"]
        _, out, faults = self.convert(label, to=to, extra=extra)
        return faults or self.written(out, expected), out


# ---------------------------------------------------------------- further checks, by id

def a05_empty(case): return case.refusal(case.beside("empty.safetensors"), "empty_file")
def a05_tiny(case): return case.refusal(case.beside("tiny.safetensors"), "file_too_short", ["5"])
def a05_cut(case): return case.refusal(case.beside("cut.safetensors"), "truncated_header", ["4096", "20"])
def a07_alias(case): return case.refusal(case.beside("alias.safetensors"), "tensors_overlap")
def a07_overlap(case): return case.refusal(case.beside("overlap.safetensors"), "tensors_overlap", ["a", "b"])
def a07_hole(case): return case.refusal(case.beside("hole.safetensors"), "hole_in_data", ["4"])


def a11_empty(case):
    _, out, faults = case.convert("empty", case.beside("empty.safetensors"))
    return faults or case.written(out, case.output)


def a11_null(case):
    """Accepted, but not without a word."""
    _, report = case.inspect()
    return [] if report["warnings"] else ["null metadata is accepted without a warning"]


def a11_number(case):
    """The manifest lets this one pass with a warning; the reference crate refuses it (vector h05_meta_int). So do we."""
    return case.refusal(case.beside("number.safetensors"), "invalid_metadata", ["n"])


def a18_big(case):
    """A file beyond 4 GiB, sparse on disk: the report's numbers, and a conversion whose last tensor lies beyond 4 GiB."""
    numbers = case.row["numbers"]
    side = 1 << 16
    entries, position = {}, 0
    for name, dtype, shape, size in (("pad.weight", "F8_E4M3", [side, side], side * side), ("tail.weight", "F8_E4M3", [1, 2], 2),
                                     ("tail.weight_scale", "F32", [], 4), ("pad.weight_scale", "F32", [], 4)):
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [position, position + size]}
        position += size
    text = json.dumps(entries, separators=(",", ":")).encode().ljust(numbers["file_bytes"] - position - 8)
    path = case.scratch / "big.safetensors"
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.seek(8 + len(text) + side * side)
        file.write(bytes([0x38, 0xC0]) + bytes.fromhex("0000803e") + bytes.fromhex("0000803f"))
    if path.stat().st_size != numbers["file_bytes"]:
        return [f"the test's own file has {path.stat().st_size} bytes"]
    run, report = case.inspect(path)
    faults = case.number_faults(report, run.words)
    free = os.statvfs(case.scratch)
    if free.f_bavail * free.f_frsize < 10 << 30:
        return faults + ["less than 10 GiB free: the conversion cannot be tried (--no-big leaves this case out)"]
    case.cli.timeout_seconds, usual = 600, case.cli.timeout_seconds
    try:
        _, out, more = case.convert("big", path)
        if more:
            return faults + more
        found, _ = checkpoint.read_set(out)
        pad = found.get("pad.weight")
        if not pad or (pad.dtype, pad.shape, pad.end - pad.begin) != ("BF16", [side, side], 2 * side * side):
            faults.append(f"pad.weight became {pad}")
        faults += tensor_faults(case.output, found) + [f"{name} is left" for name in case.row["absent"] if name in found]
    finally:
        case.cli.timeout_seconds = usual
        path.unlink()
        case.out("big").unlink(missing_ok=True)
    return faults


def c08_ones(case):
    _, out, faults = case.convert("ones", case.beside("ones.safetensors"))
    return faults or case.written(out, case.output)


def c08_mixed_chosen(case):
    """b.weight alone as it is: 1.0 taken for its scale, which the person said."""
    def raw(decision): return next((c["choice"] for c in decision["choices"] if c["choice"] in ("raw", "unscaled", "as_is", "scale_one")), "?")
    faults, out = case.chosen("mixed", raw, {}, others=())
    if out is None:
        return faults
    names = set(checkpoint.read_set(out)[0])
    return [] if names == {"a.weight", "b.weight"} else [f"the output holds {sorted(names)}"]


def c14_chosen(case):
    """Arithmetic as it comes, once a person said so."""
    def follow(decision): return next((c["choice"] for c in decision["choices"] if c["choice"] in ("use", "apply", "multiply", "as_is")), "?")
    return case.chosen("chosen", follow, case.output)[0]


def d09_named(case):
    """Two equal parts by the name: the report has to say that this is an inference."""
    _, report = case.inspect(case.beside("gate_up.safetensors"))
    pair = report["pairs"][0]
    faults = [] if pair["granularity"] == "per_part" else [f"granularity is {pair['granularity']}"]
    if not any("name" in evidence["source"] for evidence in pair["evidence"]):
        faults.append("no evidence says that the name decided")
    return faults


def e06_bad(case):
    """Sound as a container, so it is shown; the conversion is refused, with no default of 1 for the lost scale."""
    run, _, faults = case.convert("bad", case.beside("bad.safetensors"), want=REFUSED)
    return faults + not_mentioned(run.words, ["weight_scale_2", "global_scale_missing"])


def e12_odd(case): return case.refusal(case.beside("odd.safetensors"), mentions=["odd.weight"])


def f01_f16(case):
    """fp16 asks first, names the tensor, and both answers do what they say."""
    run = case.cli("convert", "--json", "--to", "f16", "-o", case.out("f16"), case.main)
    if run.exit != ASK:
        return [f"exit {run.exit}, not {ASK}: {run.first_words()}"]
    faults = not_mentioned(run.words, ["o.weight", "f16_overflow"])
    if "u.weight" in json.dumps([decision["tensors"] for decision in run.json()["decisions"]]):
        faults.append("u.weight only underflows, no decision is needed for it")
    if case.out("f16").exists():
        faults.append("a file was written before the decision")
    return faults


def f01_keep_bf16(case):
    expected = {"o.weight": case.output["o.weight"], "u.weight": {"dtype": "F16", "shape": [1, 1], "bits": {"0,0": "0x0000"}}}
    return case.chosen("keep", lambda d: next((c["choice"] for c in d["choices"] if "bf16" in c["choice"]), "?"), expected, to="f16")[0]


def f01_inf(case):
    bits = dict(zip(("0,0", "0,1", "0,2"), case.row["numbers"]["naive_f16_bits"]))
    expected = {"o.weight": {"dtype": "F16", "shape": [1, 3], "bits": bits}, "u.weight": {"dtype": "F16", "shape": [1, 1], "bits": {"0,0": "0x0000"}}}
    return case.chosen("inf", lambda d: next((c["choice"] for c in d["choices"] if "inf" in c["choice"]), "?"), expected, to="f16")[0]


def f03_words(case):
    faults = []
    for folder, wanted in (("tied", False), ("untied", True)):
        run, report = case.inspect(case.beside(folder) / "model.safetensors")
        if run.exit != DONE or report.get("parameters") != 4:
            faults.append(f"{folder}: exit {run.exit}, {report.get('parameters')} parameters")
        if ("lm_head.weight" in run.words) != wanted:
            faults.append(f"{folder}: {'no word about' if wanted else 'a needless word about'} lm_head.weight")
    return faults


def f04_cast(case):
    """--others cast: floats are rounded once, integers and booleans never touched."""
    _, out, faults = case.convert("cast", extra=["--others", "cast"])
    cast = case.row["alternatives"]["all floats to bf16"]
    return faults or tensor_faults({**case.output, **cast}, checkpoint.read_set(out)[0])


def f05_convert(case):
    _, out, faults = case.convert("main")
    return faults or case.written(out, case.output)


def f06_copy(case):
    """Nothing to dequantize: either it says so and refuses, or the copy is the same tensors."""
    run = case.cli("convert", "--to", "bf16", "-o", case.out("copy"), case.main)
    if run.exit == REFUSED:
        return not_mentioned(run.words, ["nothing_to_convert"])
    return case.written(case.out("copy"), case.output) if run.exit == DONE else [f"exit {run.exit}"]


def b03_convert(case):
    _, out, faults = case.convert("main")
    if faults:
        return faults
    index = json.loads(next(out.glob("*.index.json")).read_text())
    want = case.row["numbers"]["new_index_total_size"]
    if index["metadata"]["total_size"] != want or set(index["weight_map"]) != set(case.output):
        faults.append(f"the new index says {index}")
    return faults + case.written(out, case.output)


def b06_files(case):
    _, out, faults = case.convert("files")
    if faults:
        return faults
    config = json.loads((out / "config.json").read_text())
    before = json.loads(case.beside("config.json").read_text())
    if "quantization_config" in config:
        faults.append("config.json still describes the quantization")
    faults += [f"config.json lost {key}" for key in before if key not in ("quantization_config", "torch_dtype") and config.get(key) != before[key]]
    index = json.loads((out / "model.safetensors.index.json").read_text())
    if len(index["weight_map"]) != 1 or index["metadata"]["total_size"] != 8:
        faults.append(f"the new index says {index}")
    return faults


# NVFP4 without a marker leaves two questions open; each alternative of the manifest is one pair of answers.
NVFP4_ANSWERS = {
    "comfy layout chosen": {"scale_order_undecided": "swizzled", "nibble_order_undecided": "high"},
    "modelopt layout chosen": {"scale_order_undecided": "linear", "nibble_order_undecided": "low"},
    "swizzled scales but low nibble first (ModelOpt file post-processed for ComfyUI)": {
        "scale_order_undecided": "swizzled", "nibble_order_undecided": "low"},
}


def nvfp4_as(alternative):
    answers = NVFP4_ANSWERS[alternative]
    return lambda case: case.chosen(alternative.split()[0], lambda d: answers.get(d["subject"], "?"), case.row["alternatives"][alternative])[0]


def e10_transposed(case):
    """transformers' names get transformers' order, [E, K, N], and lose `_blocks`."""
    _, out, faults = case.convert("transposed")
    return faults or case.written(out, case.row["alternatives"]["transformers layout [E,K,N]"])


EXTRA = {
    "A05.empty": a05_empty, "A05.tiny": a05_tiny, "A05.cut": a05_cut,
    "A07.alias": a07_alias, "A07.overlap": a07_overlap, "A07.hole": a07_hole,
    "A11.empty": a11_empty, "A11.null": a11_null, "A11.number": a11_number,
    "B03.convert": b03_convert, "B06.files": b06_files,
    "C08.ones": c08_ones, "C08.chosen": c08_mixed_chosen, "C14.chosen": c14_chosen,
    "D09.named": d09_named, "E06.bad": e06_bad, "E09.comfy": nvfp4_as("comfy layout chosen"), "E09.modelopt": nvfp4_as("modelopt layout chosen"),
    "E09.tiled_low": nvfp4_as("swizzled scales but low nibble first (ModelOpt file post-processed for ComfyUI)"),
    "E10.transposed": e10_transposed, "E12.odd": e12_odd,
    "F01.f16": f01_f16, "F01.keep_bf16": f01_keep_bf16, "F01.inf": f01_inf,
    "F03.words": f03_words, "F04.cast": f04_cast, "F05.convert": f05_convert, "F06.copy": f06_copy,
}


def checks(case, big):
    """(id, title, function) of every check of a case."""
    if case.id == "A18":
        if big:
            yield "A18", case.row["name"], lambda: a18_big(case)
        return
    yield case.id, case.row["name"], case.check_main
    for name in sorted(set(case.output_from.values())):
        if name != case.main.name:
            yield f"{case.id}.{pathlib.Path(name).stem}", f"its {name}", lambda name=name: case.check_source(name)
    for key, function in EXTRA.items():
        if key.split(".")[0] == case.id:
            yield key, (function.__doc__ or "").split("\n")[0], lambda function=function: function(case)


def attempt(function):
    try:
        return function()
    except subprocess.TimeoutExpired:
        return ["no answer in time"]
    except Exception as problem:  # a test program: any surprise is a failure with its reason
        return [f"{type(problem).__name__}: {problem}"]


def main():
    options, command = command_line(__doc__)
    ids = {option for option in options if not option.startswith("--")}
    cli, codes, tally = Cli(command), error_codes(), Tally(pending())
    with tempfile.TemporaryDirectory(prefix="weighbridge-cases-") as scratch:
        work = []
        for row in json.loads((HERE / "manifest.json").read_text())["cases"]:
            for name, title, function in checks(Case(row, cli, scratch, codes), "--no-big" not in options):
                if not ids or name in ids or name.split(".")[0] in ids:
                    work.append((name, title, function))
        # A18 fills the disk's bandwidth: last, and alone.
        work.sort(key=lambda item: item[0] == "A18")
        alone = [item for item in work if item[0] == "A18"]
        with concurrent.futures.ThreadPoolExecutor(workers()) as pool:
            together = work[:len(work) - len(alone)]
            for (name, title, _), faults in zip(together, pool.map(lambda item: attempt(item[2]), together)):
                tally.add(name, title, faults)
        for name, title, function in alone:
            tally.add(name, title, attempt(function))
    if not ids:
        for name in sorted(set(tally.waiting) - tally.met):
            if name[0].isupper():
                tally.add(name, "pending.txt", ["there is no such check"])
    tally.close("cases")


main()
