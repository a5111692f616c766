#!/usr/bin/env python3
"""Weights in .safetensors files: as ranges that an ONNX model names, by name, as inputs of a model that was written without
its weights, and as placeholders of a GraphDef; with weights in the gateway's memory, and without. Damaged files are refused."""

import hashlib
import io
import json
import os
import struct
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import onnx_model  # noqa: E402
import sluice  # noqa: E402
from onnx_model import Chain  # noqa: E402

CHAIN = Chain(layers=3, width=128)  # 64 KiB a weight
FEED = [[float(index % 7) - 2.5 for index in range(CHAIN.width)]]
STORES = ((), ("--resident-weights", "64KiB"))


def head_of(text, data=b""):
    """A file with this text as its head."""
    return struct.pack("<Q", len(text)) + text + data


def safetensors(tensors):
    """The file of tensors, {name: (type, shape, bytes)}, and where each lies in it."""
    head, places, offset = {"__metadata__": {"format": "pt"}}, {}, 0
    for name, (kind, shape, content) in tensors.items():
        head[name] = {"dtype": kind, "shape": shape, "data_offsets": [offset, offset + len(content)]}
        places[name] = offset
        offset += len(content)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    file = head_of(text, b"".join(content for _, _, content in tensors.values()))
    return file, {name: 8 + len(text) + place for name, place in places.items()}


def _weights(layers=range(CHAIN.layers)):
    shape = [CHAIN.width, CHAIN.width]
    return {f"w{layer}": ("F32", shape, CHAIN.matrix(layer)) for layer in layers}


def _put(client, content):
    return client.send("PUT", f"/blobs/{hashlib.sha256(content).hexdigest()}", content, "application/octet-stream")["ref"]


def _graph(client, session, kind, model, files):
    named = {name: {"ref": _put(client, content)} for name, content in files.items()}
    return client.graph(session, {"source": {"ref": _put(client, model)}, "format": kind, "files": named})


def _answer(cluster, kind, model, files, feeds):
    """The graph's y at this gateway, and at another one, which reads the graph from the database."""
    client = cluster.client()
    session = client.session()
    _graph(client, session, kind, model, files)
    answers = [asked.step(session, {"feeds": feeds, "fetches": ["y"]})["outputs"]["y"]["data"]
               for asked in (client, sluice.Client(cluster.add_gateway().address))]
    assert answers[0] == answers[1]
    return answers[0]


def _refused(client, kind, model, files):
    try:
        _graph(client, client.session(), kind, model, files)
    except sluice.Refused as refused:
        return refused.status, refused.detail
    raise AssertionError("was not refused")


def _external(location, offset=None):
    """The chain with weights that lie in another file, without a range unless there is an offset for each name."""
    def weight(layer):
        name, shape = f"w{layer}", [CHAIN.width, CHAIN.width]
        if offset is not None:
            return onnx_model.external_tensor(name, shape, location, offset[name], CHAIN.width * CHAIN.width * 4)
        return onnx_model.named_tensor(name, shape, location)
    return CHAIN.graph(weight)


def ranges_of_a_file_are_weights_of_a_model():
    file, places = safetensors(_weights())
    for settings in STORES:
        with sluice.Cluster(settings=settings) as cluster:
            model = _external("model.safetensors", places)
            assert _answer(cluster, "onnx", model, {"model.safetensors": file}, {"x": FEED}) == CHAIN.expected(FEED[0])


def tensors_of_a_file_are_found_by_their_names():
    file, _ = safetensors(_weights())
    for settings in STORES:
        with sluice.Cluster(settings=settings) as cluster:
            model = _external("./model.safetensors")
            assert _answer(cluster, "onnx", model, {"model.safetensors": file}, {"x": FEED}) == CHAIN.expected(FEED[0])


