#!/usr/bin/env python3
"""Graphs whose weights are not in the gateway's memory answer as those whose weights are. --resident-weights says which are."""

import base64
import hashlib
import io
import json
import os
import re
import struct
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from onnx_model import Chain  # noqa: E402
from process_memory import Peak  # noqa: E402

ONNX = "application/onnx"
ABSENT = ("--resident-weights", "64KiB")
CHAIN = Chain(layers=6, width=128)  # 64 KiB a weight
LARGE = Chain(layers=13, width=2048)  # 208 MiB, more than is held at default settings
GROWTH_MIB = 64  # that a gateway takes above what it took before


def _answer(client, body, content_type, feeds, fetch):
    session = client.session()
    client.graph(session, body, content_type)
    return client.step(session, {"feeds": feeds, "fetches": [fetch]})["outputs"][fetch]["data"]


def tar_of(files):
    """The bytes of a tar with these files."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return archive.getvalue()


def expect_refused(function, *arguments):
    try:
        function(*arguments)
    except sluice.Refused as refused:
        return refused
    raise AssertionError("was not refused")


def _feed(chain):
    return [[float(index % 7) - 2.5 for index in range(chain.width)]]


def answers_are_the_same_without_resident_weights():
    feed = _feed(CHAIN)
    with sluice.Cluster() as resident, sluice.Cluster(settings=ABSENT) as absent:
        expected = _answer(resident.client(), CHAIN.whole(), ONNX, {"x": feed}, "y")
        assert expected == CHAIN.expected(feed[0]), expected
        assert _answer(absent.client(), CHAIN.whole(), ONNX, {"x": feed}, "y") == expected


def a_definition_names_weights_by_their_digests():
    with sluice.Cluster(settings=ABSENT) as cluster:
        client = cluster.client()
        session = client.session()
        graph = client.graph(session, CHAIN.whole(), ONNX)
        path = f"/sessions/{session}/graphs/{graph}/definition"
        source = client.send("GET", path, accept=ONNX)
        text = json.dumps(client.send("GET", path, accept="application/json"))
        assert len(set(re.findall(rb"sha256:[0-9a-f]{64}", source))) == 2 * CHAIN.layers
        assert len(set(re.findall("sha256:[0-9a-f]{64}", text))) == 2 * CHAIN.layers, text[:2000]


def a_model_of_several_files_comes_as_a_tar():
    feed = _feed(CHAIN)
    document, offsets = CHAIN.parted("weights/model.data")
    data = bytearray(offsets[-1] + CHAIN.width * CHAIN.width * 4)
    for layer, offset in enumerate(offsets):
        matrix = CHAIN.matrix(layer)
        data[offset:offset + len(matrix)] = matrix
    body = tar_of({"chain/model.onnx": document, "chain/weights/model.data": bytes(data)})
    for settings in ((), ABSENT):
        with sluice.Cluster(settings=settings) as cluster:
            assert _answer(cluster.client(), body, ONNX, {"x": feed}, "y") == CHAIN.expected(feed[0])


def _put_file(client, path):
    """Stores a file without holding it, and returns its reference."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for piece in iter(lambda: file.read(1 << 20), b""):
            digest.update(piece)
        file.seek(0)
        return client.send("PUT", f"/blobs/{digest.hexdigest()}", file, "application/octet-stream", length=os.path.getsize(path))["ref"]


def _check_peak(peak):
    print(f"the gateway took {peak.grown_mib():.0f} MiB for a model of {LARGE.size >> 20} MiB")
    assert peak.grown_mib() < GROWTH_MIB, peak.grown_mib()


