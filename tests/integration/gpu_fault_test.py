#!/usr/bin/env python3
"""A card that breaks while it computes: its worker takes it out of service, ends what runs on the CPU, and ends with status 75;
pure steps go to another worker. With the test device (tests/support/test_device.h), and with CUDA's plugin on a card that the
CPU plays and that a kernel breaks by an illegal address."""

import contextlib
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import Skipped, await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
from gpu_pool import CUDA_ON_CPU, TEST_DEVICE, Host, compile_on, pool, refusal  # noqa: E402
from worker_page import metric  # noqa: E402

WAIT_SECONDS = 60
RESTART = 75  # EX_TEMPFAIL of sysexits.h: a supervisor starts the program again
ILLEGAL_ADDRESS = "an illegal "  # "… address was accessed" or "… memory access was encountered"
GPU, CPU = "/device:GPU:0", "/device:CPU:0"
FLOAT = {"T": {"type": "DT_FLOAT"}}
DTYPE = {"dtype": {"type": "DT_FLOAT"}}
SCALAR = {"shape": {"shape": {}}}


def _node(name, op, inputs=(), attr=None, device=""):
    return {"name": name, "op": op, "input": list(inputs), "attr": attr or {}, "device": device}


def _feed(name):
    return _node(name, "Placeholder", attr={**DTYPE, **SCALAR})


PURE = {"node": [_feed("x"), _node("negative", "Neg", ["x"], FLOAT, GPU)]}
PURE_STEP = {"feeds": {"x": 2}, "fetches": ["negative"]}

# A counter; what is added to it passes the card or not. The sums on the CPU read it, so that they run where it is.
COUNTER = {"node": [
    _feed("x"), _feed("a"), _feed("c"),
    _node("counter", "VarHandleOp", attr={**DTYPE, **SCALAR}),
    _node("start", "AssignVariableOp", ["counter", "x"], DTYPE),
    _node("value", "ReadVariableOp", ["counter"], DTYPE),
    _node("there", "Neg", ["x"], FLOAT, GPU),
    _node("add", "AssignAddVariableOp", ["counter", "there"], DTYPE),
    _node("b", "Add", ["a", "value"], FLOAT, CPU),
    _node("d", "Add", ["c", "value"], FLOAT, CPU)]}
START = {"feeds": {"x": 5}, "targets": ["start"]}
ADD = {"feeds": {"x": 2}, "targets": ["add"]}
READ = {"feeds": {"a": 1}, "fetches": ["b"]}


@contextlib.contextmanager
def breakable(plugin):
    """Two workers with a card, a client, and the file that breaks the card of w0 in its next kernel."""
    if not os.path.exists(plugin):
        raise Skipped("no CUDA toolkit")
    with tempfile.TemporaryDirectory() as folder:
        fault = os.path.join(folder, "fault")
        variables = {"SLUICE_TEST_DEVICE_FAULT": fault, "CUDA_ON_CPU_FAULT": fault}
        grace = ("--grace", f"{WAIT_SECONDS}s")
        with pool(Host(plugin, *grace, **variables), Host(plugin, *grace)) as (cluster, client):
            yield cluster, client, pathlib.Path(fault)


def _session_on(client, worker):
    """A session whose counter is kept by this worker, with the counter's graph; the counter is 5."""
    for _ in range(20):
        session = client.session()
        graph = client.graph(session, COUNTER)
        client.step(session, START)
        if compile_on(client, session, graph, READ) == [worker]:
            return session, graph
        client.send("DELETE", f"/sessions/{session}")
    raise AssertionError(f"none of 20 sessions has its counter on {worker}")


def _begin_sums(client, session, graph):
    """The path of a partial run, of whose two sums on the CPU the second is still to come."""
    path = f"/sessions/{session}/partial-runs"
    run = client.send("POST", path, {"graph": graph, "feeds": ["a", "c"], "fetches": ["b", "d"]})["id"]
    first = client.send("POST", f"{path}/{run}:continue", {"feeds": {"a": 1}, "fetches": ["b"]})
    assert first["outputs"]["b"]["data"] == [6], first
    return f"{path}/{run}"


