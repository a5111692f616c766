#!/usr/bin/env python3
"""run_rivals.py [ROUNDS [MILLISECONDS]]   Sluice beside TensorFlow and ONNX Runtime, same graphs, same machine, same
run: every round goes through all cases and, within a case, through all systems. Prints the medians and writes
build/bench-rivals.json. Ends with 1 as soon as a system gives another value than the graph's, or runs fewer nodes than
it has: an optimizer that takes nodes away must not pass for speed. What this Python cannot import is left out. Runs
under tools/with_postgres; OUT names the build."""

import contextlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(FOLDER, "../../support"))
import bench_graphs  # noqa: E402
import rival_table  # noqa: E402
import sluice  # noqa: E402

OUT = os.environ.get("OUT", "build/release")
PROGRAMS = os.path.join(OUT, "tests/bench/rivals")
ROUNDS = 5
MILLISECONDS = 1000
WARM_UP_PART = 4  # of the time that is measured
CLIENT_COUNTS = (1, 16)
SLUICE, TENSORFLOW, ONNXRUNTIME = rival_table.SYSTEMS


def check(system, case, value, expected=None):
    expected = case.value if expected is None else expected
    if value != expected:
        raise SystemExit(f"{system}: {case.name}: {value} instead of {expected}")


def check_runner(system, case, runner):
    count = runner.node_count()
    if count < case.units:
        raise SystemExit(f"{system}: {case.name}: {count} nodes were run, at least {case.units} expected")


def import_rivals():
    """The rivals' modules by name of system; what is missing, and why, as notes."""
    rivals, notes = {}, []
    for system, name in ((TENSORFLOW, "rival_tensorflow"), (ONNXRUNTIME, "rival_onnxruntime")):
        try:
            rivals[system] = importlib.import_module(name)
        except ImportError as error:
            notes.append(f"{system} is left out: {error}")
    return rivals, notes


# --- Sluice -------------------------------------------------------------------------------------------------


