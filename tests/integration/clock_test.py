#!/usr/bin/env python3
"""Gateways whose wall clocks are wrong: queued steps have the time that they were given, by PostgreSQL's clock."""

import contextlib
import datetime
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402

STEPS = 5
HELD_SECONDS = 2  # longer than a worker's answer may be late (DEADLINE_GRACE_MS)
GRAPH = {"node": [{"name": "x", "op": "Placeholder", "attr": {"dtype": {"type": "DT_FLOAT"}}},
                  {"name": "y", "op": "Neg", "input": ["x"], "attr": {"T": {"type": "DT_FLOAT"}}}]}
REQUEST = {"feeds": {"x": 1.0}, "fetches": ["y"], "options": {"timeout_ms": 600000}}


@contextlib.contextmanager
def _clock_ahead(seconds):
    """Programs that are started in the block see another time; sanitizers want to be loaded first, and need not."""
    library = os.path.abspath(os.path.join(os.environ.get("OUT", "build/release"), "tests/plugins/wrong_clock.so"))
    before = dict(os.environ)
    options = ":".join(filter(None, (before.get("ASAN_OPTIONS"), "verify_asan_link_order=0")))
    os.environ.update(LD_PRELOAD=library, WRONG_CLOCK_S=str(seconds), ASAN_OPTIONS=options)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _signal_workers(cluster, number):
    for worker in cluster.workers:
        os.kill(worker.pid, number)


def _expect_wrong_clock(created_at, seconds_ahead):
    """The time in a step's id is its gateway's."""
    created = datetime.datetime.fromisoformat(created_at.replace("Z", "+00:00")).timestamp()
    assert abs(created - time.time() - seconds_ahead) < abs(seconds_ahead) / 2, (created_at, "the clock of the gateway is right")


def _queued_steps_succeed(seconds_ahead):
    with contextlib.ExitStack() as stack:
        with _clock_ahead(seconds_ahead):
            cluster = stack.enter_context(sluice.Cluster())
        client = cluster.client()
        session = client.session()
        client.graph(session, GRAPH)
        _signal_workers(cluster, signal.SIGSTOP)
        steps = [client.step(session, REQUEST, prefer="respond-async")["id"] for _ in range(STEPS)]
        time.sleep(HELD_SECONDS)
        _signal_workers(cluster, signal.SIGCONT)
        for step in steps:
            await_that(lambda step=step: client.send("GET", f"/sessions/{session}/steps/{step}")["state"] not in ("queued", "leased", "running"),
                       f"step {step} has ended")
            ended = client.send("GET", f"/sessions/{session}/steps/{step}")
            assert ended["state"] == "succeeded", ended
            _expect_wrong_clock(ended["created_at"], seconds_ahead)


def steps_of_a_gateway_an_hour_ahead_do_not_expire():
    _queued_steps_succeed(3600)


def steps_of_a_gateway_two_hours_behind_do_not_expire():
    _queued_steps_succeed(-7200)


if __name__ == "__main__":
    run_group([steps_of_a_gateway_an_hour_ahead_do_not_expire, steps_of_a_gateway_two_hours_behind_do_not_expire])
