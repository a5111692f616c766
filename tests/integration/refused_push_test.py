#!/usr/bin/env python3
"""Values that one worker sends to another, which refuses them when the sender's part of the step has long been computed: the step
fails with the receiver's words, and waits for nothing."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from graph_builder import GraphBuilder, Type  # noqa: E402

TAKEN_MAX = 4096  # bytes of a tensor that the far worker takes
TIMEOUT_MS = 60000  # a step that waits for its deadline says so


class Pool:
    """`with Pool() as pool:` a gateway and two workers, of which the far one takes small tensors only."""

    def __init__(self):
        self._database = sluice.Database()
        self._programs = []

    def __enter__(self):
        self._database.__enter__()
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for program in reversed(self._programs):
            program.stop()
        self._database.__exit__()

    def _start(self):
        for settings in ((), ("--tensor-size-max", str(TAKEN_MAX))):
            self._programs.append(sluice.Program("sluice-worker", "--listen", "127.0.0.1:0", *settings))
        self.far_address = self._programs[1].address
        addresses = ",".join(worker.address for worker in self._programs)
        self._programs.append(sluice.Program("sluice-gateway", "--listen", "127.0.0.1:0", "--auth", "off", "--database",
                                             f"dbname={self._database.name}", "--workers", addresses))
        self.client = sluice.Client(self._programs[-1].address)
        await_that(lambda: sorted(self._tasks().values()) == [0, 1], "both workers serve")
        tasks = self._tasks()
        self.near, self.far = (f"/job:worker/task:{tasks[worker.address]}" for worker in self._programs[:2])

    def _tasks(self):
        return {worker["address"]: worker["task"] for worker in self.client.send("GET", "/workers")["workers"]}

    def session_that_sends(self, count):
        """A session whose near worker makes so many floats of a small feed, and sends them to the far one."""
        graph = GraphBuilder()
        x = graph.placeholder("x", "float32", [])
        size = graph.constant("int32", [1], [count])
        made = graph.add("Fill", size, x, device=self.near, T=Type("float32"), index_type=Type("int32"))
        here = graph.constant("int32", [1], [0])
        graph.add("Sum", made, here, name="sum", device=self.far, T=Type("float32"), Tidx=Type("int32"))
        session = self.client.session(slots=2, placement="spread", passes_off=["*"])
        self.client.graph(session, graph.document())
        return session


def a_value_that_its_receiver_refuses_ends_the_step_in_the_receivers_words():
    with Pool() as pool:
        request = {"feeds": {"x": 1}, "fetches": ["sum"], "options": {"timeout_ms": TIMEOUT_MS}}
        step = pool.client.step(pool.session_that_sends(TAKEN_MAX // 4), request)
        assert step["outputs"]["sum"]["data"] == [TAKEN_MAX / 4], step
        session = pool.session_that_sends(TAKEN_MAX)
        try:
            pool.client.step(session, request)
        except sluice.Refused as refused:
            print(refused)
            assert refused.code == "RESOURCE_EXHAUSTED" and f" at {pool.far_address}: " in refused.detail, refused
        else:
            raise AssertionError("the far worker takes what is too large")


if __name__ == "__main__":
    run_group([a_value_that_its_receiver_refuses_ends_the_step_in_the_receivers_words])
