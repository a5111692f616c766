#!/usr/bin/env python3
"""Large outputs and those who read them slowly, or not at all: the gateway's memory, and what a quiet tenant notices.

    tools/with_postgres tests/loads/slow_readers.py [--length minute|short|full]

One tenant's 200 clients ask for outputs of 128 MiB, in turns as frames, .npy, multipart and JSON, and read nothing of them. All
fetch one variable, so that the worker has it once. Then four clients read answers of 64 MiB as JSON at once; and 256 MiB pass
through as frames. All the while another tenant sends small steps, lists its sessions, and asks for /readyz and /livez.
"""

import http.client
import json
import os
import socket
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import measures  # noqa: E402
from measures import MIB, Aside, Asker, sluice  # noqa: E402
from graph_builder import GraphBuilder, Shape, Type  # noqa: E402
from process_memory import Peak, memory_mib  # noqa: E402

FORMS = ["application/vnd.sluice.frames", "application/x-npy", "multipart/mixed", "application/json"]
TENANTS = {"greedy": {}, "quiet": {}}
READERS = {"minute": 100, "short": 200, "full": 200}
ANSWERS = 4
ANSWER_MIB = 64
GROWTH_MIB = 64  # that all of it may cost the gateway
QUIET_SECONDS = {"minute": 2, "short": 15, "full": 120}
SETTLE_SECONDS = {"minute": 2, "short": 5, "full": 5}  # until what stalled readers take is at its most


def _graph():
    """`large` reads a variable of 128 MiB that `fill` sets; `range` has as many int32 as n says; `small` has one."""
    graph = GraphBuilder()
    one = graph.constant("float32", [], [1.0])
    ones = graph.add("Fill", graph.constant("int32", [1], [32 * MIB]), one, T=Type("float32"), index_type=Type("int32"))
    variable = graph.add("VarHandleOp", name="variable", dtype=Type("float32"), shape=Shape([32 * MIB]))
    graph.add("AssignVariableOp", variable, ones, name="fill", dtype=Type("float32"))
    graph.add("ReadVariableOp", variable, name="large", dtype=Type("float32"))
    n = graph.placeholder("n", "int32", [])
    graph.add("Range", graph.constant("int32", [], [0]), n, graph.constant("int32", [], [1]), name="range",
              Tidx=Type("int32"))
    graph.add("Add", n, n, name="small", T=Type("int32"))
    return graph.document()


def _digits(count):
    """The number of digits of all the numbers from 0 to count - 1."""
    total, size, low = 0, 1, 0
    while low < count:
        high = min(count, 10 ** size)
        total += size * (high - low)
        size, low = size + 1, high
    return total


