#!/usr/bin/env python3
"""Whole models on the CUDA plugin, whose card is the CPU (tests/support/cuda_on_cpu): what a worker without it answers comes
out, and every node runs on the card but those that worker/runtime/partition/assign.c keeps on the host.

ResNet-50 and BERT-base are made by tests/support/onnx_networks.py, an encoder of TensorFlow 1 by
tests/support/tensorflow_bert.py; with CORPUS, its models run there too. What is copied is told beside what ran: no input more
than once to the card, and each output once back."""

import collections
import hashlib
import math
import os
import random
import sys
import tempfile
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(FOLDER, "../support"))
from group import Skipped, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import light_models  # noqa: E402
from digits_network import DigitsNetwork  # noqa: E402
from graph_builder import GraphBuilder, Type  # noqa: E402
import onnx_networks  # noqa: E402
import sluice  # noqa: E402
import tensorflow_bert  # noqa: E402
from device_coverage import KEPT, ON_CARD, ON_HOST, SHAPES  # noqa: E402
from worker_page import metrics, value_of  # noqa: E402

PLUGIN = "tests/sluice-cuda-on-cpu.so"
CARD = {"SLUICE_TEST_DEVICE": PLUGIN, "CUDA_ON_CPU_MEMORY": str(2 << 30)}
READS = {"ReadVariableOp"}  # that hand on elements where they lie: what they copied would be counted
WORDS = 8  # of a text
TIMEOUT_MS = 900_000  # on a machine that is slow and busy
sluice.REPLY_SECONDS = TIMEOUT_MS / 1000


class Model:
    """A model, and one step of it. `tolerance`: of the distance of each output from the CPU's, as a share of its length.
    `has_functions`: nodes call some, as If does. `sizes`: how many sizes of tensors it computes with, which the host knows."""

    def __init__(self, name, tolerance, has_functions=False, sizes=0):
        self.name, self.tolerance, self.has_functions, self.sizes = name, tolerance, has_functions, sizes

    def push(self, client, session):
        """Returns the graph's id, and the request of a step without its options."""
        raise NotImplementedError


class TensorflowModel(Model):
    def __init__(self, name, document, request, tolerance):
        super().__init__(name, tolerance)
        self._document, self._request = document, request

    def push(self, client, session):
        return client.graph(session, self._document), self._request


class OnnxModel(Model):
    """`files`: of the model and its weights. `feeds`: in the order of its inputs."""

    def __init__(self, name, files, feeds, tolerance, has_functions=False):
        super().__init__(name, tolerance, has_functions)
        self._files, self._feeds = files, feeds

    def push(self, client, session):
        refs = [_put_file(client, path) for path in self._files]
        others = {os.path.basename(path): {"ref": ref} for path, ref in zip(self._files[1:], refs[1:])}
        graph = client.graph(session, {"source": {"ref": refs[0]}, "format": "onnx", "files": others})
        summary = client.send("GET", f"/sessions/{session}/graphs/{graph}")["summary"]
        feeds = {port["name"]: feed for port, feed in zip(summary["inputs"], self._feeds, strict=True)}
        return graph, {"feeds": feeds, "fetches": [port["name"] for port in summary["outputs"]]}


class TrainedModel(Model):
    """A convolutional network with its gradients and updates in one graph: a step after others that have changed its weights."""

    STEPS, BATCH = 3, 32

    def __init__(self, optimizer, variables, tolerance):
        super().__init__(f"training by {optimizer} of {variables} variables", tolerance, sizes=1)
        self._document = DigitsNetwork(optimizer=optimizer, variables=variables).graph.document()

    def push(self, client, session):
        graph = client.graph(session, self._document)
        draw = random.Random(4)
        feeds = {"x": _tensor("float32", [self.BATCH, 8, 8, 1], draw.random),
                 "labels": _tensor("int32", [self.BATCH], lambda: draw.randrange(10)),
                 "rate": {"dtype": "float32", "shape": [], "data": [0.01]}}
        request = {"feeds": feeds, "fetches": ["loss", "accuracy"], "targets": ["train"]}
        client.step(session, {"targets": ["init"]})
        for _ in range(self.STEPS):
            client.step(session, request)
        return graph, request


