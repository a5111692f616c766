#!/usr/bin/env python3
"""Large feeds of a form go to the workers as they come: they are never whole in the gateway, and a client that sends them
slowly, wrongly or not to their end costs nobody else anything."""

import http.client
import json
import os
import random
import re
import signal
import socket
import sys
import threading
import time
from contextlib import contextmanager

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from graph_builder import GraphBuilder, Type  # noqa: E402
from process_memory import Peak  # noqa: E402

MIB = 1 << 20
LARGE = 96 * MIB  # bytes of a feed
GROWTH_MIB = 24  # of the gateway
ANSWER_SECONDS = 120
LAST = 128 * 1024
BOUNDARY = "f0rm"
INT32 = Type("int32")


def _graph():
    """`sum0` and `sum1` add up x on one worker and y on the other, `same` and `other` are x and y, `both` needs both; z is for nobody."""
    graph = GraphBuilder()
    zero = graph.constant("int32", [1], [0])
    sums = []
    for task, name in enumerate(("x", "y")):
        device = f"/job:worker/task:{task}"
        feed = graph.placeholder(name, "int32", [-1])
        sums.append(graph.add("Sum", feed, zero, name=f"sum{task}", device=device, T=INT32, Tidx=INT32, keep_dims=False))
        graph.add("Identity", feed, name=("same", "other")[task], device=device, T=INT32)
    graph.add("Add", *sums, name="both", T=INT32)
    graph.placeholder("z", "int32", [-1])
    n = graph.placeholder("n", "int32", [])
    graph.add("Add", n, n, name="small", T=INT32)
    return graph.document()


