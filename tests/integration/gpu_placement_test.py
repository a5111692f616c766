#!/usr/bin/env python3
"""Steps in a pool of which only some workers have a GPU: real gateways and workers, the GPU is the test device
(tests/support/test_device.h)."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)
from gpu_pool import TEST_DEVICE, Host, compile_on, pool, refusal  # noqa: E402
from graph_builder import GraphBuilder, Shape, Type  # noqa: E402

WITHOUT = Host()
WITH = Host(TEST_DEVICE)
FLOAT = {"T": {"type": "DT_FLOAT"}}
GRAPH = {"node": [
    {"name": "x", "op": "Placeholder", "attr": {"dtype": {"type": "DT_FLOAT"}, "shape": {"shape": {"dim": [{"size": "2"}]}}}},
    {"name": "there", "op": "Neg", "input": ["x"], "attr": FLOAT, "device": "/job:worker/device:GPU:0"},
    {"name": "anywhere", "op": "Neg", "input": ["x"], "attr": FLOAT}]}
THERE = {"feeds": {"x": [1, 2]}, "fetches": ["there"]}
ANYWHERE = {"feeds": {"x": [1, 2]}, "fetches": ["anywhere"]}


def what_asks_for_a_gpu_goes_to_the_worker_that_has_one():
    with pool(WITHOUT, WITH, WITHOUT) as (_, client):
        for _ in range(3):
            session = client.session()
            graph = client.graph(session, GRAPH)
            assert compile_on(client, session, graph, THERE) == ["w1"]
            assert compile_on(client, session, graph, ANYWHERE) in (["w0"], ["w2"])  # it leaves the GPU to others
            output = client.step(session, THERE)["outputs"]["there"]
            assert output["data"] == [-1, -2], output


def a_gpu_that_no_worker_has_is_refused_unless_placement_is_soft():
    with pool(WITHOUT) as (_, client):
        session = client.session()
        client.graph(session, GRAPH)
        refused = refusal(client, session, THERE)
        assert refused.status == 400 and refused.code == "FAILED_PRECONDITION", refused
        assert "node 'there' asks for a GPU, and no worker has one (worker 'w0': " in refused.detail, refused
        assert client.step(session, ANYWHERE)["outputs"]["anywhere"]["data"] == [-1, -2]
        soft = client.session(soft_placement=True)
        client.graph(soft, GRAPH)
        assert client.step(soft, THERE)["outputs"]["there"]["data"] == [-1, -2]


def a_plan_says_what_it_needs_and_who_has_registered_it():
    with pool(WITHOUT, WITH) as (_, client):
        session = client.session()
        graph = client.graph(session, GRAPH)
        plan = client.plan(session, graph, THERE)
        assert plan["slots"][0]["gpu"] == "needed" and plan["slots"][0]["device_type"] == "GPU", plan["slots"]
        assert plan["registrations"] == [{"slot": 0, "state": "not registered yet"}], plan["registrations"]
        assert {"node": "there", "device": "/device:GPU:0"}.items() <= plan["nodes"][-1].items(), plan["nodes"]
        client.step(session, THERE)
        registration = client.plan(session, graph, THERE)["registrations"][0]
        assert registration["state"] == "registered" and registration["worker"] == "w1", registration
        assert registration["copies"] == 2 and len(registration["copied"]) == 2, registration  # of x, and of the result
        groups = client.plan(session, graph, THERE)["assignments"]
        assert {"slot": 0, "device": "/device:GPU:0", "count": 1, "nodes": ["there"]} in groups, groups


def a_worker_with_a_gpu_that_dies_leaves_nobody_who_could():
    with pool(WITHOUT, WITH) as (cluster, client):
        session = client.session()
        client.graph(session, GRAPH)
        cluster.workers[1].kill()
        refused = refusal(client, session, THERE)
        assert refused.status == 503 and refused.code == "UNAVAILABLE", refused
        assert client.step(session, ANYWHERE)["outputs"]["anywhere"]["data"] == [-1, -2]


def _loop(card, host):
    """Doubles x while it is below 100, and multiplies by a variable: the sums on one device, the rest on the other."""
    graph = GraphBuilder()
    kind = Type("float32")
    graph.placeholder("x", "float32", [])
    variable = graph.add("VarHandleOp", dtype=kind, shape=Shape([]))
    graph.add("AssignVariableOp", variable, "x", name="set", dtype=kind)
    factor = graph.add("ReadVariableOp", variable, dtype=kind)
    first = graph.add("Enter", "x", T=kind, frame_name="frame", is_constant=False, parallel_iterations=10)
    merged = graph.add("Merge", first, T=kind, N=2)
    limit = graph.constant("float32", [], [100.0], control=[merged])
    goes_on = graph.add("LoopCond", graph.add("Less", merged, limit, T=kind, device=host))
    switch = graph.add("Switch", merged, goes_on, T=kind)
    doubled = graph.add("Add", f"{switch}:1", f"{switch}:1", T=kind, device=card)
    graph.add_input(merged, graph.add("NextIteration", doubled, T=kind))
    last = graph.add("Exit", switch, T=kind)
    graph.add("Neg", graph.add("Mul", last, factor, T=kind, device=host), name="y", T=kind, device=card)
    return graph.document()


def a_loop_goes_on_between_a_card_and_another_worker():
    with pool(WITHOUT, WITH) as (_, client):
        tasks = {worker["name"]: worker["task"] for worker in client.send("GET", "/workers")["workers"]}
        session = client.session()
        client.graph(session, _loop(f"/job:worker/task:{tasks['w1']}/device:GPU:0", f"/job:worker/task:{tasks['w0']}/device:CPU:0"))
        client.step(session, {"feeds": {"x": 3}, "targets": ["set"]})
        step = client.step(session, {"feeds": {"x": 5}, "fetches": ["y"]})
        assert step["outputs"]["y"]["data"] == [-3 * 160], step
        assert {partition["task"] for partition in step["partitions"]} == set(tasks.values()), step


def devices_that_cannot_be_are_refused_in_words():
    with pool(WITHOUT, WITH) as (_, client):
        tasks = {worker["name"]: worker["task"] for worker in client.send("GET", "/workers")["workers"]}
        for device, code, detail in (
                ("/device:GPU:7", "INVALID_ARGUMENT",
                 "node 'Add' asks for device '/device:GPU:7', but the only GPU of a worker is '/device:GPU:0'"),
                ("/device:TPU:0", "INVALID_ARGUMENT",
                 "node 'Add' asks for device '/device:TPU:0', but workers have devices of type 'CPU' and 'GPU' only"),
                (f"/job:worker/task:{tasks['w0']}/device:GPU:0", "FAILED_PRECONDITION",
                 "node 'Add' asks for a GPU, and worker 'w0', where it must run, has none in service: switched off: cuda=off"),
                ("/job:worker/task:9/device:GPU:0", "UNAVAILABLE", "slot 0 asks for task 9, and no serving worker has it")):
            session = client.session()
            client.graph(session, _loop(device, ""))
            refused = refusal(client, session, {"feeds": {"x": 5}, "fetches": ["Exit"]})
            assert (refused.code, refused.detail) == (code, detail), refused


if __name__ == "__main__":
    run_group([what_asks_for_a_gpu_goes_to_the_worker_that_has_one,
               a_gpu_that_no_worker_has_is_refused_unless_placement_is_soft,
               a_plan_says_what_it_needs_and_who_has_registered_it,
               a_worker_with_a_gpu_that_dies_leaves_nobody_who_could,
               a_loop_goes_on_between_a_card_and_another_worker,
               devices_that_cannot_be_are_refused_in_words])
