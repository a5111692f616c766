#!/usr/bin/env python3
"""TF32 is computed in for sessions that ask for it, on workers that let them: through a gateway to kernels of the test device
(tests/support/test_device.h), which counts those that were allowed to."""

import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)
from gpu_pool import TEST_DEVICE, Host, pool  # noqa: E402

GRAPH = {"node": [
    {"name": "x", "op": "Placeholder", "attr": {"dtype": {"type": "DT_FLOAT"}}},
    {"name": "y", "op": "MatMul", "input": ["x", "x"], "attr": {"T": {"type": "DT_FLOAT"}}}]}
STEP = {"feeds": {"x": {"dtype": "float32", "shape": [2, 2], "data": [1, 2, 3, 4]}}, "fetches": ["y"]}


def _multiply(client, session):
    assert client.step(session, STEP)["outputs"]["y"]["data"] == [7, 10, 15, 22]


def _count(steps, *settings):
    """Runs steps on a worker with these settings. Returns how many kernels its device computed, and was allowed TF32 in."""
    with tempfile.TemporaryDirectory() as folder:
        counts = os.path.join(folder, "counts")
        with pool(Host(TEST_DEVICE, *settings, SLUICE_TEST_DEVICE_COUNTS=counts)) as (_, client):
            steps(client)
        with open(counts, encoding="utf-8") as lines:
            counted = json.loads(lines.read())
    return counted["computed"], counted["tf32"]


def _one_session_asks(client):
    for options in ({"allow_tf32": True}, {}, {"allow_tf32": False}):
        session = client.session(**options)
        assert client.send("GET", f"/sessions/{session}")["options"] == options
        client.graph(session, GRAPH)
        _multiply(client, session)


def a_session_that_asks_gets_it_and_no_other():
    assert _count(_one_session_asks) == (3, 1)


def a_worker_that_does_not_let_it_computes_in_full():
    assert _count(_one_session_asks, "--cuda-tf32=false") == (3, 0)


def a_worker_without_a_gpu_takes_the_sessions_steps():
    with pool(Host()) as (_, client):
        _one_session_asks(client)


if __name__ == "__main__":
    run_group([a_session_that_asks_gets_it_and_no_other,
               a_worker_that_does_not_let_it_computes_in_full,
               a_worker_without_a_gpu_takes_the_sessions_steps])