def _npy(size, fortran=False):
    """The header of a file with `size` bytes of int32."""
    text = f"{{'descr': '<i4', 'fortran_order': {fortran}, 'shape': ({size // 4},), }}"
    text += " " * (63 - (10 + len(text)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def _pattern(size, seed):
    """Bytes whose order shows, some of which look like the beginning of a boundary."""
    block = random.Random(seed).randbytes(min(size, MIB) - 16) + b"\r\n--f0r\r\r\n--f0rX"[:16]
    return (block * (size // len(block) + 1))[:size]


def _sum(data):
    return sum(memoryview(data).cast("i")) & 0xffffffff


def _part(name, head, *bodies):
    lines = f"--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n{head}\r\n".encode()
    return b"".join([lines, *bodies, b"\r\n"])


def _feed(name, data, **options):
    return _part(name, "Content-Type: application/x-npy\r\n", _npy(len(data), **options), data)


def _request(**members):
    return _part("request", "", json.dumps(members).encode())


def _form(*parts):
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


class Group:
    """A cluster with the graph."""

    def __init__(self, **options):
        self.cluster = sluice.Cluster(**options)

    def __enter__(self):
        self.cluster.__enter__()
        self.client = self.cluster.client()
        self.session = self.client.session()
        self.client.graph(self.session, _graph())
        self.path = f"/api/v1/sessions/{self.session}/steps"
        self.small()
        return self

    def __exit__(self, *reason):
        self.cluster.__exit__(*reason)

    def small(self):
        step = self.client.step(self.session, {"feeds": {"n": 2}, "fetches": ["small"]})
        assert step["outputs"]["small"]["data"] == [4], step

    def send(self, form, accept="application/json", chunked=False):
        """The status and the body of the answer."""
        connection = http.client.HTTPConnection(self.cluster.address, timeout=ANSWER_SECONDS)
        headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}", "Accept": accept}
        try:
            body = (form[at:at + MIB] for at in range(0, len(form), MIB)) if chunked else form
            connection.request("POST", self.path, body, headers, encode_chunked=chunked)
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def open(self, length):
        """A connection on which the head of a form has been sent."""
        host, port = self.cluster.address.rsplit(":", 1)
        connection = socket.create_connection((host, int(port)), timeout=ANSWER_SECONDS)
        connection.sendall((f"POST {self.path} HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n"
                            f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n\r\n").encode())
        return connection

    def steps_running(self):
        return self._metric("sluice_steps_running")

    def steps_cancelled(self):
        return self._metric('sluice_steps_total{outcome="cancelled"}')

    def _metric(self, name):
        return int(re.search(rf"^{re.escape(name)} (\d+)", self._metrics(), re.M).group(1))

    def _metrics(self):
        connection = http.client.HTTPConnection(self.cluster.address, timeout=ANSWER_SECONDS)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return text


def _reply(connection):
    """The status and the body of the answer on a connection that open() has made."""
    reply = http.client.HTTPResponse(connection)
    reply.begin()
    return reply.status, reply.read()


def _expect(answer, status, text):
    assert answer[0] == status and text in answer[1].decode(), (answer[0], answer[1][:600])


def large_feeds_reach_their_workers_as_they_were_sent():
    with Group() as group:
        for size in (4 * MIB, 4 * MIB + 12, 9 * MIB + 4):
            x, y = _pattern(size, 1), _pattern(size + 8, 2)
            told = _form(_request(fetches=["both"], parts=["x", "y"]), _feed("x", x), _feed("y", y))
            total = (_sum(x) + _sum(y)) & 0xffffffff
            total -= (total >> 31) << 32
            _expect(group.send(told), 200, f'"data":[{total}]')
            _expect(group.send(told, chunked=True), 200, f'"data":[{total}]')
            for fetch, data, form in (("same", x, _form(_request(fetches=["same"]), _feed("x", x))),
                                      ("other", y, _form(_request(fetches=["other"], parts=["y"]), _feed("y", y)))):
                status, body = group.send(form, accept="application/x-npy")
                assert status == 200 and body == _npy(len(data)) + data, (fetch, status, len(body), body[:200])


def feeds_in_any_order_and_of_any_size_are_one_step():
    with Group() as group:
        x, y = _pattern(5 * MIB, 3), _pattern(40, 4)
        total = (_sum(x) + _sum(y)) & 0xffffffff
        total -= (total >> 31) << 32
        request = _request(fetches=["both"], parts=["x", "y"])
        long_request = request.replace(b"{", b"{" + b" " * 300000)
        for parts in ((request, _feed("x", x), _feed("y", y)), (request, _feed("y", y), _feed("x", x)),
                      (_feed("x", x), _feed("y", y), request), (_request(fetches=["both"]), _feed("y", y), _feed("x", x)),
                      (_request(fetches=["both"]), _feed("x", x), _feed("y", y)),
                      (_request(fetches=["both"], parts=["y", "x"]), _feed("x", x, fortran=True), _feed("y", y)),
                      (long_request, _feed("x", x), _feed("y", y))):
            _expect(group.send(_form(*parts)), 200, f'"data":[{total}]')


def the_gateway_never_has_a_large_feed_whole():
    with Group() as group:
        x, y = bytes(LARGE), bytes(LARGE)
        with Peak(group.cluster.gateway.pid) as peak:
            _expect(group.send(_form(_request(fetches=["both"], parts=["x", "y"]), _feed("x", x), _feed("y", y))), 200,
                    '"data":[0]')
            _expect(group.send(_form(_request(fetches=["sum0"]), _feed("x", x))), 200, '"data":[0]')
        assert peak.grown_mib() < GROWTH_MIB, f"the gateway has grown by {peak.grown_mib():.0f} MiB"


def what_is_wrong_with_a_large_feed_is_said():
    with Group() as group:
        x = bytes(6 * MIB)
        request = _request(fetches=["sum0"], parts=["x"])
        cases = (
            (_form(request, _part("x", "", _npy(len(x)), x[4:])), "bytes of elements"),
            (_form(request, _part("x", "", _npy(len(x)), x, b"more")), "bytes of elements"),
            (_form(request, _part("x", "", _npy(len(x)).replace(b"<i4", b"<f4"), x)), "the graph takes int32 here"),
            (_form(_request(fetches=["sum0"], parts=["x", "y"]), _feed("x", x)), "the form has no part 'y'"),
            (_form(request, _feed("x", x), _feed("y", x)), "does not name"),
            (_form(request, _feed("x", x), _feed("x", x)), "it comes twice"),
            (_form(request, _feed("x", x), _feed("x", x[:8])), "it comes twice"),
            (_form(_request(fetches=["sum0"], parts=["x"], feeds={"x": [1]}), _feed("x", x)), "x"),
            (_form(_request(fetches=["nobody"], parts=["x"]), _feed("x", x)), "nobody"),
            (_form(request, _feed("x", x))[:-6], "closing boundary"),
        )
        for form, text in cases:
            status, body = group.send(form)
            assert status in (400, 404) and text in body.decode(), (text, status, body[:400])
            group.small()
        await_that(lambda: group.steps_running() == 0, "no step")


def a_client_that_breaks_off_or_stalls_ends_its_step():
    with Group(settings=("--limit", "body_grace_ms=4000")) as group:
        form = _form(_request(fetches=["sum0"], parts=["x"]), _feed("x", bytes(16 * MIB)))
        broken = group.open(len(form))
        broken.sendall(form[:8 * MIB])
        await_that(lambda: group.steps_running() == 1, "a step")
        group.small()
        broken.close()
        await_that(lambda: group.steps_running() == 0, "no step")
        stalled = group.open(len(form))
        stalled.sendall(form[:8 * MIB])
        await_that(lambda: group.steps_running() == 1, "a step")
        _expect(_reply(stalled), 408, "")
        stalled.close()
        await_that(lambda: group.steps_running() == 0, "no step")


@contextmanager
def _asleep(programs):
    """Programs that do nothing meanwhile, as on a machine that is busy with others."""
    for program in programs:
        os.kill(program.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for program in programs:
            os.kill(program.pid, signal.SIGCONT)


def _is_read(connection):
    """Whether the gateway has read all that was sent."""
    port = f":{connection.getsockname()[1]:04X}"
    with open("/proc/net/tcp", encoding="ascii") as sockets:
        ends = [line.split() for line in sockets if port in line]
    return all(queues == "00000000:00000000" for _, _, _, _, queues, *_ in ends)


def _form_whose_end_waits():
    """A large feed, which ends in the middle of a word of 8 bytes, a small one that a worker asleep cannot take, and one
    behind it, which waits. The small one ends within the last bytes."""
    feeds = (_feed("x", bytes(5 * MIB + 4)), _feed("y", bytes(3 * MIB)), _feed("z", bytes(LAST - 8192)))
    return _form(_request(fetches=["both"], parts=["x", "y", "z"]), *feeds)


def a_form_whose_workers_are_slow_at_its_end_is_one_step():
    with Group() as group:
        form = _form_whose_end_waits()
        connection = group.open(len(form))
        connection.sendall(form[:-LAST])
        await_that(lambda: _is_read(connection), "all that was sent")
        with _asleep(group.cluster.workers):
            connection.sendall(form[-LAST:])
            time.sleep(0.2)  # the gateway waits by then, or else this tests less
        _expect(_reply(connection), 200, "")
        connection.close()


def a_client_that_hangs_up_while_workers_are_slow_ends_its_step():
    with Group() as group:
        form = _form_whose_end_waits()
        for count, is_before in enumerate((False, True)):
            connection = group.open(len(form))
            connection.sendall(form[:-LAST])
            await_that(lambda: group.steps_running() == 1 and _is_read(connection), "all that was sent")
            with _asleep(group.cluster.workers):
                with _asleep([group.cluster.gateway] if is_before else []):
                    connection.sendall(form[-LAST:])
                    time.sleep(0 if is_before else 0.2)  # the gateway waits by then, or else this tests less
                    connection.close()
                await_that(lambda: group.steps_running() == 0, "no step")
            assert group.steps_cancelled() == count + 1, group.steps_cancelled()
            group.small()


def a_feed_whose_worker_is_lost_is_asked_for_again():
    with Group(threads=(2,), settings=("--limit", "body_grace_ms=600000")) as group:
        form = _form(_request(fetches=["same"], parts=["x"]), _feed("x", bytes(16 * MIB)))
        connection = group.open(len(form))
        connection.sendall(form[:8 * MIB])
        await_that(lambda: group.steps_running() == 1, "a step")
        group.cluster.kill_workers()
        _expect(_reply(connection), 503, "send the request again")
        connection.close()


def senders_at_rest_cost_others_nothing():
    """Many forms that stop in the middle of a feed, beside small steps: none of them holds a slot of the pool."""
    with Group(settings=("--limit", "body_grace_ms=600000")) as group:
        form = _form(_request(fetches=["sum0"], parts=["x"]), _feed("x", bytes(16 * MIB)))
        with Peak(group.cluster.gateway.pid) as peak:
            resting = [group.open(len(form)) for _ in range(16)]
            for connection in resting:
                connection.sendall(form[:6 * MIB])
            await_that(lambda: group.steps_running() == len(resting), "all steps")
            for _ in range(20):
                group.small()
        assert peak.grown_mib() < GROWTH_MIB, f"the gateway has grown by {peak.grown_mib():.0f} MiB"
        threads = [threading.Thread(target=connection.sendall, args=(form[6 * MIB:],)) for connection in resting]
        for thread in threads:
            thread.start()
        for thread, connection in zip(threads, resting):
            thread.join()
            _expect(_reply(connection), 200, "")
            connection.close()


if __name__ == "__main__":
    run_group([
        large_feeds_reach_their_workers_as_they_were_sent,
        feeds_in_any_order_and_of_any_size_are_one_step,
        the_gateway_never_has_a_large_feed_whole,
        what_is_wrong_with_a_large_feed_is_said,
        a_client_that_breaks_off_or_stalls_ends_its_step,
        a_form_whose_workers_are_slow_at_its_end_is_one_step,
        a_client_that_hangs_up_while_workers_are_slow_ends_its_step,
        a_feed_whose_worker_is_lost_is_asked_for_again,
        senders_at_rest_cost_others_nothing,
    ])
