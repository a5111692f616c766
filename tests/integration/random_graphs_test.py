#!/usr/bin/env python3
"""Random graphs give the same bits as they are written on one worker, and with all exact optimising passes on one, two and
three workers with different numbers of threads, however their nodes are spread; with all passes, too, the bits are those of
one worker. RANDOM_GRAPHS=first:count runs these seeds instead of the usual few; a failure names its seed."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from random_graph import PARALLEL_ITERATIONS, RandomGraph, RandomNetwork  # noqa: E402

FIRST, COUNT = (int(text) for text in os.environ.get("RANDOM_GRAPHS", "1:30").split(":"))
SEEDS = range(FIRST, FIRST + COUNT)
WORKER_THREADS = (1, 2, 3)
AS_WRITTEN = {"slots": 1, "placement": "local", "passes_off": ["*"]}
ONE = {"slots": 1, "placement": "local"}
CUTS = [{"slots": 2, "placement": "spread"}, {"slots": 3, "placement": "spread"}]
INEXACT = ["batch_norm_folding", "convolution_epilogue", "gelu", "matmul_epilogue", "scale_folding"]
TOLERANCE = 1e-4  # some dozen layers, each of which rounds a few times by 6e-8 of numbers near 1 and doubles what came before


def _run(client, graph, options):
    """The outputs of one step, as texts: a float's text is the shortest that reads back as the same bits."""
    session = client.session(**options)
    try:
        client.graph(session, graph.document())
        return client.step(session, {"feeds": graph.feeds, "fetches": graph.fetches})["outputs"]
    finally:
        client.send("DELETE", f"/sessions/{session}")


def _expect_same(seed, how, outputs, expected):
    wrong = sorted(name for name in expected if outputs.get(name) != expected[name])
    assert not wrong, f"seed {seed}: {how} differs in {wrong}"


def _expect_any_cut(client, seed):
    graph = RandomGraph(seed)
    expected = _run(client, graph, AS_WRITTEN)
    for options in (ONE, *CUTS):
        options = {**options, "passes_off": INEXACT}
        _expect_same(seed, f"{options}", _run(client, graph, options), expected)
    for tasks in (2, 3):
        asking = RandomGraph(seed, tasks=tasks)
        outputs = _run(client, asking, {**ONE, "passes_off": INEXACT})
        _expect_same(seed, f"asking for {tasks} tasks", outputs, expected)
    expected = _run(client, graph, ONE)
    for options in CUTS:
        _expect_same(seed, f"{options}", _run(client, graph, options), expected)


def bits_do_not_depend_on_passes_and_places():
    with sluice.Cluster(threads=WORKER_THREADS) as cluster:
        client = cluster.client()
        for seed in SEEDS:
            try:
                _expect_any_cut(client, seed)
            except sluice.Refused as error:
                raise AssertionError(f"seed {seed}: {error}") from None


def _expect_any_parallelism(client, seed):
    expected = _run(client, RandomGraph(seed), ONE)
    for count in PARALLEL_ITERATIONS:
        graph = RandomGraph(seed, parallel_iterations=count)
        for options in (ONE, CUTS[0]):
            _expect_same(seed, f"parallel_iterations {count}, {options}", _run(client, graph, options), expected)


def bits_do_not_depend_on_parallel_iterations():
    with sluice.Cluster(threads=(2, 2)) as cluster:
        client = cluster.client()
        for seed in SEEDS:
            _expect_any_parallelism(client, seed)


def _expect_close(seed, how, outputs, expected):
    for name, tensor in expected.items():
        largest = max([1.0, *(abs(number) for number in tensor["data"])])
        for left, right in zip(outputs[name]["data"], tensor["data"], strict=True):
            assert abs(left - right) <= TOLERANCE * largest, f"seed {seed}: {how}: {name} has {left} instead of {right}"


def inexact_passes_round_otherwise_but_alike_everywhere():
    with sluice.Cluster(threads=WORKER_THREADS) as cluster:
        client = cluster.client()
        for seed in SEEDS:
            graph = RandomNetwork(seed)
            outputs = _run(client, graph, ONE)
            _expect_close(seed, "with all passes", outputs, _run(client, graph, AS_WRITTEN))
            for options in CUTS:
                _expect_same(seed, f"{options}", _run(client, graph, options), outputs)


if __name__ == "__main__":
    run_group([bits_do_not_depend_on_passes_and_places, bits_do_not_depend_on_parallel_iterations,
               inexact_passes_round_otherwise_but_alike_everywhere])