def a_model_larger_than_what_is_held_runs_from_its_files():
    feed = _feed(LARGE)
    with tempfile.TemporaryDirectory() as folder, sluice.Cluster() as cluster:
        client = cluster.client()
        session = client.session()
        with Peak(cluster.gateway.pid) as peak:
            model, data = (_put_file(client, path) for path in LARGE.write(folder))
            client.graph(session, {"source": {"ref": model}, "format": "onnx", "files": {"model.onnx.data": {"ref": data}}})
            answer = client.step(session, {"feeds": {"x": feed}, "fetches": ["y"]})["outputs"]["y"]["data"]
        assert answer == LARGE.expected(feed[0])
        _check_peak(peak)
        other = cluster.add_gateway()
        again = sluice.Client(other.address)
        assert again.step(session, {"feeds": {"x": feed}, "fetches": ["y"]})["outputs"]["y"]["data"] == answer


def a_large_body_is_never_held():
    feed = _feed(LARGE)
    with sluice.Cluster() as cluster:
        client = cluster.client()
        session = client.session()
        with Peak(cluster.gateway.pid) as peak:
            client.graph(session, LARGE.whole(), ONNX)
            answer = client.step(session, {"feeds": {"x": feed}, "fetches": ["y"]})["outputs"]["y"]["data"]
        assert answer == LARGE.expected(feed[0])
        _check_peak(peak)


def a_value_that_names_no_stored_blob_is_refused():
    ref = "sha256:" + "0" * 64
    value = {"tensor": {"dtype": "DT_FLOAT", "tensorShape": {"dim": [{"size": "4"}]}, "ref": ref}}
    graph = {"node": [{"name": "w", "op": "Const", "attr": {"dtype": {"type": "DT_FLOAT"}, "value": value}}]}
    with sluice.Cluster(threads=(1,)) as cluster:
        client = cluster.client()
        refused = expect_refused(client.graph, client.session(), graph)
        assert (refused.status, refused.detail) == (404, f"the value of 'w' is the blob '{ref}', which is not stored"), refused


def _many_constants(count, width):
    """x, a vector, plus a constant one for each number, whose first elements are its last three digits and the others: all
    sums are exact. What is fed keeps them from being added up ahead."""
    def floats(number):
        return base64.b64encode(struct.pack("<2f", number % 1000, number // 1000) + bytes(4 * (width - 2))).decode()

    vector = {"dim": [{"size": str(width)}]}
    nodes = [{"name": "x", "op": "Placeholder", "attr": {"dtype": {"type": "DT_FLOAT"}, "shape": {"shape": vector}}}]
    for number in range(count):
        tensor = {"dtype": "DT_FLOAT", "tensorShape": vector, "tensorContent": floats(number)}
        nodes.append({"name": f"c{number}", "op": "Const", "attr": {"dtype": {"type": "DT_FLOAT"}, "value": {"tensor": tensor}}})
    nodes.append({"name": "y", "op": "AddN", "input": [node["name"] for node in nodes],
                  "attr": {"N": {"i": str(len(nodes))}, "T": {"type": "DT_FLOAT"}}})
    return {"node": nodes}


def a_partition_may_miss_any_number_of_constants():
    """More of them than a worker names in one answer, so that it is asked again; each is larger than what travels within."""
    count, width = 9000, 1025
    with sluice.Cluster(threads=(2,)) as cluster:
        client = cluster.client()
        session = client.session()
        client.graph(session, _many_constants(count, width))
        answer = client.step(session, {"feeds": {"x": [0.5] * width}, "fetches": ["y"]})["outputs"]["y"]["data"]
        sums = (sum(number % 1000 for number in range(count)), sum(number // 1000 for number in range(count)))
        assert answer == [sums[0] + 0.5, sums[1] + 0.5] + [0.5] * (width - 2), answer[:3]


if __name__ == "__main__":
    run_group([globals()[n] for n in sys.argv[1:]] or [
        answers_are_the_same_without_resident_weights,
        a_definition_names_weights_by_their_digests,
        a_model_of_several_files_comes_as_a_tar,
        a_model_larger_than_what_is_held_runs_from_its_files,
        a_large_body_is_never_held,
        a_value_that_names_no_stored_blob_is_refused,
        a_partition_may_miss_any_number_of_constants,
    ])
