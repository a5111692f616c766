#!/usr/bin/env python3
"""Values that one worker sends to another, which refuses them when the sender's part of the step has long been computed: the step
fails with the receiver's words, and waits for nothing."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from graph_builder import GraphBuilder, Type  # noqa: E402

TAKEN_MAX = 4096  # bytes of a tensor that the far worker takes
TIMEOUT_MS = 60000  # a step that waits for its deadline says so


class Pool(sluice.Cluster):
    """`with Pool() as pool:` a gateway and two workers, of which the far one takes small tensors only."""

    def __enter__(self):
        super().__enter__()
        self.user = self.client()
        tasks = {worker["address"]: worker["task"] for worker in self.user.send("GET", "/workers")["workers"]}
        self.far_address = self.workers[1].address
        self.near, self.far = (f"/job:worker/task:{tasks[worker.address]}" for worker in self.workers)
        return self

    def settings_of(self, index):
        return ("--tensor-size-max", str(TAKEN_MAX)) if index == 1 else ()

    def session_that_sends(self, count):
        """A session whose near worker makes so many floats of a small feed, and sends them to the far one."""
        graph = GraphBuilder()
        x = graph.placeholder("x", "float32", [])
        size = graph.constant("int32", [1], [count])
        made = graph.add("Fill", size, x, device=self.near, T=Type("float32"), index_type=Type("int32"))
        here = graph.constant("int32", [1], [0])
        graph.add("Sum", made, here, name="sum", device=self.far, T=Type("float32"), Tidx=Type("int32"))
        session = self.user.session(slots=2, placement="spread", passes_off=["*"])
        self.user.graph(session, graph.document())
        return session


def a_value_that_its_receiver_refuses_ends_the_step_in_the_receivers_words():
    with Pool() as pool:
        request = {"feeds": {"x": 1}, "fetches": ["sum"], "options": {"timeout_ms": TIMEOUT_MS}}
        step = pool.user.step(pool.session_that_sends(TAKEN_MAX // 4), request)
        assert step["outputs"]["sum"]["data"] == [TAKEN_MAX / 4], step
        session = pool.session_that_sends(TAKEN_MAX)
        try:
            pool.user.step(session, request)
        except sluice.Refused as refused:
            print(refused)
            assert refused.code == "RESOURCE_EXHAUSTED" and f" at {pool.far_address}: " in refused.detail, refused
        else:
            raise AssertionError("the far worker takes what is too large")


if __name__ == "__main__":
    run_group([a_value_that_its_receiver_refuses_ends_the_step_in_the_receivers_words])