def inputs_that_are_named_like_tensors_are_weights():
    """The model is as torch.onnx.export writes it with export_params=False; its weights lie in two files."""
    files = {"model-00001-of-00002.safetensors": safetensors(_weights([0, 1]))[0],
             "model-00002-of-00002.safetensors": safetensors(_weights([2]))[0]}
    shape = [CHAIN.width, CHAIN.width]
    model = CHAIN.graph(None, [onnx_model.value(f"w{layer}", shape) for layer in range(CHAIN.layers)])
    for settings in STORES:
        with sluice.Cluster(settings=settings) as cluster:
            assert _answer(cluster, "onnx", model, files, {"x": FEED}) == CHAIN.expected(FEED[0])


def _form_of(files):
    """A body of multipart/form-data and its media type."""
    parts = [f'--end\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n\r\n'.encode() + content + b"\r\n"
             for name, content in files.items()]
    return b"".join(parts) + b"--end--\r\n", "multipart/form-data; boundary=end"


def _tar_of(files):
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return archive.getvalue(), "application/onnx"


def an_archive_or_a_form_may_hold_them():
    files = {"model.safetensors": safetensors(_weights())[0], "model.onnx": _external("model.safetensors")}
    for settings in STORES:
        with sluice.Cluster(settings=settings) as cluster:
            client = cluster.client()
            for body, kind in (_tar_of(files), _form_of(files)):
                session = client.session()
                client.graph(session, body, kind)
                answer = client.step(session, {"feeds": {"x": FEED}, "fetches": ["y"]})["outputs"]["y"]["data"]
                assert answer == CHAIN.expected(FEED[0]), kind


def _placeholder(name, shape, kind="DT_FLOAT"):
    dims = {"dim": [{"size": str(size)} for size in shape]}
    return {"name": name, "op": "Placeholder", "attr": {"dtype": {"type": kind}, "shape": {"shape": dims}}}


def _product(width):
    product = {"name": "y", "op": "MatMul", "input": ["x", "encoder.w"], "attr": {"T": {"type": "DT_FLOAT"}}}
    nodes = [_placeholder("x", [1, width]), _placeholder("encoder.w", [width, width]), product]
    return json.dumps({"node": nodes}).encode()


def placeholders_that_are_named_like_tensors_are_weights():
    width = CHAIN.width
    file, _ = safetensors({"unused": ("F8_E4M3", [3], b"abc"), "encoder.w": ("F32", [width, width], CHAIN.matrix(0))})
    expected = [2 * number for number in FEED[0][:onnx_model.KEPT]] + [0.0] * (width - onnx_model.KEPT)
    expected[1] += FEED[0][0]
    for settings in STORES:
        with sluice.Cluster(settings=settings) as cluster:
            answer = _answer(cluster, "json", _product(width), {"model.safetensors": file}, {"x": FEED})
            assert answer == expected, answer


def what_does_not_fit_is_refused():
    width = 4
    matrix = ("F32", [width, width], bytes(64))
    model = _product(width)
    with sluice.Cluster(threads=(1,)) as cluster:
        client = cluster.client()
        for tensors, text in (
                ({"w": matrix}, "no placeholder of the graph has the name of a tensor in the .safetensors files"),
                ({"encoder.w": ("F32", [16], bytes(64))}, "'encoder.w' has the shape [16] in its file, and its placeholder asks for [4,4]"),
                ({"encoder.w": ("I32", [width, width], bytes(64))}, "'encoder.w' is int32 in its file, and float32 in the model"),
                ({"encoder.w": ("F8_E5M2", [64], bytes(64))}, "'encoder.w' has the type 'F8_E5M2', which we have not")):
            status, detail = _refused(client, "json", model, {"m.safetensors": safetensors(tensors)[0]})
            assert status in (400, 501) and text in detail, detail
        both = {name: safetensors({"encoder.w": matrix})[0] for name in ("a.safetensors", "b.safetensors")}
        assert "is both in 'a.safetensors' and in 'b.safetensors'" in _refused(client, "json", model, both)[1]
        few = safetensors(_weights([0, 1]))[0]
        status, detail = _refused(client, "onnx", _external("m.safetensors"), {"m.safetensors": few})
        assert "'w2' keeps its data in 'm.safetensors', which has no tensor of this name" in detail, detail
        flat = safetensors({f"w{layer}": ("F32", [CHAIN.width**2], CHAIN.matrix(layer)) for layer in range(3)})[0]
        status, detail = _refused(client, "onnx", _external("m.safetensors"), {"m.safetensors": flat})
        assert "'w0' keeps its data in 'm.safetensors', where it has the shape [16384], not [128,128]" in detail, detail


