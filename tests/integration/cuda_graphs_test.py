#!/usr/bin/env python3
"""Random graphs with loops, branches, functions, lists and variables on CUDA's plugin, whose card is the CPU
(tests/support/cuda_on_cpu): the same bits in every step, which captured parts are replayed in, on one worker and on two, and what
a worker without a card answers within rounding. They are cut between a worker with a card and one without, too.

RANDOM_GRAPHS=first:count runs these seeds instead of the usual few."""

import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import Skipped, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from device_coverage import ON_CARD  # noqa: E402
from digits_network import DigitsNetwork  # noqa: E402
from gpu_pool import CUDA_ON_CPU, Host, pool  # noqa: E402
from random_graph import RandomGraph  # noqa: E402
from random_network import RandomNetwork  # noqa: E402
from worker_page import metric  # noqa: E402

FIRST, COUNT = (int(text) for text in os.environ.get("RANDOM_GRAPHS", "1:20").split(":"))
SEEDS = range(FIRST, FIRST + COUNT)
# What is constant would be folded by the host's kernels, which round otherwise, and not where it is cut.
UNFOLDED = {"passes_off": ["constant_folding"]}
ONE = {"slots": 1, "placement": "local", **UNFOLDED}
TWO = {"slots": 2, "placement": "spread", **UNFOLDED}
STEPS = 4  # the third captures what the fourth replays
# Some dozen nodes behind one another, of which each rounds otherwise than the CPU's by a unit or two in the last place (2^-23).
TOLERANCE = 1e-5


class Answer:
    """The outputs of each step of a graph in a session of its own, and how many of its plan's nodes the card has."""

    def __init__(self, client, graph, options):
        session = client.session(**options)
        try:
            name = client.graph(session, graph.document())
            request = {"feeds": graph.feeds, "fetches": graph.fetches}
            self.steps = [client.step(session, request)["outputs"] for _ in range(STEPS)]
            groups = client.plan(session, name, request)["assignments"]
            self.node_count = sum(group["count"] for group in groups)
            self.on_card = sum(group["count"] for group in groups if group["device"] == ON_CARD)
        finally:
            client.send("DELETE", f"/sessions/{session}")


def _need_plugin():
    if not os.path.exists(CUDA_ON_CPU):
        raise Skipped("no CUDA toolkit")


def _answers_of_the_cpu(graphs):
    with sluice.Cluster(threads=(2,)) as cluster:
        client = cluster.client()
        return [Answer(client, graph, ONE) for graph in graphs]


def _expect_near(seed, outputs, expected):
    """NaN and infinities, which are texts, must be the same."""
    for name, tensor in expected.items():
        numbers = [float(number) for number in tensor["data"]]
        largest = max([1.0, *(abs(number) for number in numbers if math.isfinite(number))])
        for left, right in zip(map(float, outputs[name]["data"]), numbers, strict=True):
            is_same = left == right or math.isnan(left) and math.isnan(right)
            assert is_same or abs(left - right) <= TOLERANCE * largest, f"seed {seed}: {name} has {left} instead of {right}"


def _expect_all(graphs):
    _need_plugin()
    expected = _answers_of_the_cpu(graphs)
    with pool(Host(CUDA_ON_CPU), Host(CUDA_ON_CPU)) as (_, client):
        answers = [(Answer(client, graph, ONE), Answer(client, graph, TWO)) for graph in graphs]
    for seed, (one, two), right in zip(SEEDS, answers, expected, strict=True):
        assert one.on_card > 0 and right.on_card == 0, f"seed {seed}: {one.on_card} nodes ran on the card"
        for outputs in one.steps + two.steps:
            assert outputs == one.steps[0], f"seed {seed}: {outputs} instead of {one.steps[0]}"
        _expect_near(seed, one.steps[0], right.steps[0])
    print(f"{sum(one.on_card for one, _ in answers)} nodes of {len(graphs)} graphs on the card")


def random_graphs_have_the_same_bits_in_each_step_and_cut_on_a_card():
    _expect_all([RandomGraph(seed) for seed in SEEDS])


def random_networks_have_the_same_bits_in_each_step_and_cut_on_a_card():
    _expect_all([RandomNetwork(seed) for seed in SEEDS])


def random_graphs_are_cut_between_a_worker_with_a_card_and_one_without():
    _need_plugin()
    graphs = [RandomGraph(seed) for seed in SEEDS]
    expected = _answers_of_the_cpu(graphs)
    with pool(Host(CUDA_ON_CPU), Host()) as (_, client):
        answers = [Answer(client, graph, TWO) for graph in graphs]
    for seed, answer, right in zip(SEEDS, answers, expected, strict=True):
        assert all(outputs == answer.steps[0] for outputs in answer.steps), f"seed {seed}: {answer.steps}"
        _expect_near(seed, answer.steps[0], right.steps[0])
    there = sum(answer.on_card for answer in answers)
    everywhere = sum(answer.node_count for answer in answers)
    assert 0.2 * everywhere < there < 0.8 * everywhere, f"{there} of {everywhere} nodes ran on the card"


def _losses(client, options):
    """Of a few steps of training, in a session of its own."""
    feeds = {"x": {"dtype": "float32", "shape": [8, 8, 8, 1], "data": [(7 * index % 17) / 16 for index in range(512)]},
             "labels": {"dtype": "int32", "shape": [8], "data": [index % 10 for index in range(8)]}, "rate": 0.01}
    session = client.session(**options)
    client.graph(session, DigitsNetwork().graph.document())
    client.step(session, {"targets": ["init"]})
    steps = [client.step(session, {"feeds": feeds, "fetches": ["loss"], "targets": ["train"]}) for _ in range(STEPS)]
    assert all(len(step["partitions"]) == options["slots"] for step in steps), steps
    return [step["outputs"]["loss"]["data"][0] for step in steps]


def a_network_is_trained_by_a_worker_with_a_card_and_one_without():
    _need_plugin()
    with sluice.Cluster(threads=(2,)) as cluster:
        expected = _losses(cluster.client(), ONE)
    with pool(Host(CUDA_ON_CPU), Host()) as (cluster, client):
        losses = _losses(client, TWO)
        there = metric(cluster.workers[0], 'sluice_worker_accelerator_nodes_total{on="accelerator"}')
    assert there > 0 and len(set(losses)) == STEPS, (there, losses)
    for loss, right in zip(losses, expected, strict=True):
        assert abs(loss - right) <= TOLERANCE * right, f"{losses} instead of {expected}"


if __name__ == "__main__":
    run_group([random_graphs_have_the_same_bits_in_each_step_and_cut_on_a_card,
               random_networks_have_the_same_bits_in_each_step_and_cut_on_a_card,
               random_graphs_are_cut_between_a_worker_with_a_card_and_one_without,
               a_network_is_trained_by_a_worker_with_a_card_and_one_without])
