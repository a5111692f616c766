#!/usr/bin/env python3
"""Workers whose connections to each other break while a large tensor is on its way: the step asks for it again and goes on."""

import os
import socket
import struct
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from graph_builder import GraphBuilder, Type  # noqa: E402

COUNT = 2 << 20  # of int64: 16 MiB, sixteen times what may be under way on a stream
TENSOR_SIZE = 8 * COUNT
PIECE_SIZE = 1 << 16
NEAR, FAR = "/job:worker/task:0", "/job:worker/task:1"


def _close_hard(connection):
    """Closes with a reset: the other side learns of it at once."""
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # the other side was faster
    connection.close()


class Relay:
    """Stands in front of a worker. Each of the first `cuts` connections that bring more than `forwarded` bytes from the worker
    bring no more, and are cut when the worker has sent `cut_at` bytes."""

    def __init__(self, address, forwarded, cut_at, cuts):
        host, port = address.rsplit(":", 1)
        self._target = (host, int(port))
        self._forwarded, self._cut_at = forwarded, cut_at
        self._lock = threading.Lock()
        self._cuts = cuts
        self.cut_count = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            worker = socket.create_connection(self._target)
            threading.Thread(target=self._carry_requests, args=(client, worker), daemon=True).start()
            threading.Thread(target=self._carry_answers, args=(worker, client), daemon=True).start()

    @staticmethod
    def _carry_requests(client, worker):
        try:
            while piece := client.recv(PIECE_SIZE):
                worker.sendall(piece)
        except OSError:
            pass
        _close_hard(worker)

    def _is_to_be_cut(self, was_held_up):
        """Takes one of the cuts, unless the connection has one."""
        with self._lock:
            if not was_held_up:
                self._cuts -= 1
            return was_held_up or self._cuts >= 0

    def _carry_answers(self, worker, client):
        size, is_held_up = 0, False
        try:
            while piece := worker.recv(PIECE_SIZE):
                size += len(piece)
                is_held_up = size > self._forwarded and self._is_to_be_cut(is_held_up)
                if not is_held_up:
                    client.sendall(piece)
                elif size >= self._cut_at:
                    self.cut_count += 1
                    break
        except OSError:
            pass
        _close_hard(client)
        _close_hard(worker)

    def close(self):
        self._listener.close()


class RelayedCluster(sluice.Cluster):
    """A gateway and two workers that reach each worker through a relay."""

    def __init__(self, **cut):
        super().__init__(threads=(1, 1))
        self._cut = cut
        self.relays = []

    def start_workers(self):
        super().start_workers()
        for worker in self.workers:
            relay = Relay(worker.address, **self._cut)
            worker.address = relay.address
            self.relays.append(relay)

    def __exit__(self, *_):
        super().__exit__()
        for relay in self.relays:
            relay.close()

    def cut_count(self):
        return sum(relay.cut_count for relay in self.relays)


def _graph():
    """The numbers from x on, made by one worker, which cannot compute them ahead; the other one adds and compares them."""
    graph = GraphBuilder()
    x = graph.placeholder("x", "int64", [])
    end = graph.add("Add", x, graph.constant("int64", [], [COUNT]), T=Type("int64"), device=NEAR)
    numbers = graph.add("Range", x, end, graph.constant("int64", [], [1]), Tidx=Type("int64"), device=NEAR)
    axis = graph.constant("int32", [], [0])
    for name, op in (("sum", "Sum"), ("most", "Max"), ("least", "Min")):
        graph.add(op, numbers, axis, name=name, device=FAR, T=Type("int64"), Tidx=Type("int32"))
    return graph.document()


def _run(cluster):
    """A step's answer."""
    client = cluster.client()
    session = client.session()
    client.graph(session, _graph())
    step = {"feeds": {"x": 5}, "fetches": ["sum", "most", "least"], "options": {"timeout_ms": 60000}}
    return client.step(session, step)


def _memory_in_use(client):
    """The bytes in use on each worker; [] until both are known."""
    devices = client.send("GET", "/devices")["devices"]
    return [device["memory_in_use"] for device in devices] if len(devices) == 2 else []


def _assert_right(answer):
    values = {name: output["data"] for name, output in answer["outputs"].items()}
    expected = {"sum": COUNT * (COUNT - 1) // 2 + 5 * COUNT, "most": COUNT + 4, "least": 5}
    assert {name: int(value) for name, (value,) in values.items()} == expected, values


def a_tensor_whose_connection_breaks_in_its_middle_is_asked_for_again():
    with RelayedCluster(forwarded=4 << 20, cut_at=4 << 20, cuts=1) as cluster:
        answer = _run(cluster)
        assert cluster.cut_count() == 1, "the tensor did not go through the relay"
        assert answer["attempts"] == 1, answer["attempts"]
        _assert_right(answer)


def a_tensor_whose_end_was_sent_and_got_lost_is_asked_for_again():
    """The sender has written everything, so that only the receiver's word tells that it did not come."""
    with RelayedCluster(forwarded=TENSOR_SIZE - (256 << 10), cut_at=TENSOR_SIZE + 64, cuts=1) as cluster:
        answer = _run(cluster)
        assert cluster.cut_count() == 1, "the tensor did not go through the relay"
        assert answer["attempts"] == 1, answer["attempts"]
        _assert_right(answer)


def a_tensor_that_is_lost_twice_fails_its_attempt_and_no_memory_is_left_behind():
    with RelayedCluster(forwarded=4 << 20, cut_at=4 << 20, cuts=2) as cluster:
        answer = _run(cluster)
        assert cluster.cut_count() == 2, cluster.cut_count()
        assert answer["attempts"] == 2, answer["attempts"]
        _assert_right(answer)
        observer = sluice.Client(cluster.add_gateway().address)  # whose first look at the workers is behind the step
        await_that(lambda: _memory_in_use(observer) and max(_memory_in_use(observer)) < TENSOR_SIZE, "the tensors to be freed")



if __name__ == "__main__":
    run_group([
        a_tensor_whose_connection_breaks_in_its_middle_is_asked_for_again,
        a_tensor_whose_end_was_sent_and_got_lost_is_asked_for_again,
        a_tensor_that_is_lost_twice_fails_its_attempt_and_no_memory_is_left_behind,
    ])
