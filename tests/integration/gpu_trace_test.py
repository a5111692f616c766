#!/usr/bin/env python3
"""What a GPU did: in a traced step, kernels and copies as CUPTI tells them, also of captured work, and events around nodes where
CUPTI cannot be used; in all steps, by the worker's metrics. With CUDA's plugin on a card that the CPU plays, and a CUPTI that tells of it (tests/plugins/libcupti.c)."""

import contextlib
import os
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import Skipped, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
from gpu_pool import CUDA_ON_CPU, PLUGINS, Host, pool  # noqa: E402
from worker_page import metric  # noqa: E402

OPS = ("Neg", "Square", "Sigmoid", "Tanh", "Exp", "Neg", "Abs", "Sqrt", "Square", "Neg")
LAST = f"n{len(OPS) - 1}"
# Chains are not fused: each node is a kernel.
OPTIONS = {"passes_off": ["elementwise_fusion"]}


def _graph():
    nodes = [{"name": "x", "op": "Placeholder", "attr": {"dtype": {"type": "DT_FLOAT"}}}]
    for index, name in enumerate(OPS):
        nodes.append({"name": f"n{index}", "op": name, "input": [f"n{index - 1}" if index > 0 else "x"],
                      "attr": {"T": {"type": "DT_FLOAT"}}})
    return {"node": nodes}


@contextlib.contextmanager
def _card(*settings, **variables):
    """A function that makes clients of a pool whose worker has a card and a CUPTI, and a session with the graph."""
    if not os.path.exists(CUDA_ON_CPU):
        raise Skipped("no CUDA toolkit")
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(PLUGINS, "libcupti.so"), os.path.join(folder, "libcupti.so.13"))
        host = Host(CUDA_ON_CPU, "--cuda-libraries", folder, *settings, **variables)
        with pool(host) as (cluster, client):
            session = client.session(**OPTIONS)
            client.graph(session, _graph())
            yield cluster.client, session


def _traced_step(connect, session):
    """Returns the events of a traced step: those of the device by name of track, those of nodes by name, and the run's."""
    feeds = {"x": {"dtype": "float32", "shape": [50], "data": [0.5] * 50}}
    client = connect()
    step = client.step(session, {"feeds": feeds, "fetches": [LAST], "options": {"trace": "node"}})
    events = client.send("GET", f"/sessions/{session}/steps/{step['id']}/trace")["traceEvents"]
    tracks = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    device = [dict(event, track=tracks[event["tid"]]) for event in events if event.get("cat") == "device"]
    nodes = {event["name"]: event for event in events if event.get("cat") in ("node", "transfer")}
    run = next(event for event in events if event["name"] == "run" and event["ph"] == "X")
    return device, nodes, run


def _kernels(device):
    return [event for event in device if "blocks" in event["args"]]


def _expect_within(device, run):
    """The clocks have been put on one: what the card did lies within the run."""
    for event in device:
        assert run["ts"] <= event["ts"] and event["ts"] + event["dur"] <= run["ts"] + run["dur"], (event, run)


def a_step_tells_its_kernels_and_copies():
    with _card("--cuda-graphs", "0") as (connect, session):
        device, nodes, run = _traced_step(connect, session)
        assert run["args"]["device_source"] == "CUPTI 13.0", run
        assert run["args"]["left_out_activities"] == 0, run
        kernels = _kernels(device)
        assert {event["args"]["node"] for event in kernels} == {f"n{index}" for index in range(len(OPS))}, kernels
        for event in kernels:
            assert event["name"] == "on_cpu", event  # demangled
            assert event["args"]["op"] == OPS[int(event["args"]["node"][1:])], event
            assert event["track"].startswith("/device:GPU:0 stream "), event
            node = nodes[event["args"]["node"]]
            assert event["ts"] >= node["ts"], (event, node)  # it was enqueued before it ran
        copies = {event["track"]: event["args"]["bytes"] for event in device if event["name"].startswith("copy ")}
        assert copies["/device:GPU:0 copy in"] == 200 and copies["/device:GPU:0 copy out"] >= 200, copies
        _expect_within(device, run)


