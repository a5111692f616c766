#!/usr/bin/env python3
"""Random graphs with loops, branches, functions, lists and variables on CUDA's plugin, whose card is the CPU
(tests/support/cuda_on_cpu): the same bits in every step, which captured parts are replayed in, on one worker and on two, and what
a worker without a card answers within rounding.

RANDOM_GRAPHS=first:count runs these seeds instead of the usual few."""

import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import Skipped, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from device_coverage import ON_CARD  # noqa: E402
from gpu_pool import CUDA_ON_CPU, Host, pool  # noqa: E402
from random_graph import RandomGraph  # noqa: E402
from random_network import RandomNetwork  # noqa: E402

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
    """The outputs of each step of a graph in a session of its own, and how many nodes its plan gives to the card."""

    def __init__(self, client, graph, options):
        session = client.session(**options)
        try:
            name = client.graph(session, graph.document())
            request = {"feeds": graph.feeds, "fetches": graph.fetches}
            self.steps = [client.step(session, request)["outputs"] for _ in range(STEPS)]
            groups = client.plan(session, name, request)["assignments"]
            self.on_card = sum(group["count"] for group in groups if group["device"] == ON_CARD)
        finally:
            client.send("DELETE", f"/sessions/{session}")


def _expect_near(seed, outputs, expected):
    """NaN and infinities, which are texts, must be the same."""
    for name, tensor in expected.items():
        numbers = [float(number) for number in tensor["data"]]
        largest = max([1.0, *(abs(number) for number in numbers if math.isfinite(number))])
        for left, right in zip(map(float, outputs[name]["data"]), numbers, strict=True):
            is_same = left == right or math.isnan(left) and math.isnan(right)
            assert is_same or abs(left - right) <= TOLERANCE * largest, f"seed {seed}: {name} has {left} instead of {right}"


def _expect_all(graphs):
    if not os.path.exists(CUDA_ON_CPU):
        raise Skipped("no CUDA toolkit")
    with sluice.Cluster(threads=(2,)) as cluster:
        client = cluster.client()
        expected = [Answer(client, graph, ONE) for graph in graphs]
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


if __name__ == "__main__":
    run_group([random_graphs_have_the_same_bits_in_each_step_and_cut_on_a_card,
               random_networks_have_the_same_bits_in_each_step_and_cut_on_a_card])
