#!/usr/bin/env python3
"""Attention in a model as an exporter writes it becomes one node a layer, with the bits that its parts give: on the CPU, and on
a card that the CPU plays. The model is BERT's encoder (tests/support/onnx_networks.py), made small."""

import hashlib
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import Skipped, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
from gpu_pool import CUDA_ON_CPU, Host, pool  # noqa: E402
import onnx_networks  # noqa: E402
import sluice  # noqa: E402

SIZES = {"WIDTH": 24, "HEADS": 2, "LAYERS": 2, "INNER": 48, "WORDS": 50, "POSITIONS": 16}
TEXTS, WORDS = 2, 7
PASS = "attention_fusion"


def _put_file(client, path):
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        return client.send("PUT", f"/blobs/{digest}", file, "application/octet-stream", length=os.path.getsize(path))["ref"]


def _feed(name):
    """The last two words of each text are masked."""
    numbers = [int(place % WORDS < WORDS - 2) if "mask" in name else place * 3 % 2 for place in range(TEXTS * WORDS)]
    return {"dtype": "int64", "shape": [TEXTS, WORDS], "data": numbers}


def _run(client, files, passes_off):
    """Returns how many nodes the pass made, and the outputs of a step."""
    session = client.session(passes_off=passes_off)
    model, weights = (_put_file(client, path) for path in files)
    graph = client.graph(session, {"source": {"ref": model}, "format": "onnx", "files": {os.path.basename(files[1]): {"ref": weights}}})
    summary = client.send("GET", f"/sessions/{session}/graphs/{graph}")["summary"]
    feeds = {port["name"]: _feed(port["name"]) for port in summary["inputs"]}
    fetches = [port["name"] for port in summary["outputs"]]
    shapes = {name: {"dtype": "int64", "shape": [-1, -1]} for name in feeds}
    changes = client.plan(session, graph, {"feeds": shapes, "fetches": fetches})["changes"]
    made = sum(change["pass"] == PASS for change in changes)
    return made, client.step(session, {"feeds": feeds, "fetches": fetches})["outputs"]


def _expect_same_bits(client):
    for name, size in SIZES.items():
        setattr(onnx_networks, name, size)
    with tempfile.TemporaryDirectory() as folder:
        files = onnx_networks.write_bert(folder)
        made, outputs = _run(client, files, [])
        none, expected = _run(client, files, [PASS])
    assert (made, none) == (SIZES["LAYERS"], 0), (made, none)
    assert outputs == expected, (outputs, expected)


def each_layer_of_bert_has_one_node_with_the_bits_of_its_parts():
    with sluice.Cluster(threads=(2,)) as cluster:
        _expect_same_bits(cluster.client())


def so_it_has_on_a_card():
    if not os.path.exists(CUDA_ON_CPU):
        raise Skipped("no CUDA toolkit")
    with pool(Host(CUDA_ON_CPU)) as (_, client):
        _expect_same_bits(client)


if __name__ == "__main__":
    run_group([each_layer_of_bert_has_one_node_with_the_bits_of_its_parts, so_it_has_on_a_card])
