#!/usr/bin/env python3
"""Bodies that the gateway collects have a memory with a limit, of which each tenant has a share: a flood of large bodies that
never end costs the gateway no more than that, and other tenants nothing."""

import contextlib
import gzip
import hashlib
import http.client
import json
import os
import random
import re
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from graph_builder import GraphBuilder, Type  # noqa: E402
from process_memory import Peak  # noqa: E402

MIB = 1 << 20
MEMORY = 64 * MIB
LARGE = 7 * MIB
SENT = LARGE - 4096  # of a body that never ends
FLOOD = 100  # of its senders: 700 MiB
ROOM = 4  # for so many of them: 28 of the 32 MiB that a lone tenant gets
GROWTH_MIB = 80  # those, the other tenant's, and what is made of them and of requests that are refused
ANSWER_SECONDS = 120
FORM = "Content-Type: multipart/form-data; boundary=f0rm"
PACKED = ("Content-Type: application/json", "Content-Encoding: gzip")


def _graph():
    graph = GraphBuilder()
    zero = graph.constant("int32", [1], [0])
    x = graph.placeholder("x", "int32", [-1])
    graph.add("Sum", x, zero, name="sum", T=Type("int32"), Tidx=Type("int32"), keep_dims=False)
    return graph.document()


_SPACES = bytes(b" \n\r\t"[byte % 4] for byte in range(256))


def _request(size):
    """A step's request as JSON of this many bytes, which gzip makes four times smaller: a body may not grow to more than the
    limit inflated_ratio."""
    text = json.dumps({"feeds": {"x": [1, 2, 3]}, "fetches": ["sum"]}).encode()
    return text[:-1] + random.Random(size).randbytes(size - len(text)).translate(_SPACES) + b"}"


def _pack(body, member_size=64 * MIB):
    """The body as members that follow each other."""
    return b"".join(gzip.compress(body[at:at + member_size], 1) for at in range(0, len(body), member_size))


class Group:
    """A cluster with a greedy tenant and a modest one, each with the graph."""

    def __init__(self):
        self.cluster = sluice.Cluster(threads=(2,), settings=("--body-memory", "64MiB", "--limit", "body_grace_ms=600000"),
                                      tenants={"greedy": {}, "modest": {}})

    def __enter__(self):
        self.cluster.__enter__()
        self.paths = {}
        for tenant in ("greedy", "modest"):
            client = self.cluster.client(tenant)
            session = client.session()
            client.graph(session, _graph())
            client.close()
            self.paths[tenant] = f"/api/v1/sessions/{session}/steps"
        return self

    def __exit__(self, *reason):
        self.cluster.__exit__(*reason)

    def _head(self, tenant, *fields):
        lines = [f"POST {self.paths[tenant]} HTTP/1.1", "Host: h", f"Authorization: Bearer {self.cluster.keys[tenant]}", *fields]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def open(self, tenant, *fields):
        """A connection on which a head has been sent."""
        host, port = self.cluster.address.rsplit(":", 1)
        connection = socket.create_connection((host, int(port)), timeout=ANSWER_SECONDS)
        connection.sendall(self._head(tenant, *fields))
        return connection

    def send(self, tenant, body, *fields):
        """The answer to a request, which may be refused before its body has been read: its status, header and text."""
        connection = self.open(tenant, f"Content-Length: {len(body)}", *(fields or ["Content-Type: application/json"]))
        with connection:
            with contextlib.suppress(ConnectionError):
                connection.sendall(body)
            return _answer(connection)

    def metric(self, name):
        connection = http.client.HTTPConnection(self.cluster.address, timeout=ANSWER_SECONDS)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return int(re.search(rf"^{re.escape(name)} (\d+)", text, re.M).group(1))

    def held(self):
        return self.metric("sluice_body_memory_bytes")

    def refused(self):
        return self.metric("sluice_refused_bodies_total")

    def await_nothing_held(self):
        await_that(lambda: self.held() == 0, "all memory to be given back")


def _answer(connection):
    reply = http.client.HTTPResponse(connection)
    reply.begin()
    return reply.status, reply.headers, reply.read().decode()


def _expect_sum(answer):
    status, _, text = answer
    assert status == 200 and '"data":[6]' in text, answer


