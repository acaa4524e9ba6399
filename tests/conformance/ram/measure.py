"""What the kernel says about the memory of a process, read from outside while it runs."""
import pathlib
import select
import subprocess
import time


class Reading:
    """Bytes: anonymous, file-backed, and the highest resident size since the mark was reset."""

    def __init__(self, anonymous=0, file=0, peak=0):
        self.anonymous, self.file, self.peak = anonymous, file, peak


def status(pid):
    words = {}
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if value.endswith(" kB"):
            words[name] = int(value.split()[0]) * 1024
    return Reading(words.get("RssAnon", 0), words.get("RssFile", 0) + words.get("RssShmem", 0), words.get("VmHWM", 0))


def rollup(pid):
    """The same split from the page tables themselves (smaps_rollup): exact, and slow on a big mapping."""
    words = {}
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, value, _ = line.split()
        words[name.rstrip(":")] = int(value) * 1024
    return Reading(words["Anonymous"], words["Rss"] - words["Anonymous"])


def reset_peak(pid):
    pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")


class Cgroup:
    """memory.peak of a cgroup of its own, where the machine has cgroup v2 and lets us make one; else None."""

    def __init__(self):
        self.path = None
        path = pathlib.Path("/sys/fs/cgroup/weighbridge-calibrate")
        if pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists():
            try:
                path.mkdir(exist_ok=True)
                self.path = path if (path / "memory.peak").exists() else None
            except OSError:
                pass

    def add(self, pid):
        if self.path:
            (self.path / "cgroup.procs").write_text(str(pid))

    def peak(self):
        return int((self.path / "memory.peak").read_text()) if self.path else None


class Measured:
    """Above the baseline: highest anonymous, highest resident (VmHWM), then what stays when all is loaded."""

    def __init__(self, anonymous_peak, resident_peak, anonymous_after, file_after, baseline, samples, seconds, cgroup):
        self.anonymous_peak, self.resident_peak = anonymous_peak, resident_peak
        self.anonymous_after, self.file_after = anonymous_after, file_after
        self.baseline, self.samples, self.seconds, self.cgroup = baseline, samples, seconds, cgroup


def run(command):
    """Runs a strategy that says "ready" before it loads and "loaded" after, and samples it in between."""
    cgroup = Cgroup()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    pid = process.pid
    if process.stdout.readline().strip() != "ready":
        raise RuntimeError(process.communicate()[1][-800:])
    cgroup.add(pid)
    time.sleep(0.1)
    reset_peak(pid)
    before = rollup(pid)
    counted = status(pid)
    start = time.monotonic()
    process.stdin.write("\n")
    process.stdin.flush()
    highest, samples = counted.anonymous, 0
    while not select.select([process.stdout], [], [], 0.001)[0]:
        highest = max(highest, status(pid).anonymous)
        samples += 1
    if process.stdout.readline().strip() != "loaded":
        raise RuntimeError(process.communicate()[1][-800:])
    seconds = time.monotonic() - start
    after, peak = rollup(pid), status(pid).peak
    process.communicate("\n")
    resident = before.anonymous + before.file
    return Measured(highest - counted.anonymous, peak - resident, after.anonymous - before.anonymous,
                    after.file - before.file, resident, samples, seconds, cgroup.peak())
