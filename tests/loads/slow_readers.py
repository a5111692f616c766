#!/usr/bin/env python3
"""Large outputs and those who read them slowly, or not at all: the gateway's memory, and what others notice.

    tools/with_postgres tests/loads/slow_readers.py [READERS]

Prints a row for each thing measured: case, what, number, unit. READERS (200) clients ask for outputs of 128 MiB, in turns
as frames, .npy, multipart and JSON, and read nothing of them. All fetch one variable, so that the worker has it once. Then
four clients read answers of 64 MiB as JSON at once, beside a quiet tenant; and 256 MiB pass through as frames.
"""

import http.client
import json
import os
import re
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import sluice  # noqa: E402
from graph_builder import GraphBuilder, Shape, Type  # noqa: E402

FORMS = ["application/vnd.sluice.frames", "application/x-npy", "multipart/mixed", "application/json"]
MIB = 1 << 20


def _row(case, what, number, unit):
    print(f"{case:<28} {what:<44} {number:>12.1f} {unit}", flush=True)


def _resident_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) / 1024


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


class Load:
    """A cluster of one worker with the graph, and ways to ask it."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.client = cluster.client()
        self.session = self.client.session()
        self.client.graph(self.session, _graph())
        self.path = f"/api/v1/sessions/{self.session}/steps"
        self.client.step(self.session, {"feeds": {}, "targets": ["fill"]})

    def gateway_mib(self):
        return _resident_mib(self.cluster.gateway.pid)

    def stall(self, fetch, accept):
        """A connection that has sent a step and reads nothing."""
        host, port = self.cluster.address.rsplit(":", 1)
        reader = socket.socket()
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        reader.connect((host, int(port)))
        body = json.dumps({"feeds": {}, "fetches": [fetch], "options": {"timeout_ms": 600000}})
        reader.sendall((f"POST {self.path} HTTP/1.1\r\nHost: {host}\r\nAccept: {accept}\r\n"
                        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode())
        return reader

    def read(self, count, accept):
        """Reads an answer to its end, in pieces; returns its size."""
        connection = http.client.HTTPConnection(self.cluster.address, timeout=300)
        body = json.dumps({"feeds": {"n": count}, "fetches": ["range"]})
        connection.request("POST", self.path, body, {"Content-Type": "application/json", "Accept": accept})
        reply = connection.getresponse()
        assert reply.status == 200, reply.status
        size = 0
        while piece := reply.read(MIB):
            size += len(piece)
        connection.close()
        return size

    def quiet(self, seconds, stop=None):
        """Sends small steps, lists and /readyz one after the other; returns their times in milliseconds, sorted."""
        connection = http.client.HTTPConnection(self.cluster.address, timeout=300)
        times = {"step": [], "list": [], "readyz": []}
        step = json.dumps({"feeds": {"n": 1}, "fetches": ["small"]})
        headers = {"Content-Type": "application/json"}
        requests = {"step": ("POST", self.path, step, headers), "list": ("GET", "/api/v1/sessions", None, {}),
                    "readyz": ("GET", "/readyz", None, {})}
        until = time.monotonic() + seconds
        while time.monotonic() < until and not (stop and stop.is_set()):
            for name, request in requests.items():
                begun = time.monotonic()
                connection.request(*request)
                reply = connection.getresponse()
                reply.read()
                assert reply.status == 200, (name, reply.status)
                times[name].append((time.monotonic() - begun) * 1000)
        return {name: sorted(values) for name, values in times.items()}


def _print_quiet(case, times):
    for name, values in times.items():
        _row(case, f"quiet {name}: p50", values[len(values) // 2], "ms")
        _row(case, f"quiet {name}: p99", values[len(values) * 99 // 100], "ms")


def _stalled(load, count):
    case = f"{count} stalled readers"
    before = load.gateway_mib()
    _row(case, "gateway before", before, "MiB")
    _print_quiet("before", load.quiet(3))
    readers = [load.stall("large", FORMS[index % len(FORMS)]) for index in range(count)]
    time.sleep(5)
    _print_quiet(case, load.quiet(3))
    _row(case, "gateway, more than before", load.gateway_mib() - before, "MiB")
    for reader in readers:
        reader.close()
    time.sleep(2)
    _row(case, "gateway when they have gone, more", load.gateway_mib() - before, "MiB")


def _json_answers(load):
    stop = threading.Event()
    sizes = []
    readers = [threading.Thread(target=lambda: sizes.append(load.read(16 * MIB, "application/json"))) for _ in range(4)]
    before = load.gateway_mib()
    begun = time.monotonic()
    for reader in readers:
        reader.start()
    watch = threading.Thread(target=lambda: (lambda: [reader.join() for reader in readers])() and stop.set())
    watch.start()
    times = load.quiet(300, stop)
    watch.join()
    _print_quiet("4 JSON answers of 64 MiB", times)
    _row("4 JSON answers of 64 MiB", "until the last byte", time.monotonic() - begun, "s")
    _row("4 JSON answers of 64 MiB", "text", sum(sizes) / MIB, "MiB")
    _row("4 JSON answers of 64 MiB", "gateway, more than before", load.gateway_mib() - before, "MiB")
    _print_quiet("after", load.quiet(3))


def _frames(load):
    before = load.gateway_mib()
    begun = time.monotonic()
    size = load.read(64 * MIB, FORMS[0])
    _row("256 MiB as frames", "computed and read", time.monotonic() - begun, "s")
    _row("256 MiB as frames", "gateway, more than before", load.gateway_mib() - before, "MiB")
    assert size > 256 * MIB


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with sluice.Cluster(threads=(1,)) as cluster:
        load = Load(cluster)
        load.quiet(1)
        _stalled(load, count)
        _json_answers(load)
        _frames(load)


if __name__ == "__main__":
    main()
