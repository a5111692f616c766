"""What was measured, by row and system: medians, ranges, and how many times better Sluice is than each rival."""

import datetime
import json
import os
import platform
import statistics
import subprocess

SYSTEMS = ("Sluice", "TensorFlow", "ONNX Runtime")
MORE_IS_BETTER = {"steps/s"}
REPORT = "build/bench-rivals.json"
NAME_WIDTH = 66


def _commit():
    def git(*arguments):
        return subprocess.run(["git", *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False,
                              text=True).stdout.strip()
    commit = git("rev-parse", "--short=12", "HEAD") or "unknown"
    return commit + (" and changes" if git("status", "--porcelain", "--untracked-files=no") else "")


def _machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return f"{os.cpu_count()} vCPU, {models[0] if models else platform.machine()}, Linux {platform.release()}"


class Row:
    def __init__(self, name, unit):
        self.name = name
        self.unit = unit
        self.samples = {}

    def median(self, system):
        return statistics.median(self.samples[system]) if system in self.samples else None

    def ratio(self, rival):
        """Above 1: Sluice is so many times faster. None when one of the two is not there."""
        ours, theirs = self.median(SYSTEMS[0]), self.median(rival)
        if ours is None or theirs is None:
            return None
        return ours / theirs if self.unit in MORE_IS_BETTER else theirs / ours

    def document(self):
        systems = {system: {"value": self.median(system), "lowest": min(samples), "highest": max(samples)}
                   for system, samples in self.samples.items()}
        for rival in SYSTEMS[1:]:
            if rival in systems:
                systems[rival]["ratio"] = self.ratio(rival)
        return {"name": self.name, "unit": self.unit, "systems": systems}


class Table:
    def __init__(self, versions, notes):
        self._versions = versions
        self._notes = notes
        self._rows = {}
        self._date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

    def add(self, name, unit, system, value):
        row = self._rows.setdefault(name, Row(name, unit))
        row.samples.setdefault(system, []).append(value)

    def print(self):
        print(f"{_machine()}\n{self._date}, commit {_commit()}")
        print(", ".join(f"{system} {version}" for system, version in self._versions.items()))
        for note in self._notes:
            print(note)
        print(f"\n{'medians; ratio: how many times better Sluice is':{NAME_WIDTH}} {SYSTEMS[0]:>11}"
              + "".join(f" {rival:>13} {'ratio':>7}" for rival in SYSTEMS[1:]) + "  unit")
        for row in self._rows.values():
            cells = "".join(f" {self._cell(row.median(rival)):>13} {self._cell(row.ratio(rival), 3):>7}"
                            for rival in SYSTEMS[1:])
            print(f"{row.name:{NAME_WIDTH}} {self._cell(row.median(SYSTEMS[0])):>11}{cells}  {row.unit}")

    @staticmethod
    def _cell(value, digits=5):
        return "-" if value is None else f"{value:.{digits}g}"

    def write(self, rounds, milliseconds):
        document = {"machine": _machine(), "date": self._date, "commit": _commit(), "versions": self._versions,
                    "notes": self._notes, "rounds": rounds, "milliseconds": milliseconds,
                    "rows": [row.document() for row in self._rows.values()]}
        os.makedirs(os.path.dirname(REPORT), exist_ok=True)
        with open(REPORT, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
            file.write("\n")
        print(f"written: {REPORT}")
