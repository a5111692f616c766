#!/usr/bin/env python3
"""Gateways whose wall clocks are wrong, or jump: queued steps have the time that they were given, by PostgreSQL's clock."""

import contextlib
import datetime
import os
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402

STEPS = 5
HELD_SECONDS = 2  # longer than a worker's answer may be late (DEADLINE_GRACE_MS)
CLOCK_SECONDS = 1200  # clocks that differ by less are alike
GRAPH = {"node": [{"name": "x", "op": "Placeholder", "attr": {"dtype": {"type": "DT_FLOAT"}}},
                  {"name": "y", "op": "Neg", "input": ["x"], "attr": {"T": {"type": "DT_FLOAT"}}}]}
REQUEST = {"feeds": {"x": 1.0}, "fetches": ["y"], "options": {"timeout_ms": 600000}}


@contextlib.contextmanager
def _clock_ahead(seconds, jump_file=None):
    """Programs that are started in the block see another time, with `jump_file` once it is there; sanitizers want to be loaded
    first, and need not."""
    library = os.path.abspath(os.path.join(os.environ.get("OUT", "build/release"), "tests/plugins/wrong_clock.so"))
    before = dict(os.environ)
    options = ":".join(filter(None, (before.get("ASAN_OPTIONS"), "verify_asan_link_order=0")))
    os.environ.update(LD_PRELOAD=library, WRONG_CLOCK_S=str(seconds), ASAN_OPTIONS=options,
                      **({"WRONG_CLOCK_FILE": jump_file} if jump_file else {}))
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
    assert abs(created - time.time() - seconds_ahead) < CLOCK_SECONDS, (created_at, "is not the time that the gateway was to have")


def _get(client, session, step):
    return client.send("GET", f"/sessions/{session}/steps/{step}")


def _make_file(path):
    with open(path, "w", encoding="ascii"):
        pass


def _queued_steps_succeed(seconds_ahead, jumps=False):
    """Steps that are queued while the workers stand still succeed. With `jumps` the clocks are right until the steps are queued, and
    jump before the workers go on."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        jump_file = os.path.join(folder, "jump") if jumps else None
        with _clock_ahead(seconds_ahead, jump_file):
            cluster = stack.enter_context(sluice.Cluster())
        client = cluster.client()
        session = client.session()
        client.graph(session, GRAPH)
        _signal_workers(cluster, signal.SIGSTOP)
        steps = [client.step(session, REQUEST, prefer="respond-async")["id"] for _ in range(STEPS)]
        if jumps:
            _make_file(jump_file)
            _expect_wrong_clock(_get(client, session, client.step(session, REQUEST, prefer="respond-async")["id"])["created_at"], seconds_ahead)
        time.sleep(HELD_SECONDS)
        _signal_workers(cluster, signal.SIGCONT)
        for step in steps:
            await_that(lambda step=step: _get(client, session, step)["state"] not in ("queued", "leased", "running"), f"step {step} has ended")
            ended = _get(client, session, step)
            assert ended["state"] == "succeeded", ended
            _expect_wrong_clock(ended["created_at"], 0 if jumps else seconds_ahead)


def steps_of_a_gateway_an_hour_ahead_do_not_expire():
    _queued_steps_succeed(3600)


def steps_of_a_gateway_two_hours_behind_do_not_expire():
    _queued_steps_succeed(-7200)


def steps_outlast_a_jump_of_the_clock_by_an_hour():
    _queued_steps_succeed(3600, jumps=True)


def steps_outlast_a_jump_of_the_clock_back_by_two_hours():
    _queued_steps_succeed(-7200, jumps=True)


if __name__ == "__main__":
    run_group([steps_of_a_gateway_an_hour_ahead_do_not_expire, steps_of_a_gateway_two_hours_behind_do_not_expire,
               steps_outlast_a_jump_of_the_clock_by_an_hour, steps_outlast_a_jump_of_the_clock_back_by_two_hours])