def _end_sums(client, path):
    last = client.send("POST", f"{path}:continue", {"feeds": {"c": 2}, "fetches": ["d"]})
    assert last["outputs"]["d"]["data"] == [7], last


def _worker(client, name):
    return next(worker for worker in client.send("GET", "/workers")["workers"] if worker["name"] == name)


def _card(client, worker):
    return next(device for device in client.send("GET", "/devices")["devices"]
                if device["type"] == "GPU" and device["worker"] == worker)


def _run_pure(client):
    session = client.session()
    client.graph(session, PURE)
    assert client.step(session, PURE_STEP)["outputs"]["negative"]["data"] == [-2]
    client.send("DELETE", f"/sessions/{session}")


def _expect_out_of_service(client):
    card = await_that(lambda: not _card(client, "w0")["in_service"] and _card(client, "w0"), "the card is out of service")
    assert ILLEGAL_ADDRESS in card["fault"], card
    assert _card(client, "w1")["in_service"] is True


def _expect_pure_steps_go_elsewhere(plugin):
    with breakable(plugin) as (cluster, client, fault):
        session, graph = _session_on(client, "w0")
        sums = _begin_sums(client, session, graph)
        others = [_begin_sums(client, *_session_on(client, "w1")) for _ in range(2)]  # so that w0 has less to do
        fault.touch()
        await_that(lambda: _run_pure(client) or _worker(client, "w0")["state"] == "draining", "a step breaks the card of w0")
        _expect_out_of_service(client)
        fault.unlink()
        _run_pure(client)
        refused = refusal(client, session, ADD)
        assert (refused.status, refused.code) == (503, "UNAVAILABLE") and "'w0'" in refused.detail, refused
        assert cluster.workers[0].is_running()  # a run on its CPU is under way
        assert metric(cluster.workers[0], "sluice_worker_accelerator_in_service") == 0
        assert metric(cluster.workers[0], 'sluice_worker_accelerator_errors_total{class="broken"}') == 1
        _end_sums(client, sums)
        assert cluster.workers[0].end_code(WAIT_SECONDS) == RESTART
        cluster.restart(0)
        await_that(lambda: _worker(client, "w0")["state"] == "serving" and _card(client, "w0")["in_service"], "w0 serves again")
        for path in others:
            _end_sums(client, path)
        cluster.workers[1].kill()
        await_that(lambda: _worker(client, "w1")["state"] != "serving", "w1 is gone")
        _run_pure(client)


def _expect_other_steps_fail_in_words(plugin):
    with breakable(plugin) as (cluster, client, fault):
        session, _ = _session_on(client, "w0")
        client.step(session, ADD)
        assert client.step(session, READ)["outputs"]["b"]["data"] == [4]
        fault.touch()
        refused = refusal(client, session, ADD)
        assert (refused.status, refused.code) == (503, "UNAVAILABLE"), refused
        for words in ("out of service", ILLEGAL_ADDRESS):
            assert words in refused.detail, refused
        assert cluster.workers[0].end_code(WAIT_SECONDS) == RESTART
        _run_pure(client)


def pure_steps_go_elsewhere_when_the_test_device_breaks():
    _expect_pure_steps_go_elsewhere(TEST_DEVICE)


def pure_steps_go_elsewhere_when_a_card_breaks():
    _expect_pure_steps_go_elsewhere(CUDA_ON_CPU)


def a_step_with_state_fails_in_words_when_the_test_device_breaks():
    _expect_other_steps_fail_in_words(TEST_DEVICE)


def a_step_with_state_fails_in_words_when_a_card_breaks():
    _expect_other_steps_fail_in_words(CUDA_ON_CPU)


if __name__ == "__main__":
    run_group([pure_steps_go_elsewhere_when_the_test_device_breaks, pure_steps_go_elsewhere_when_a_card_breaks,
               a_step_with_state_fails_in_words_when_the_test_device_breaks, a_step_with_state_fails_in_words_when_a_card_breaks])
