#!/usr/bin/env python3
"""Workers with an accelerator give the same bits as workers without: whole graphs over REST, of which every node that may goes to
the test device (tests/support/test_device.h), whose memory ends the process of whoever reads it without a copy.

RANDOM_GRAPHS=first:count runs these seeds instead of the usual few. With CORPUS, its TensorFlow graphs and ONNX's node suite run
there too."""

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(FOLDER, "../support"), os.path.join(FOLDER, "../conformance/tensorflow")]
from group import Skipped, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from digits_network import DigitsNetwork  # noqa: E402
from graph_builder import GraphBuilder, Type  # noqa: E402
from random_graph import RandomGraph  # noqa: E402
from random_network import RandomNetwork  # noqa: E402

FIRST, COUNT = (int(text) for text in os.environ.get("RANDOM_GRAPHS", "1:12").split(":"))
SEEDS = range(FIRST, FIRST + COUNT)
ONE = {"slots": 1, "placement": "local"}
TWO = {"slots": 2, "placement": "spread"}
SHARE_MIN = 0.9  # of the nodes for which the device has a kernel
TRAINING_STEPS = 10
BATCH = 8
WEIGHT_SIZE = 1 << 17


def _run(client, graph, options):
    """Returns the outputs, and how many copies between memories each run makes."""
    request = {"feeds": graph.feeds, "fetches": graph.fetches}
    session = client.session(**options)
    try:
        name = client.graph(session, graph.document())
        outputs = client.step(session, request)["outputs"]
        registrations = client.plan(session, name, request)["registrations"]
        return outputs, sum(registration.get("copies", 0) for registration in registrations)
    finally:
        client.send("DELETE", f"/sessions/{session}")


def _run_all(graphs, has_test_devices):
    """Returns the outputs of each graph on one worker and on two, and the counts of the devices."""
    with sluice.Cluster(threads=(2, 2), has_test_devices=has_test_devices) as cluster:
        client = cluster.client()
        runs = [_run(client, graph, options) for graph in graphs for options in (ONE, TWO)]
    print(f"copies between memories: {[copies for _, copies in runs]}")
    return [outputs for outputs, _ in runs], cluster.device_counts


def _expect_share(counts):
    share = counts["computed"] / (counts["computed"] + counts["kept"])
    print(f"{counts}: {share:.1%} of the nodes that the device has kernels for ran there")
    assert share >= SHARE_MIN, counts
    assert counts["uploads"] > 0 and counts["downloads"] > 0, counts


def _expect_same_bits(graphs):
    expected, _ = _run_all(graphs, has_test_devices=False)
    outputs, counts = _run_all(graphs, has_test_devices=True)
    for index, (left, right) in enumerate(zip(outputs, expected, strict=True)):
        assert left == right, f"graph {index // 2}, {'two workers' if index % 2 else 'one worker'}: {left} instead of {right}"
    return counts


def random_graphs_have_the_same_bits():
    _expect_same_bits([RandomGraph(seed) for seed in SEEDS])


def random_networks_have_the_same_bits_and_run_there():
    _expect_share(_expect_same_bits([RandomNetwork(seed) for seed in SEEDS]))


def _train(options, has_test_devices, **network):
    """Returns the losses of a few steps of training and a weight after them, and the counts of the devices."""
    feeds = {"x": {"dtype": "float32", "shape": [BATCH, 8, 8, 1], "data": [(7 * i % 17) / 16 for i in range(BATCH * 64)]},
             "labels": {"dtype": "int32", "shape": [BATCH], "data": [index % 10 for index in range(BATCH)]}, "rate": 0.05}
    with sluice.Cluster(threads=(2, 2), has_test_devices=has_test_devices) as cluster:
        client = cluster.client()
        session = client.session(**options)
        client.graph(session, DigitsNetwork(**network).graph.document())
        client.step(session, {"targets": ["init"]})
        losses = [client.step(session, {"feeds": feeds, "fetches": ["loss"], "targets": ["train"]})["outputs"]
                  for _ in range(TRAINING_STEPS)]
        weight = client.step(session, {"fetches": ["conv1/weight/read"]})["outputs"]
    return losses + [weight], cluster.device_counts


def a_convolutional_network_learns_the_same_there():
    for network in ({"optimizer": "momentum"}, {"optimizer": "adam"}, {"variables": "reference"}):
        expected, _ = _train(ONE, has_test_devices=False, **network)
        for options in (ONE, TWO):
            losses, counts = _train(options, has_test_devices=True, **network)
            assert losses == expected, f"{network}, {options}: {losses} instead of {expected}"
            _expect_share(counts)


