#!/usr/bin/env python3
"""Steps whose end a worker does not hear of at once. It keeps a large tensor that another worker was fetching, and frees it long
before the step's deadline: as soon as its gateway reaches it again, or when the other worker has lost that gateway."""

import http.client
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import PATIENCE_SECONDS, await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from graph_builder import GraphBuilder, Type  # noqa: E402
from relay import Relay  # noqa: E402

COUNT = 2 << 20  # of int64: 16 MiB, sixteen times what may be under way on a stream
TENSOR_SIZE = 8 * COUNT
PASSED_SIZE = 4 << 20
DEADLINE_MS = 3_600_000  # a minute after it the worker frees the tensor by itself
NEAR, FAR = "/job:worker/task:0", "/job:worker/task:1"


class HoldingRelay(Relay):
    """In front of a worker. A connection that has brought PASSED_SIZE bytes from it brings no more."""

    def __init__(self, target):
        super().__init__(target)
        self.holds = threading.Event()  # there is such a connection
        self._was_cut = threading.Event()
        self._sizes = {}  # by connection

    def receive(self, source):
        if self._sizes.get(source, 0) >= PASSED_SIZE:
            self.holds.set()
            self._was_cut.wait()
        data = super().receive(source)
        if source.getpeername() == self._target:
            self._sizes[source] = self._sizes.get(source, 0) + len(data)
        return data

    def cut(self):
        super().cut()
        self._was_cut.set()


class RelayedCluster(sluice.Cluster):
    """A gateway and two workers that reach each worker through a relay."""

    def __init__(self):
        super().__init__(threads=(1, 1))
        self.relays = []

    def start_workers(self):
        super().start_workers()
        for worker in self.workers:
            self.relays.append(HoldingRelay(worker.address).__enter__())
            worker.address = self.relays[-1].address

    def __exit__(self, *_):
        super().__exit__()
        for relay in self.relays:
            relay.__exit__()

    def begin(self):
        """Begins a step in which the far worker fetches a tensor of the near one, which does not come to its end."""
        client = self.client()
        session = client.session()
        client.graph(session, _graph())
        step = {"feeds": {"x": 5}, "fetches": ["sum"], "options": {"timeout_ms": DEADLINE_MS}}
        self._ended = threading.Event()
        threading.Thread(target=self._run, args=(client, session, step)).start()
        await_that(lambda: any(relay.holds.is_set() for relay in self.relays), "the tensor is on its way")
        await_that(lambda: _holds_tensor(self.client()), "the gateway knows of the tensor")

    def _run(self, client, session, step):
        try:
            client.step(session, step)
        except (sluice.Refused, OSError, http.client.HTTPException) as error:
            print(f"the step ended: {error}", flush=True)
            self._ended.set()

    def await_failure(self):
        assert self._ended.wait(PATIENCE_SECONDS), "the step goes on"


def _graph():
    graph = GraphBuilder()
    x = graph.placeholder("x", "int64", [])
    end = graph.add("Add", x, graph.constant("int64", [], [COUNT]), T=Type("int64"), device=NEAR)
    numbers = graph.add("Range", x, end, graph.constant("int64", [], [1]), Tidx=Type("int64"), device=NEAR)
    axis = graph.constant("int32", [], [0])
    graph.add("Sum", numbers, axis, name="sum", device=FAR, T=Type("int64"), Tidx=Type("int32"))
    return graph.document()


def _holds_tensor(client):
    """Whether a worker has a tensor of that size in its memory; None while one of them is out of sight."""
    serving = [worker for worker in client.send("GET", "/workers")["workers"] if worker["state"] == "serving"]
    devices = client.send("GET", "/devices")["devices"]
    client.close()
    return any(device["memory_in_use"] >= TENSOR_SIZE for device in devices) if len(serving) == 2 else None


def a_worker_that_was_out_of_reach_when_the_step_ended_is_told_again():
    with RelayedCluster() as cluster:
        cluster.begin()
        [near] = [relay for relay in cluster.relays if relay.holds.is_set()]
        near.cut()
        cluster.await_failure()
        near.mend()
        await_that(lambda: _holds_tensor(cluster.client()) is False, "the tensor to be freed")


def a_worker_that_has_lost_its_gateway_tells_the_others_that_the_step_is_over():
    with RelayedCluster() as cluster:
        cluster.begin()
        cluster.gateway.kill()
        cluster.await_failure()
        gateway = cluster.add_gateway()
        await_that(lambda: _holds_tensor(sluice.Client(gateway.address)) is False, "the tensor to be freed")


if __name__ == "__main__":
    run_group([
        a_worker_that_was_out_of_reach_when_the_step_ended_is_told_again,
        a_worker_that_has_lost_its_gateway_tells_the_others_that_the_step_is_over,
    ])