def _expect_too_large(answer):
    status, _, text = answer
    assert status == 413 and "half of its setting body-memory" in text and str(MEMORY // 2) in text, answer


def _expect_no_room(answer):
    status, headers, text = answer
    problem = json.loads(text)
    assert status == 503 and problem["code"] == "UNAVAILABLE" and problem["retryable"], answer
    assert "body-memory" in problem["detail"] and headers["Retry-After"] == "1", answer


def _expect_little_growth(peak):
    print(f"# {FLOOD} bodies of {LARGE // MIB} MiB: the gateway has grown by {peak.grown_mib():.0f} MiB")
    assert peak.grown_mib() < GROWTH_MIB, f"the gateway has grown by {peak.grown_mib():.0f} MiB"


def _is_answered(connection):
    """Whether the gateway refused the rest: behind its answer it reads no more, and the window may stay closed for a minute."""
    with contextlib.suppress(BlockingIOError):
        return bool(connection.recv(1, socket.MSG_PEEK))
    return False


class Flood:
    """Senders that send nearly all of their bodies, as far as the gateway reads them, and stop."""

    def __init__(self, group, head, chunk=b""):
        self._rest = []
        self.connections = []
        body = chunk + _request(LARGE)[:SENT]
        for _ in range(FLOOD):
            connection = group.open("greedy", "Content-Type: application/json", head)
            connection.setblocking(False)
            self.connections.append(connection)
            self._rest.append(memoryview(body))

    def send(self):
        """Sends what the sockets take, and returns how many senders have sent all."""
        for index, connection in enumerate(self.connections):
            try:
                while self._rest[index]:
                    self._rest[index] = self._rest[index][connection.send(self._rest[index]):]
            except BlockingIOError:
                if _is_answered(connection):
                    self._rest[index] = self._rest[index][:0]
            except OSError:  # refused, and closed
                self._rest[index] = self._rest[index][:0]
        return sum(not rest for rest in self._rest)

    def close(self):
        for connection in self.connections:
            connection.close()


def bodies_that_never_end_have_the_share_of_their_tenant():
    with Group() as group:
        _expect_sum(group.send("modest", _request(LARGE)))
        with Peak(group.cluster.gateway.pid) as peak:
            flood = Flood(group, f"Content-Length: {LARGE}")
            await_that(lambda: flood.send() >= ROOM and group.held() == ROOM * LARGE, "the greedy tenant's share")
            for _ in range(3):
                _expect_sum(group.send("modest", _request(LARGE)))
                _expect_sum(group.send("greedy", _request(4096)))
                await_that(lambda: group.held() == ROOM * LARGE, "no more than the share to be held")
            flood.send()
        _expect_little_growth(peak)
        assert group.refused() == 0
        flood.close()
        group.await_nothing_held()
        _expect_sum(group.send("greedy", _request(LARGE)))
        group.await_nothing_held()


def a_body_that_waited_for_room_is_taken():
    with Group() as group:
        flood = Flood(group, f"Content-Length: {LARGE}")
        await_that(lambda: flood.send() >= ROOM and group.held() == ROOM * LARGE, "the greedy tenant's share")
        waiting = group.open("greedy", "Content-Type: application/json", f"Content-Length: {LARGE}")
        flood.close()
        waiting.sendall(_request(LARGE))
        _expect_sum(_answer(waiting))
        waiting.close()
        group.await_nothing_held()


def bodies_of_unknown_size_are_refused_when_there_is_no_room():
    with Group() as group:
        with Peak(group.cluster.gateway.pid) as peak:
            flood = Flood(group, "Transfer-Encoding: chunked", f"{LARGE:x}\r\n".encode())
            await_that(lambda: flood.send() == FLOOD, "all to be sent or refused")
            await_that(lambda: group.refused() >= FLOOD // 2, "most to be refused")
            _expect_sum(group.send("modest", _request(LARGE)))
        _expect_little_growth(peak)
        flood.close()
        group.await_nothing_held()


def one_that_is_refused_is_told_why():
    with Group() as group:
        resting = [group.open("greedy", "Content-Type: application/json", f"Content-Length: {LARGE}") for _ in range(ROOM)]
        for connection in resting:
            connection.sendall(_request(LARGE)[:1])
        await_that(lambda: group.held() == ROOM * LARGE, "the greedy tenant's share")
        chunked = group.open("greedy", "Content-Type: application/json", "Transfer-Encoding: chunked")
        with contextlib.suppress(ConnectionError):
            chunked.sendall(f"{LARGE:x}\r\n".encode() + _request(LARGE)[:5 * MIB])
        _expect_no_room(_answer(chunked))
        chunked.close()
        packed = _pack(_request(6 * MIB))
        _expect_no_room(group.send("greedy", packed, *PACKED))
        _expect_sum(group.send("modest", packed, *PACKED))
        for connection in resting:
            connection.close()
        group.await_nothing_held()
        for fields in (("Content-Length: 40000000",), ("Content-Length: 40000000", "Expect: 100-continue")):
            large = group.open("modest", "Content-Type: application/json", *fields)
            large.sendall(_request(40000000)[:65536])
            _expect_too_large(_answer(large))
            large.close()
        group.await_nothing_held()


def a_chunked_body_may_have_all_that_a_tenant_gets():
    with Group() as group:
        for size, expect in ((MEMORY // 2, _expect_sum), (MEMORY // 2 + 1, _expect_too_large)):
            with group.open("greedy", "Content-Type: application/json", "Transfer-Encoding: chunked") as connection:
                with contextlib.suppress(ConnectionError):
                    connection.sendall(f"{size:x}\r\n".encode() + _request(size) + b"\r\n0\r\n\r\n")
                expect(_answer(connection))
            group.await_nothing_held()


def a_packed_body_has_memory_for_what_it_inflates_to():
    with Group() as group:
        for packed in (_pack(_request(20 * MIB)), _pack(_request(200000), 100001)):
            _expect_sum(group.send("greedy", packed, *PACKED))
        _expect_too_large(group.send("greedy", _pack(_request(40 * MIB)), *PACKED))
        group.await_nothing_held()


def _feed(size):
    text = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({size // 4},), }}"
    text += " " * (63 - (10 + len(text)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(size)


def _form(size, is_backwards=False, **members):
    request = b'name="request"\r\n\r\n' + json.dumps({"fetches": ["sum"], **members}).encode()
    parts = [request, b'name="x"\r\n\r\n' + _feed(size)]
    between = b"--f0rm\r\nContent-Disposition: form-data; "
    return b"".join(between + part + b"\r\n" for part in (reversed(parts) if is_backwards else parts)) + b"--f0rm--\r\n"


def _expect_zero(answer):
    status, _, text = answer
    assert status == 200 and '"data":[0]' in text, answer


def a_form_takes_memory_for_the_feeds_that_do_not_pass():
    with Group() as group:
        passing = _form(48 * MIB, parts=["x"])
        _expect_zero(group.send("greedy", passing, FORM))
        for field in ("Idempotency-Key: one", "Prefer: respond-async"):
            _expect_too_large(group.send("greedy", passing, FORM, field))
        _expect_too_large(group.send("greedy", _form(48 * MIB, is_backwards=True), FORM))
        _expect_zero(group.send("greedy", _form(20 * MIB, is_backwards=True), FORM))
        _expect_zero(group.send("greedy", _form(20 * MIB), FORM, "Idempotency-Key: two"))
        status, _, text = group.send("greedy", _form(20 * MIB), FORM, "Prefer: respond-async, wait=60")
        assert status == 200 and '"state":"succeeded"' in text, (status, text)
        group.await_nothing_held()


def a_feed_by_reference_takes_memory_before_it_is_read():
    with Group() as group:
        client = group.cluster.client("greedy")
        refs = []
        for size in (48 * MIB, 20 * MIB):
            file = _feed(size)
            refs.append(hashlib.sha256(file).hexdigest())
            client.send("PUT", f"/tensors/{refs[-1]}", file, "application/x-npy")
        client.close()
        large, small = (json.dumps({"feeds": {"x": {"ref": f"sha256:{ref}"}}, "fetches": ["sum"]}).encode() for ref in refs)
        with Peak(group.cluster.gateway.pid) as peak:
            _expect_too_large(group.send("greedy", large))
        assert peak.grown_mib() < 16, f"the gateway has grown by {peak.grown_mib():.0f} MiB"
        _expect_zero(group.send("greedy", small))
        resting = group.open("greedy", "Content-Type: application/json", f"Content-Length: {2 * LARGE}")
        resting.sendall(_request(LARGE)[:1])
        await_that(lambda: group.held() == 2 * LARGE, "a body that takes memory")
        _expect_no_room(group.send("greedy", small))
        resting.close()
        group.await_nothing_held()
        _expect_zero(group.send("greedy", small))
        group.await_nothing_held()


def requests_without_a_key_take_no_memory():
    with Group() as group:
        host, port = group.cluster.address.rsplit(":", 1)
        for key in ("", "Authorization: Bearer sk_nobody\r\n"):
            with socket.create_connection((host, int(port)), timeout=ANSWER_SECONDS) as connection:
                connection.sendall((f"POST {group.paths['greedy']} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n{key}"
                                    f"Content-Length: {LARGE}\r\n\r\n").encode() + _request(LARGE)[:100000])
                status, _, _ = _answer(connection)
                assert status == 401, status
                assert group.held() == 0
        assert group.refused() == 0


if __name__ == "__main__":
    run_group([globals()[name] for name in sys.argv[1:]] or [
        bodies_that_never_end_have_the_share_of_their_tenant,
        a_body_that_waited_for_room_is_taken,
        bodies_of_unknown_size_are_refused_when_there_is_no_room,
        one_that_is_refused_is_told_why,
        a_chunked_body_may_have_all_that_a_tenant_gets,
        a_packed_body_has_memory_for_what_it_inflates_to,
        a_form_takes_memory_for_the_feeds_that_do_not_pass,
        a_feed_by_reference_takes_memory_before_it_is_read,
        requests_without_a_key_take_no_memory,
    ])
