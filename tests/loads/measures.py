"""What the programs of tests/loads have in common: how long they run, rows of what they measured, times.

A program is a module with run(report, length), which adds a row for each thing that it measured: the case, what, the most that
was asked for (nothing where a number only informs), what was got, the unit. A row that is `sure` tells of something that holds
on any machine (memory, shares, nothing lost), and tests/integration/loads_test.py asserts it; times are never sure.
"""

import argparse
import http.client
import multiprocessing
import os
import sys
import threading
import time
from typing import NamedTuple, Optional

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import sluice  # noqa: E402

MIB = 1 << 20
LENGTHS = ("minute", "short", "full")
PAUSE_SECONDS = 0.005  # between two requests of a quiet tenant, who leaves the machine to others


class Row(NamedTuple):
    """One thing measured."""

    case: str
    what: str
    asked: Optional[float]  # the most that it may be
    got: float
    unit: str
    is_sure: bool

    def is_reached(self):
        return self.asked is None or self.got <= self.asked

    def __str__(self):
        asked = "" if self.asked is None else f"<= {self.asked:g}"
        return f"{self.case}\t{self.what}\t{asked}\t{self.got:.1f}\t{self.unit}"


class Report:
    """The rows of a program, printed as they come, the columns separated by tabs."""

    def __init__(self):
        self.rows = []

    def add(self, case, what, got, unit, asked=None, sure=False):
        row = Row(case, what, asked, got, unit, sure)
        self.rows.append(row)
        print(row, flush=True)

    def add_times(self, case, who, times):
        """Rows of times in milliseconds."""
        self.add(case, f"{who}: p50", percentile(times, 0.5), "ms")
        self.add(case, f"{who}: p99", percentile(times, 0.99), "ms")

    def unreached(self):
        """The rows of what was promised for any machine and is not so."""
        return [row for row in self.rows if row.is_sure and not row.is_reached()]


def main(run, description):
    """Runs a program as the command line says."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--length", choices=LENGTHS, default="short")
    run(Report(), parser.parse_args().length)


def percentile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else float("nan")


class Asker:
    """One tenant's requests, one after the other on one connection; how long each took."""

    def __init__(self, address, key=None):
        self._connection = http.client.HTTPConnection(address, timeout=sluice.REPLY_SECONDS)
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})

    def ask(self, method, path, body=None):
        """The milliseconds until the answer was read; anything but success ends the program."""
        begun = time.monotonic()
        self._connection.request(method, path, body, self._headers)
        reply = self._connection.getresponse()
        content = reply.read()
        if reply.status // 100 != 2:
            raise RuntimeError(f"{method} {path} was answered with {reply.status}: {content[:300]}")
        return 1000 * (time.monotonic() - begun)

    def ask_all(self, requests, seconds=float("inf"), until=lambda: False):
        """Sends the requests {name: (method, path, body)} in turns, for so long and each at least once; {name: times}."""
        times = {name: [] for name in requests}
        end = time.monotonic() + seconds
        while True:
            for name, request in requests.items():
                times[name].append(self.ask(*request))
                time.sleep(PAUSE_SECONDS)
            if time.monotonic() >= end or until():
                return times


class Aside(multiprocessing.Process):
    """A function in a process of its own, so that it shares no interpreter with what is measured; `copies` of it run at once, on
    threads. `count` adds up what they tell that they did; `going` is how many have not ended."""

    def __init__(self, function, copies=1):
        super().__init__(daemon=True)
        self.count = multiprocessing.Value("Q", 0)
        self.going = multiprocessing.Value("i", copies)
        self._function, self._copies = function, copies

    def run(self):
        threads = [threading.Thread(target=self._run_copy, daemon=True) for _ in range(self._copies)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _run_copy(self):
        try:
            self._function(lambda number=1: self._change(self.count, number))
        finally:
            self._change(self.going, -1)

    @staticmethod
    def _change(value, number):
        with value.get_lock():
            value.value += number

    def has_ended(self):
        return not self.is_alive()

    def stop(self):
        self.kill()
        self.join()