def variables_stay_there_while_they_are_trained():
    for network in ({}, {"variables": "reference"}):
        _, counts = _train(ONE, has_test_devices=True, **network)
        variables, uploads_per_step = 16, 4  # the feeds, and the size of the batch that the host computes
        assert counts["uploads"] == variables + uploads_per_step * TRAINING_STEPS, counts
        assert counts["downloads"] == TRAINING_STEPS + 1, counts  # the losses and, once, a weight


def _graph_with_weight(op, value):
    """A graph whose weight of 512 KiB is a blob, and whose largest value is as large."""
    graph = GraphBuilder()
    weight = graph.constant("float32", [WEIGHT_SIZE], [value] * WEIGHT_SIZE)
    changed = graph.add(op, graph.placeholder("x", "float32", []), weight, T=Type("float32"))
    graph.add("Sum", changed, graph.constant("int32", [1], [0]), name="y", T=Type("float32"))
    return graph.document()


def _registrations(address):
    connection = http.client.HTTPConnection(address, timeout=120)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    return int(re.search(r"(?m)^sluice_registrations_total (\d+)", text).group(1))


def weights_of_two_sessions_lie_there_once_and_idle_ones_go():
    """The device has room for one weight and what a step makes of it, not for two such weights."""
    with sluice.Cluster(threads=(2,), has_test_devices=True, worker_settings=("--cuda-memory", "1280KiB")) as cluster:
        client = cluster.client()
        steps = []
        for op, value, expected in (("Mul", 2, 2), ("Sub", 2, -1), ("Mul", 3, 3)):
            session = client.session(**ONE)
            client.graph(session, _graph_with_weight(op, value))
            steps.append((session, expected * WEIGHT_SIZE))

        def take_step(session, expected):
            assert client.step(session, {"feeds": {"x": 1}, "fetches": ["y"]})["outputs"]["y"]["data"] == [expected]

        for _ in range(3):
            take_step(*steps[0])
            take_step(*steps[1])
        assert _registrations(cluster.address) == 2
        take_step(*steps[2])  # the others' weight goes for it, and comes again
        take_step(*steps[0])
        assert _registrations(cluster.address) == 4


def _run_corpus(**variables):
    """Returns what the driver printed, and the digest of the outputs of each case in each mode."""
    with tempfile.NamedTemporaryFile() as report:
        done = subprocess.run([sys.executable, os.path.join(FOLDER, "../conformance/tensorflow/run_corpus.py"), os.environ["CORPUS"]],
                              env={**os.environ, **variables, "REPORT": report.name}, stdout=subprocess.PIPE, text=True)
        assert done.returncode == 0, done.stdout
        cases = json.load(report)["cases"]
    return done.stdout, {(case["case"], case["mode"]): case["digest"] for case in cases if case["digest"] is not None}


def the_corpus_has_the_same_bits_there():
    if "CORPUS" not in os.environ:
        raise Skipped("CORPUS is not set")
    _, expected = _run_corpus()
    said, digests = _run_corpus(SLUICE_TEST_DEVICE=sluice.TEST_DEVICE)
    print(re.search(r"(?m)^\d+ passed, .*$", said).group() + f"; {len(expected)} outcomes compared")
    assert digests.keys() == expected.keys() and len(expected) > 0, digests.keys() ^ expected.keys()
    wrong = sorted(key for key, digest in expected.items() if digests[key] != digest)
    assert not wrong, wrong
    _expect_share(json.loads(re.search(r"(?m)^test devices: (.*)$", said).group(1).replace("'", '"')))


def the_node_suite_of_onnx_has_the_same_bits_there():
    suite = os.path.join(os.environ.get("OUT", "build/release"), "tests/conformance/onnx_suite_test")
    if "CORPUS" not in os.environ or not os.path.exists(suite):
        raise Skipped("CORPUS is not set" if "CORPUS" not in os.environ else f"{suite} has not been built")
    done = subprocess.run([suite], env={**os.environ, "SLUICE_TEST_DEVICE": "1"}, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout
    print(re.search(r"(?m)^\d+ passed, .*$", done.stdout).group())


if __name__ == "__main__":
    run_group([random_graphs_have_the_same_bits, random_networks_have_the_same_bits_and_run_there,
               a_convolutional_network_learns_the_same_there, variables_stay_there_while_they_are_trained,
               weights_of_two_sessions_lie_there_once_and_idle_ones_go, the_corpus_has_the_same_bits_there,
               the_node_suite_of_onnx_has_the_same_bits_there])
