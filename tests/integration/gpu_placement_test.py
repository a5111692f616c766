#!/usr/bin/env python3
"""Steps in a pool of which only some workers have a GPU: real gateways and workers, the GPU is the test device
(tests/support/test_device.h)."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)
from gpu_pool import TEST_DEVICE, Host, compile_on, pool, refusal  # noqa: E402

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


if __name__ == "__main__":
    run_group([what_asks_for_a_gpu_goes_to_the_worker_that_has_one,
               a_gpu_that_no_worker_has_is_refused_unless_placement_is_soft,
               a_plan_says_what_it_needs_and_who_has_registered_it,
               a_worker_with_a_gpu_that_dies_leaves_nobody_who_could])