def captured_kernels_are_told_beneath_their_part():
    with _card() as (connect, session):
        for _ in range(3):
            _traced_step(connect, session)
        device, nodes, run = _traced_step(connect, session)
        assert [f"n{index}" for index in range(len(OPS)) if f"n{index}" in nodes] == ["n0"], nodes  # the part is one node
        kernels = _kernels(device)
        assert {event["args"]["node"] for event in kernels} == {"n0"}, kernels
        assert len({event["args"]["captured"] for event in kernels}) == len(OPS), kernels
        _expect_within(device, run)


def steps_at_the_same_time_have_each_their_own():
    with _card("--cuda-graphs", "0") as (connect, session):
        results = []
        threads = [threading.Thread(target=lambda: results.append(_traced_step(connect, session))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == len(threads)
        for device, _, _ in results:
            nodes = sorted(event["args"]["node"] for event in _kernels(device))
            assert nodes == sorted(f"n{index}" for index in range(len(OPS))), nodes


def lost_records_are_counted():
    with _card("--cuda-graphs", "0", STUB_CUPTI="drops") as (connect, session):
        device, _, run = _traced_step(connect, session)
        lost = run["args"]["left_out_activities"]
        assert lost > 0 and len(_kernels(device)) + lost == len(OPS), (len(_kernels(device)), lost)


def _expect_events(reason, **variables):
    with _card("--cuda-graphs", "0", **variables) as (connect, session):
        device, _, run = _traced_step(connect, session)
        assert run["args"]["device_source"] == f"events around nodes, as CUPTI cannot be used: {reason}", run
        names = {event["name"] for event in device}
        assert {f"n{index}" for index in range(len(OPS))} <= names, names
        assert {event["track"] for event in device} == {
            f"/device:GPU:0 {track}" for track in ("stream", "copy in", "copy out")}, device
        _expect_within(device, run)


def without_privileges_events_around_nodes_tell():
    _expect_events("the driver lets administrators profile only (error 35)", STUB_CUPTI="privileges")


def beside_another_profiler_events_around_nodes_tell():
    _expect_events("another profiler uses it (error 39)", STUB_CUPTI="subscribers")


def _step_counts(worker):
    """What the worker's metrics tell that grows with each step."""
    series = {"kernels": 'sluice_worker_accelerator_nodes_total{on="accelerator"}',
              "uploads": 'sluice_worker_device_copies_total{way="upload"}',
              "downloads": 'sluice_worker_device_copies_total{way="download"}',
              "uploaded bytes": 'sluice_worker_device_copy_bytes_total{way="upload"}',
              "downloaded bytes": 'sluice_worker_device_copy_bytes_total{way="download"}',
              "busy seconds": "sluice_worker_accelerator_busy_seconds_total"}
    return {name: metric(worker, one) for name, one in series.items()}


def metrics_tell_what_the_card_did_in_all_steps():
    if not os.path.exists(CUDA_ON_CPU):
        raise Skipped("no CUDA toolkit")
    with pool(Host(CUDA_ON_CPU, "--cuda-graphs", "0")) as (cluster, client):
        session = client.session(**OPTIONS)
        client.graph(session, _graph())
        worker = cluster.workers[0]
        before = _step_counts(worker)
        assert not any(before.values()), before
        for steps in (1, 2):
            begun = time.monotonic()
            client.step(session, {"feeds": {"x": {"dtype": "float32", "shape": [50], "data": [0.5] * 50}}, "fetches": [LAST]})
            seconds = time.monotonic() - begun
            counts = _step_counts(worker)
            busy = counts.pop("busy seconds") - before["busy seconds"]
            assert counts == {"kernels": steps * len(OPS), "uploads": steps, "downloads": steps,
                              "uploaded bytes": steps * 200, "downloaded bytes": steps * 200}, counts
            assert 0 < busy < seconds, (busy, seconds)
            before["busy seconds"] += busy
        assert metric(worker, 'sluice_worker_accelerator_memory_bytes{kind="peak"}') >= 200  # the feed
        assert metric(worker, 'sluice_worker_accelerator_errors_total{class="out_of_memory"}') == 0


if __name__ == "__main__":
    run_group([a_step_tells_its_kernels_and_copies, captured_kernels_are_told_beneath_their_part,
               steps_at_the_same_time_have_each_their_own, lost_records_are_counted, without_privileges_events_around_nodes_tell,
               beside_another_profiler_events_around_nodes_tell, metrics_tell_what_the_card_did_in_all_steps])