class Load:
    """A cluster of one worker with the graph in a session of each tenant, and ways to ask it."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.paths = {}
        for tenant in TENANTS:
            client = cluster.client(tenant)
            session = client.session()
            client.graph(session, _graph())
            self.paths[tenant] = f"/api/v1/sessions/{session}/steps"
            if tenant == "greedy":
                client.step(session, {"feeds": {}, "targets": ["fill"]})
            client.close()
        self._asker = Asker(cluster.address, cluster.keys["quiet"])
        self._requests = {
            "step": ("POST", self.paths["quiet"], json.dumps({"feeds": {"n": 1}, "fetches": ["small"]})),
            "list": ("GET", "/api/v1/sessions"),
            "/readyz": ("GET", "/readyz"),
            "/livez": ("GET", "/livez"),
        }

    def gateway_mib(self):
        return memory_mib(self.cluster.gateway.pid)

    def stall(self, fetch, accept):
        """A connection that has sent a step and reads nothing."""
        host, port = self.cluster.address.rsplit(":", 1)
        reader = socket.socket()
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        reader.connect((host, int(port)))
        body = json.dumps({"feeds": {}, "fetches": [fetch], "options": {"timeout_ms": 600000}})
        reader.sendall((f"POST {self.paths['greedy']} HTTP/1.1\r\nHost: {host}\r\nAccept: {accept}\r\n"
                        f"Authorization: Bearer {self.cluster.keys['greedy']}\r\n"
                        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode())
        return reader

    def read(self, count, accept, add=lambda size: None):
        """Reads an answer with so many numbers to its end, in pieces, whose sizes it adds; returns the whole size."""
        connection = http.client.HTTPConnection(self.cluster.address, timeout=300)
        body = json.dumps({"feeds": {"n": count}, "fetches": ["range"]})
        connection.request("POST", self.paths["greedy"], body, {
            "Content-Type": "application/json", "Accept": accept, "Authorization": f"Bearer {self.cluster.keys['greedy']}"})
        reply = connection.getresponse()
        if reply.status != 200:
            raise RuntimeError(f"an answer has status {reply.status}: {reply.read(300)}")
        size = 0
        while piece := reply.read(MIB):
            size += len(piece)
            add(len(piece))
        connection.close()
        return size

    def quiet(self, seconds=float("inf"), until=lambda: False):
        return self._asker.ask_all(self._requests, seconds, until)


def _add_quiet(report, case, times):
    for name, taken in times.items():
        report.add_times(case, f"quiet tenant's {name}", taken)


def _run_stalled(report, load, seconds, count, settle_seconds):
    case = f"{count} stalled readers of 128 MiB"
    _add_quiet(report, "nobody else", load.quiet(seconds))
    before = load.gateway_mib()
    report.add(case, "gateway before", before, "MiB")
    readers = [load.stall("large", FORMS[index % len(FORMS)]) for index in range(count)]
    load.quiet(settle_seconds)
    _add_quiet(report, case, load.quiet(seconds))
    report.add(case, "gateway, more than before", load.gateway_mib() - before, "MiB", GROWTH_MIB, sure=True)
    for reader in readers:
        reader.close()
    load.quiet(settle_seconds)
    report.add(case, "gateway when they have gone, more", load.gateway_mib() - before, "MiB", GROWTH_MIB, sure=True)


def _run_json_answers(report, load, seconds, mib):
    """Reads the answers again and again until the quiet tenant was watched for so long."""
    case = f"{ANSWERS} JSON answers of {mib} MiB"
    count = mib * MIB // 4
    times, rounds, read, taken = {}, 0, 0, 0
    with Peak(load.cluster.gateway.pid) as peak:
        while taken < seconds:
            begun = time.monotonic()
            readers = Aside(lambda add: load.read(count, FORMS[3], add), copies=ANSWERS)
            readers.start()
            for name, more in load.quiet(until=readers.has_ended).items():
                times.setdefault(name, []).extend(more)
            readers.join()
            taken += time.monotonic() - begun
            read += readers.count.value
            rounds += 1
    _add_quiet(report, case, times)
    report.add(case, "until the last byte", taken / rounds, "s")
    report.add(case, "text", read / rounds / MIB, "MiB")
    # The numbers, a comma between two of them; what is around them is not counted.
    report.add(case, "numbers lost", max(0, (_digits(count) + count - 1) * ANSWERS * rounds - read), "bytes", 0, sure=True)
    report.add(case, "gateway's peak, more than before", peak.grown_mib(), "MiB", GROWTH_MIB, sure=True)
    _add_quiet(report, f"after {case}", load.quiet(min(seconds, 15)))


def _run_frames(report, load, mib):
    case = f"{mib} MiB as frames"
    with Peak(load.cluster.gateway.pid) as peak:
        begun = time.monotonic()
        size = load.read(mib * MIB // 4, FORMS[0])
        report.add(case, "computed and read", time.monotonic() - begun, "s")
    report.add(case, "bytes lost", max(0, mib * MIB - size), "bytes", 0, sure=True)
    report.add(case, "gateway's peak, more than before", peak.grown_mib(), "MiB", GROWTH_MIB, sure=True)


def run(report, length):
    seconds = QUIET_SECONDS[length]
    with sluice.Cluster(threads=(1,), tenants=TENANTS) as cluster:
        load = Load(cluster)
        load.quiet(1)
        _run_stalled(report, load, seconds, READERS[length], SETTLE_SECONDS[length])
        _run_json_answers(report, load, seconds, 4 if length == "minute" else ANSWER_MIB)
        _run_frames(report, load, 64 if length == "minute" else 256)


if __name__ == "__main__":
    measures.main(run, __doc__)