class SluiceExecutor:
    """The bare executor, in a process of its own that answers when asked."""

    def __init__(self, case, folder):
        path = os.path.join(folder, f"{id(case)}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(case.partition(), file)
        self._process = subprocess.Popen([os.path.join(PROGRAMS, "graph_runs"), path], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True)
        self._node_count = 0

    def nanoseconds(self, count):
        self._process.stdin.write(f"{count}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().split()
        if len(answer) != 3:
            raise SystemExit("graph_runs ended early")
        self._node_count = int(answer[2])
        return float(answer[0]), float(answer[1])

    def node_count(self):
        self.nanoseconds(1)
        return self._node_count

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


class SluiceSession:
    """One graph behind a gateway and a worker."""

    def __init__(self, cluster, case):
        self._address = cluster.address
        self._client = cluster.client()
        self._case = case
        self._session = self._client.session(passes_off=bench_graphs.PASSES_OFF)
        self._graph = self._client.graph(self._session, case.document)

    def _request(self, fetch):
        return {"graph": self._graph, "feeds": {"x": 1}, "fetches": [fetch]}

    def run(self, fetch):
        outputs = self._client.step(self._session, self._request(fetch))["outputs"]
        return float(outputs[fetch]["data"][0])

    def node_count(self):
        step = self._client.step(self._session, self._request(self._case.fetch))
        return sum(partition["nodes"] for partition in step["partitions"])

    def load(self, client_count, milliseconds):
        """(p50 in us, steps a second)"""
        check(SLUICE, self._case, self.run(self._case.fetch))
        answer = subprocess.run(
            [os.path.join(PROGRAMS, "load_steps"), self._address, self._session,
             json.dumps(self._request(self._case.fetch)), f'"data":[{self._case.value}]', str(client_count),
             str(milliseconds)], stdout=subprocess.PIPE, check=True, text=True)
        p50, rate = answer.stdout.split()
        return float(p50), float(rate)

    def close(self):
        self._client.close()


# --- Cases --------------------------------------------------------------------------------------------------


class InProcess:
    """Time of a run in one process on one thread, by node or turn."""

    def __init__(self, case, folder, rivals):
        self._case = case
        self._runners = {SLUICE: SluiceExecutor(case, folder)}
        self._runners.update((system, rival.Runner(case)) for system, rival in rivals.items())
        self._counts = {}
        for system, runner in self._runners.items():
            check_runner(system, case, runner)

    def _measure(self, system, count):
        elapsed, value = self._runners[system].nanoseconds(count)
        check(system, self._case, value)
        return elapsed

    def measure(self, table, milliseconds):
        for system in self._runners:
            if system not in self._counts:  # the first runs are not counted
                self._measure(system, 1)
                self._counts[system] = max(1, int(milliseconds * 1e6 / self._measure(system, 20)))
            elapsed = self._measure(system, self._counts[system])
            table.add(f"{self._case.name}, in one process", f"us/{self._case.unit_name}", system,
                      elapsed / self._case.units / 1e3)

    def close(self):
        for runner in self._runners.values():
            runner.close()


class OverNetwork:
    """Steps over the network, by number of clients that each wait for their reply."""

    def __init__(self, case, client_counts, cluster, rival, server):
        self._case = case
        self._client_counts = client_counts
        self._runners = {SLUICE: SluiceSession(cluster, case)}
        if rival is not None:
            self._runners[TENSORFLOW] = rival.Runner(case, server.target, 0)
        for system, runner in self._runners.items():
            check_runner(system, case, runner)

    def measure(self, table, milliseconds):
        for client_count in self._client_counts:
            name = f"{self._case.name}, over the network, {client_count} client{'s' * (client_count > 1)}"
            for system, runner in self._runners.items():
                runner.load(client_count, milliseconds // WARM_UP_PART)
                p50, rate = runner.load(client_count, milliseconds)
                table.add(f"{name}: p50", "us", system, p50)
                table.add(f"{name}: rate", "steps/s", system, rate)

    def close(self):
        for runner in self._runners.values():
            runner.close()


class NewSignature:
    """The first step that fetches a node which no step has fetched before, and the same step again. ONNX Runtime
    compiles with a session: its first row is making one and its first run."""

    def __init__(self, case, cluster, rivals, server):
        self._case = case
        self._onnx = rivals.get(ONNXRUNTIME)
        self._runners = {SLUICE: SluiceSession(cluster, case)}
        if TENSORFLOW in rivals:
            self._runners[TENSORFLOW] = rivals[TENSORFLOW].Runner(case, server.target, 0)
        self._index = bench_graphs.NODES
        for system, runner in self._runners.items():  # connections, the graph at the server
            check(system, case, runner.run(bench_graphs.chain_name(1)), 2)

    def _time(self, table, what, system, run, expected):
        begin = time.perf_counter_ns()
        value = run()
        elapsed = time.perf_counter_ns() - begin
        check(system, self._case, value, expected)
        table.add(f"{self._case.name}, new signature: {what} step", "ms", system, elapsed / 1e6)

    def measure(self, table, _milliseconds):
        self._index -= 1
        fetch = bench_graphs.chain_name(self._index)
        for system, runner in self._runners.items():
            if system == TENSORFLOW:
                runner.prepare(fetch)
            for what in ("first", "second"):
                self._time(table, what, system, lambda: runner.run(fetch), self._index + 1)
        if self._onnx is not None:
            made = []

            def first():
                made.append(self._onnx.Runner(self._case))
                return made[0].run()

            self._time(table, "first", ONNXRUNTIME, first, self._case.value)
            self._time(table, "second", ONNXRUNTIME, lambda: made[0].run(), self._case.value)

    def close(self):
        for runner in self._runners.values():
            runner.close()


class Networks:
    """Blocks of known networks, all optimizations on, one thread: the best of as many runs. Results are compared by
    the sums of their squares: thousands of numbers that everyone rounds otherwise."""

    _TOLERANCE = 1e-4

    def __init__(self, rivals):
        self._runners = {}
        if ONNXRUNTIME in rivals:
            models = importlib.import_module("network_models")
            self._runners = {block.name: rivals[ONNXRUNTIME].Network(block) for block in models.blocks()}

    def measure(self, table, _milliseconds):
        answer = subprocess.run([os.path.join(OUT, "tests/bench/networks_bench")], stdout=subprocess.PIPE, check=True,
                                text=True)
        values = {row.split("\t")[0]: float(row.split("\t")[1]) for row in answer.stdout.splitlines()}
        for name in sorted(row.removesuffix(", all passes") for row in values if row.endswith(", all passes")):
            table.add(f"{name}, in one process", "us", SLUICE, values[f"{name}, all passes"])
            if name in self._runners:
                elapsed, squares = self._runners[name].microseconds()
                expected = values[f"{name}, sum of squares of the result"]
                if abs(squares - expected) > self._TOLERANCE * abs(expected):
                    raise SystemExit(f"{ONNXRUNTIME}: {name}: squares add up to {squares}, not {expected}")
                table.add(f"{name}, in one process", "us", ONNXRUNTIME, elapsed)

    def close(self):
        self._runners.clear()


def make_cases(stack, rivals):
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="rivals."))
    cluster = stack.enter_context(sluice.Cluster(threads=(os.cpu_count() or 1,)))
    tensorflow = rivals.get(TENSORFLOW)
    server = tensorflow.Server() if tensorflow else None
    if server:
        stack.callback(server.stop)
    null, chain, wide, loop = (make() for make in (bench_graphs.null_step, bench_graphs.chain, bench_graphs.wide,
                                                   bench_graphs.loop))
    over_network = ((null, CLIENT_COUNTS), (chain, (1,)), (wide, (1,)), (loop, (1,)))
    makers = [lambda one=one: OverNetwork(*one, cluster, tensorflow, server) for one in over_network]
    makers += [lambda one=one: InProcess(one, folder, rivals) for one in (null, chain, wide, loop)]
    makers.append(lambda: NewSignature(chain, cluster, rivals, server))
    makers.append(lambda: Networks(rivals))
    for make in makers:
        measured = make()
        stack.callback(measured.close)
        yield measured


def number(index, usual):
    text = sys.argv[index] if index < len(sys.argv) else str(usual)
    if not text.isdigit() or int(text) == 0:
        raise SystemExit(__doc__)
    return int(text)


def main():
    rounds, milliseconds = number(1, ROUNDS), number(2, MILLISECONDS)
    rivals, notes = import_rivals()
    table = rival_table.Table({system: rival.VERSION for system, rival in rivals.items()}, notes)
    with contextlib.ExitStack() as stack:
        cases = list(make_cases(stack, rivals))
        for _ in range(rounds):
            for case in cases:
                case.measure(table, milliseconds)
    table.print()
    table.write(rounds, milliseconds)


if __name__ == "__main__":
    main()
