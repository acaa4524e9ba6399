"""Running the command-line program, and the rules that hold for every run of it."""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def error_codes():
    """The words of src/base/errc.inc, the only list of failures."""
    codes = set()
    for line in (ROOT / "src/base/errc.inc").read_text().splitlines():
        if line.startswith("WB_ERRC("):
            codes.add(line[len("WB_ERRC("):].split(",")[0])
    return codes


class Run:
    """One finished run: exit code, standard output, and all words printed."""

    def __init__(self, command, arguments, timeout_seconds):
        done = subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True,
                              timeout=timeout_seconds, stdin=subprocess.DEVNULL)
        self.exit = done.returncode
        self.out = done.stdout
        self.words = done.stdout + "\n" + done.stderr

    def json(self):
        value = json.loads(self.out)
        if not isinstance(value, dict):
            raise ValueError("standard output is not one JSON object")
        return value

    def first_words(self):
        return " ".join(self.words.split())[:200]


class Cli:
    def __init__(self, command, timeout_seconds=120):
        self.command = command
        self.timeout_seconds = timeout_seconds

    def __call__(self, *arguments, timeout_seconds=None):
        return Run(self.command, arguments, timeout_seconds or self.timeout_seconds)


def command_line(usage):
    """(options before --, command after it)."""
    if "--" not in sys.argv:
        sys.exit(usage)
    cut = sys.argv.index("--")
    return sys.argv[1:cut], sys.argv[cut + 1:]


def workers():
    return max(1, min(4, os.cpu_count() or 1))


def pending(path=ROOT / "tests/cases/pending.txt"):
    """{id: reason} of tests/cases/pending.txt: `ID  reason`, # for remarks."""
    rows = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        name, _, reason = line.partition(" ")
        if not reason.strip() or name in rows:
            sys.exit(f"{path.name}:{number}: every id once, with a reason")
        rows[name] = reason.strip()
    return rows


class Tally:
    """Counts passed, failed and pending checks. A pending check that passes is a failure: the list must stay true."""

    def __init__(self, waiting=None):
        self.waiting = waiting or {}
        self.passed = self.failed = self.pending = 0
        self.met = set()

    def add(self, name, title, faults, quiet=False):
        self.met.add(name)
        if name in self.waiting:
            if faults:
                self.pending += 1
                print(f"pending {name} {title}: {self.waiting[name]}")
                return
            faults = ["passes, but tests/cases/pending.txt still lists it: remove the line"]
        if faults:
            self.failed += 1
            print(f"FAIL    {name} {title}" + "".join(f"\n          {fault}" for fault in faults))
        else:
            self.passed += 1
            if not quiet:
                print(f"ok      {name} {title}")

    def close(self, label):
        sys.stdout.flush()
        if self.pending:
            print(f"{label}: {self.pending} pending (tests/cases/pending.txt)")
        print(f"{label}: {self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed or not self.passed else 0)
