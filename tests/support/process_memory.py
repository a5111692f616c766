"""The memory of other processes."""

import re


def _read_mib(path, field):
    with open(path, encoding="ascii") as file:
        return int(re.search(rf"^{field}:\s+(\d+)", file.read(), re.MULTILINE).group(1)) / 1024


def resident_mib(pid):
    return _read_mib(f"/proc/{pid}/status", "VmRSS")


def memory_mib(pid):
    """The part of the machine's memory that a process takes; pages that it shares count in part (PSS)."""
    return _read_mib(f"/proc/{pid}/smaps_rollup", "Pss")


class Peak:
    """`with Peak(pid) as peak:` the most memory that a process had in the block, in MiB (its resident set's peak)."""

    def __init__(self, pid):
        self._pid = pid
        self.mib = 0

    def __enter__(self):
        with open(f"/proc/{self._pid}/clear_refs", "w", encoding="ascii") as refs:
            refs.write("5")  # proc(5): the peak begins anew
        self.before_mib = self._read()
        return self

    def __exit__(self, *_):
        self.mib = self._read()

    def grown_mib(self):
        return self.mib - self.before_mib

    def _read(self):
        return _read_mib(f"/proc/{self._pid}/status", "VmHWM")