def _put_file(client, path):
    """Stores a file and returns its reference."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        return client.send("PUT", f"/blobs/{digest}", file, "application/octet-stream", length=os.path.getsize(path))["ref"]


def _numbers(output):
    """The elements of an output, at any depth of its lists."""
    if isinstance(output, list):
        return [element for item in output for element in _numbers(item)]
    return [float(output)]


def _distance(output, expected):
    """How far an output is from what was expected, as a share of the length of that; NaN counts as endless."""
    assert output["shape"] == expected["shape"] and output["dtype"] == expected["dtype"], (output["shape"], expected["shape"])
    pairs = list(zip(_numbers(output["data"]), _numbers(expected["data"]), strict=True))
    length = math.sqrt(sum(right**2 for _, right in pairs))
    distance = math.sqrt(sum((left - right)**2 for left, right in pairs))
    return distance / length if math.isfinite(distance) and length > 0 else math.inf


class Card:
    """What a worker has counted of its accelerator: of its page of metrics, which it gives in HTTP/2."""

    SERIES = {"kernels": 'sluice_worker_accelerator_nodes_total{on="accelerator"}',
              "kept": 'sluice_worker_accelerator_nodes_total{on="host"}',
              "missing": "sluice_worker_accelerator_missing_kernels_total",
              "uploads": 'sluice_worker_device_copies_total{way="upload"}',
              "downloads": 'sluice_worker_device_copies_total{way="download"}'}

    def __init__(self, worker):
        self._worker = worker
        self._before = self._read()

    def _read(self):
        page = metrics(self._worker)
        return {name: value_of(series, page) for name, series in self.SERIES.items()}

    def since(self):
        """What it has counted since this was made."""
        return {name: count - self._before[name] for name, count in self._read().items()}


class Answer:
    """What a cluster made of a step of a model: its outputs and how long they took, what `:plan` told afterwards, and what the
    worker counted meanwhile."""

    def __init__(self, cluster, model):
        client = cluster.client()
        session = client.session()
        graph, request = model.push(client, session)
        self.feed_count = len(request["feeds"])
        card = Card(cluster.workers[0])
        begun = time.monotonic()
        self.outputs = client.step(session, {**request, "options": {"timeout_ms": TIMEOUT_MS}})["outputs"]
        self.seconds = time.monotonic() - begun
        self.counts = card.since()
        plan = client.plan(session, graph, {**request, "partition_graphs": True})
        self.ops = {node["name"]: node["op"] for partition in plan["partition_graphs"] for node in partition["graph"]["node"]}
        self.groups = plan["assignments"]
        self.copied = plan["registrations"][0].get("copied", [])
        client.send("DELETE", f"/sessions/{session}")

    def count(self, device, reasons):
        """How many nodes the plan gives to a device, for one of these reasons."""
        return sum(group["count"] for group in self.groups if group["device"] == device and group.get("reason") in reasons)


def _expect_card(model, answer):
    """Every node ran on the card but those that assign.c keeps; the worker counted what the plan tells; and nothing came back
    from the card but outputs: the host waited for no shape."""
    there = answer.count(ON_CARD, {None})
    here = [group for group in answer.groups if group["device"] == ON_HOST]
    downloads = [name for name in answer.copied if name.endswith("_copy_to_CPU")]
    planned = {"kernels": there, "kept": answer.count(ON_HOST, SHAPES), "missing": 0,
               "uploads": len(answer.copied) - len(downloads), "downloads": len(downloads)}
    print(f"{model.name}: planned {planned}, counted {answer.counts}")
    for group in here:
        ops = collections.Counter(answer.ops.get(name, "?") for name in group["nodes"])
        print(f"  {group['count']} on the host ({group.get('reason')}): "
              + ", ".join(f"{count} {op}" for op, count in sorted(ops.items())))
        assert group.get("reason") in KEPT or set(ops) <= READS, group
    if model.has_functions:  # whose nodes are not in the plan
        assert all(answer.counts[name] >= count for name, count in planned.items()), answer.counts
        assert answer.counts["missing"] == 0, answer.counts
        return
    assert there > 0 and answer.counts == planned, answer.counts
    assert planned["uploads"] <= answer.feed_count + model.sizes and len(downloads) == len(answer.outputs), answer.copied


def _compare(models):
    """Each model on a worker with the card, and on one without."""
    with tempfile.TemporaryDirectory() as folder:
        settings = ("--blob-store", f"folder:{folder}")
        with sluice.Cluster(threads=(2,), settings=settings) as cluster:
            expected = [Answer(cluster, model) for model in models]
        os.environ.update(CARD)
        try:
            with sluice.Cluster(threads=(2,), settings=settings) as cluster:
                for model, right in zip(models, expected):
                    answer = Answer(cluster, model)
                    distances = {name: _distance(output, right.outputs[name]) for name, output in answer.outputs.items()}
                    print(f"{model.name}: {right.seconds:.1f} s without, {answer.seconds:.1f} s with the card; "
                          + ", ".join(f"{name} {distance:.1e} apart" for name, distance in distances.items()))
                    assert max(distances.values()) < model.tolerance, distances
                    _expect_card(model, answer)
        finally:
            for name in CARD:
                os.environ.pop(name)


def _need_plugin():
    if not os.path.exists(os.path.join(os.environ.get("OUT", "build/release"), PLUGIN)):
        raise Skipped("no CUDA toolkit")


def _tolerance(layers, longest):
    """Of float32: a sum of n products whose order differs wanders off by the square root of n roundings, of 2^-24 each; what the
    layers add is independent."""
    return math.sqrt(layers * longest) * 2**-24


# Of light models, in which all weights of a layer are equal: a sum's roundings all fall to one side. The longest has 512 * 9.
EQUAL_WEIGHTS = 512 * 9 * 2**-24


def _tensor(dtype, shape, draw):
    return {"dtype": dtype, "shape": shape, "data": [draw() for _ in range(math.prod(shape))]}


def _image(*shape):
    draw = random.Random(1)
    return _tensor("float32", shape, lambda: draw.gauss(0, 1))


def resnet50_runs_there():
    _need_plugin()
    with tempfile.TemporaryDirectory() as folder:
        files = onnx_networks.write_resnet50(folder)
        _compare([OnnxModel("ResNet-50", files, [_image(1, 3, 64, 64)], _tolerance(layers=54, longest=9 * 512))])


def _text(dtype, vocabulary):
    """Words, which of them are there, and of which half each is."""
    draw = random.Random(2)
    words = [draw.randrange(vocabulary) for _ in range(WORDS)]
    mask, kinds = [1] * (WORDS - 2) + [0] * 2, [0] * 4 + [1] * (WORDS - 4)
    return [{"dtype": dtype, "shape": [1, WORDS], "data": numbers} for numbers in (words, mask, kinds)]


def bert_runs_there():
    _need_plugin()
    feeds = _text("int64", onnx_networks.WORDS)
    with tempfile.TemporaryDirectory() as folder:
        files = onnx_networks.write_bert(folder)
        _compare([OnnxModel("BERT-base", files, feeds, _tolerance(layers=12 * 8, longest=3072))])


def an_encoder_of_tensorflow_runs_there():
    _need_plugin()
    bert = tensorflow_bert.TensorflowBert()
    feeds = dict(zip(tensorflow_bert.FEEDS, _text("int32", tensorflow_bert.WORDS)))
    request = {"feeds": feeds, "fetches": [bert.output, bert.pooled]}
    _compare([TensorflowModel("TensorFlow's BERT", bert.graph.document(), request, _tolerance(layers=2 * 8, longest=512))])


def the_training_of_a_network_runs_there():
    _need_plugin()
    # Each step goes through five layers, their gradients and their updates; the longest sum is that of a filter's gradient.
    tolerance = _tolerance(layers=(TrainedModel.STEPS + 1) * 15, longest=TrainedModel.BATCH * 64)
    _compare([TrainedModel("momentum", "resource", tolerance), TrainedModel("adam", "resource", tolerance)])


def _numbers_of_three_steps(cluster):
    """What random nodes with seeds give in three steps of a session, and where they ran."""
    builder = GraphBuilder()
    shape = builder.constant("int32", [1], [777])
    seeds = {"seed": 3, "seed2": 5}
    uniform = builder.add("RandomUniform", shape, T=Type("int32"), dtype=Type("float32"), **seeds)
    integers = builder.add("RandomUniformInt", shape, builder.constant("int32", [], [-9]), builder.constant("int32", [], [99]),
                           T=Type("int32"), Tout=Type("int32"), **seeds)
    client = cluster.client()
    session = client.session()
    graph = client.graph(session, builder.document())
    request = {"fetches": [uniform, integers]}
    steps = [client.step(session, request)["outputs"] for _ in range(3)]
    groups = client.plan(session, graph, request)["assignments"]
    client.send("DELETE", f"/sessions/{session}")
    return [[step[name]["data"] for name in (uniform, integers)] for step in steps], groups


def random_numbers_go_on_from_step_to_step():
    _need_plugin()
    with sluice.Cluster(threads=(2,)) as cluster:
        expected, _ = _numbers_of_three_steps(cluster)
    os.environ.update(CARD)
    try:
        with sluice.Cluster(threads=(2,)) as cluster:
            numbers, groups = _numbers_of_three_steps(cluster)
    finally:
        for name in CARD:
            os.environ.pop(name)
    there = [node for group in groups if group["device"] == ON_CARD for node in group["nodes"]]
    assert any("RandomUniform" in node for node in there), groups
    assert len({str(step) for step in expected}) == len(expected), "a step gives the numbers of another"
    assert numbers == expected, "the card draws other numbers"


def _light_models(corpus, folder):
    for name, (size, _) in light_models.SIZES.items():
        yield OnnxModel(name, [light_models.write_light(corpus, name, folder)], [_image(1, 3, size, size)], EQUAL_WEIGHTS)


def _trained_models(corpus):
    draw = random.Random(3)
    feeds = {"ppocr_cls": _image(1, 3, 48, 64), "blazeface_front_128": _image(1, 128, 128, 3),
             "magika_standard_v3_3": _tensor("int32", [1, 2048], lambda: draw.randrange(256))}
    for name, feed in feeds.items():
        yield OnnxModel(name, [os.path.join(corpus, f"models/{name}.onnx")], [feed], _tolerance(layers=60, longest=1024))
    for rate, count in ((16000, 512), (8000, 256)):
        feeds = [_tensor("float32", [1, count], draw.random), _tensor("float32", [2, 1, 128], draw.random), rate]
        yield OnnxModel(f"silero_vad_v5 at {rate} Hz", [os.path.join(corpus, "models/silero_vad_v5.onnx")], feeds,
                        _tolerance(layers=20, longest=512), has_functions=True)


def the_models_of_the_corpus_run_there():
    _need_plugin()
    corpus = os.environ.get("CORPUS")
    if corpus is None:
        raise Skipped("no corpus")
    with tempfile.TemporaryDirectory() as folder:
        _compare([*_trained_models(corpus), *_light_models(corpus, folder)])


if __name__ == "__main__":
    run_group([resnet50_runs_there, bert_runs_there, an_encoder_of_tensorflow_runs_there,
               the_training_of_a_network_runs_there, random_numbers_go_on_from_step_to_step, the_models_of_the_corpus_run_there])