def damaged_files_are_refused():
    def entry(begin, end, shape="[1]", kind="F32"):
        return f'{{"dtype": "{kind}", "shape": {shape}, "data_offsets": [{begin}, {end}]}}'

    def with_head(text, size=8):
        return head_of(text.encode(), bytes(size))

    with sluice.Cluster(threads=(1,)) as cluster:
        client = cluster.client()
        for file, text in (
                (b"", "its head does not fit into its 0 bytes"),
                (struct.pack("<Q", 2**63) + b"{}", "its head does not fit into its 10 bytes"),
                (head_of(b"{" + b" " * (17 << 20) + b"}"), "has 17825794 bytes, at most 16777216"),
                (with_head("[]"), "the head of 'm.safetensors': "),
                (with_head("{"), "the head of 'm.safetensors': "),
                (with_head('{"a": 3}'), "the head of 'm.safetensors': "),
                (with_head('{"a": {"dtype": "F32", "shape": [1]}}'), "a tensor needs 'dtype', 'shape' and 'data_offsets'"),
                (with_head('{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4, 8]}}'), "must be a begin and an end"),
                (with_head(f'{{"a": {entry(0, 4, "[" + "1," * 40 + "1]")}}}'), "too many dimensions"),
                (with_head(f'{{"a": {entry(-4, 4)}}}'), "the head of 'm.safetensors': "),
                (with_head(f'{{"a": {entry(4, 0)}}}'), "tensor 'a' does not lie in the file"),
                (with_head(f'{{"a": {entry(0, 12, "[3]")}}}'), "tensor 'a' does not lie in the file"),
                (with_head(f'{{"a": {entry(0, 8)}}}'), "has not as many bytes as its shape and type ask for"),
                (with_head(f'{{"a": {entry(0, 4, "[4611686018427387904, 4]")}}}'), "has not as many bytes"),
                (with_head(f'{{"a": {entry(0, 8, "[2]")}, "b": {entry(4, 8)}}}'), "tensor 'b' overlaps another one"),
                (with_head(f'{{"a": {entry(4, 8)}}}'), "tensor 'a' has a gap in front"),
                (with_head(f'{{"a": {entry(0, 4)}}}'), "4 bytes behind the last tensor belong to none"),
                (with_head(f'{{"a": {entry(0, 4)}, "a": {entry(4, 8)}}}'), "an object has this name twice"),
                (with_head("{" + "".join(f'"{n}": {entry(0, 0, "[0]")}, ' for n in range(70)) + f'"69": {entry(0, 8, "[2]")}}}'),
                 "tensor '69' is there twice")):
            status, detail = _refused(client, "json", _product(4), {"m.safetensors": file})
            assert status == 400 and text in detail, (text, status, detail)


if __name__ == "__main__":
    run_group([globals()[n] for n in sys.argv[1:]] or [
        ranges_of_a_file_are_weights_of_a_model,
        tensors_of_a_file_are_found_by_their_names,
        inputs_that_are_named_like_tensors_are_weights,
        an_archive_or_a_form_may_hold_them,
        placeholders_that_are_named_like_tensors_are_weights,
        what_does_not_fit_is_refused,
        damaged_files_are_refused,
    ])
