#!/usr/bin/env python3
"""Defects of TensorFlow's distributed runtime that Sluice, which has its semantics, must not have: those of
docs/tensorflow_defects.md that show over REST and have no test elsewhere."""

import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from graph_builder import GraphBuilder, Type  # noqa: E402

FLOAT = Type("float32")
LONG_LOOP_TURNS = 2_000_000_000
PATIENCE_SECONDS = 60  # far below the deadline of a step


def _refusal(function, *arguments):
    try:
        function(*arguments)
    except sluice.Refused as refused:
        return refused
    raise AssertionError("was not refused")


def _seconds(function, *arguments):
    started = time.monotonic()
    function(*arguments)
    return time.monotonic() - started


def _double():
    graph = GraphBuilder()
    x = graph.placeholder("x", "float32", [])
    graph.add("Add", x, x, name="y", T=FLOAT)
    return graph


def _endless():
    """A loop that counts to two thousand million."""
    graph = GraphBuilder()
    frame = {"frame_name": "loop", "T": Type("int32")}
    zero, one, limit = (graph.constant("int32", [], [value]) for value in (0, 1, LONG_LOOP_TURNS))
    merge = graph.add("Merge", graph.add("Enter", zero, **frame), name="count", T=Type("int32"), N=2)
    inside = {"is_constant": True, **frame}
    less = graph.add("Less", merge, graph.add("Enter", limit, **inside), T=Type("int32"))
    switch = graph.add("Switch", merge, graph.add("LoopCond", less), name="switch", T=Type("int32"))
    added = graph.add("Add", f"{switch}:1", graph.add("Enter", one, **inside), T=Type("int32"))
    graph.add_input(merge, graph.add("NextIteration", added, T=Type("int32")))
    graph.add("Exit", switch, name="y", T=Type("int32"))
    return graph


def _begin_endless_step(cluster, session):
    """Sends the step and returns once a worker runs it: the thread that waits for its end, and the list its refusal goes to."""
    refusals = []

    def run():
        client = cluster.client()
        refusals.append(_refusal(client.step, session, {"fetches": ["y"], "options": {"record": "durable"}}))
        client.close()

    waiting = threading.Thread(target=run, daemon=True)
    waiting.start()
    client = cluster.client()
    until = time.monotonic() + PATIENCE_SECONDS
    while _running_step(client, session) is None:
        assert time.monotonic() < until, refusals
        time.sleep(0.01)
    client.close()
    return waiting, refusals


def _running_step(client, session):
    steps = client.send("GET", f"/sessions/{session}/steps?state=running")["steps"]
    return steps[0]["id"] if steps else None


def a_session_is_made_at_once_while_no_worker_is_there():
    with sluice.Cluster() as cluster:
        client = cluster.client()
        cluster.kill_workers()
        assert _seconds(client.session) < PATIENCE_SECONDS
        session = client.session()
        client.graph(session, _double().document())
        refused = _refusal(client.step, session, {"feeds": {"x": 1}, "fetches": ["y"]})
        assert refused.status == 503 and refused.code == "UNAVAILABLE", refused


def a_deleted_session_ends_its_running_step_in_bounded_time():
    with sluice.Cluster() as cluster:
        client = cluster.client()
        session = client.session()
        client.graph(session, _endless().document())
        waiting, refusals = _begin_endless_step(cluster, session)
        assert _seconds(client.send, "DELETE", f"/sessions/{session}") < PATIENCE_SECONDS
        waiting.join(PATIENCE_SECONDS)
        assert not waiting.is_alive(), "the step goes on"
        assert refusals[0].detail == "its session has been deleted", refusals


def _seconds_to_cancel(cluster, client, session):
    waiting, refusals = _begin_endless_step(cluster, session)
    step = _running_step(client, session)
    started = time.monotonic()
    client.send("POST", f"/sessions/{session}/steps/{step}:cancel")
    waiting.join(PATIENCE_SECONDS)
    assert not waiting.is_alive(), "the step goes on"
    assert refusals[0].detail == "cancelled on request", refusals
    return time.monotonic() - started


def a_cancelled_step_ends_at_once_and_not_after_a_second():
    """A busy machine may hold any one up: one of many at once is enough."""
    with sluice.Cluster() as cluster:
        client = cluster.client()
        session = client.session()
        client.graph(session, _endless().document())
        assert any(_seconds_to_cancel(cluster, client, session) < 0.8 for _ in range(20))


def a_feed_goes_straight_to_every_worker_that_reads_it():
    graph = GraphBuilder()
    x = graph.placeholder("x", "float32", [4])
    for task in (0, 1):
        graph.add("Neg", x, name=f"y{task}", device=f"/job:worker/task:{task}", T=FLOAT)
    with sluice.Cluster() as cluster:
        client = cluster.client()
        session = client.session(slots=2)
        plan = client.plan(session, client.graph(session, graph.document()),
                           {"feeds": {"x": {"dtype": "float32", "shape": [4]}}, "fetches": ["y0", "y1"]})
        assert len(plan["partitions"]) == 2 and plan["transfers"] == [], plan


def the_fetch_of_a_branch_not_taken_is_told_as_such():
    graph = GraphBuilder()
    x = graph.placeholder("x", "float32", [])
    which = graph.placeholder("which", "bool", [])
    switch = graph.add("Switch", x, which, name="switch", T=FLOAT)
    graph.add("Neg", f"{switch}:1", name="y", T=FLOAT)
    with sluice.Cluster() as cluster:
        client = cluster.client()
        session = client.session()
        client.graph(session, graph.document())
        refused = _refusal(client.step, session, {"feeds": {"x": 1, "which": False}, "fetches": ["y"]})
        assert refused.status == 400 and "'y'" in refused.detail and "not taken" in refused.detail, refused


def ops_that_read_or_write_files_are_refused_by_name():
    with sluice.Cluster() as cluster:
        client = cluster.client()
        for op, inputs, fetch in (("ReadFile", 1, True), ("WriteFile", 2, False), ("MatchingFiles", 1, True)):
            graph = GraphBuilder()
            names = [graph.placeholder(f"text{index}", "string", []) for index in range(inputs)]
            node = graph.add(op, *names, name="touch")
            feeds = {name: "/etc/passwd" for name in names}
            session = client.session()

            def run():
                client.graph(session, graph.document())
                client.step(session, {"feeds": feeds, "fetches": [node]} if fetch else {"feeds": feeds, "targets": [node]})

            refused = _refusal(run)
            assert refused.status == 501 and op in refused.detail, refused


def every_device_is_listed_under_its_own_task():
    with sluice.Cluster() as cluster:
        devices = cluster.client().send("GET", "/devices")["devices"]
        assert sorted(device["name"] for device in devices) == [
            f"/job:worker/replica:0/task:{task}/device:CPU:0" for task in (0, 1)], devices


if __name__ == "__main__":
    run_group([
        a_session_is_made_at_once_while_no_worker_is_there,
        a_deleted_session_ends_its_running_step_in_bounded_time,
        a_cancelled_step_ends_at_once_and_not_after_a_second,
        a_feed_goes_straight_to_every_worker_that_reads_it,
        the_fetch_of_a_branch_not_taken_is_told_as_such,
        ops_that_read_or_write_files_are_refused_by_name,
        every_device_is_listed_under_its_own_task,
    ])
