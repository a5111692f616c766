"""ResNet-50 and BERT as an exporter of PyTorch writes them: every node of the real networks, with weights from a seed.

A network is an ONNX model without its weights, and a file of these beside it. Weights are slices of one list of normal numbers,
each scaled as its layer needs it: they mean nothing, but numbers stay within a few units through all layers, as in a trained
network."""

import array
import os
import random
import struct

from onnx_model import ALIGNMENT, FLOAT, INT64, external_tensor, model, node, tensor, value

NOISE_COUNT = 65537  # a prime: rows of no matrix are equal
SEED = 50


class Network:
    """Nodes and weights in the order in which they are added. `path`: of the file for the weights."""

    def __init__(self, path, opset):
        self._path, self._opset = path, opset
        self._nodes, self._initializers = [], []
        draw = random.Random(SEED)
        self._noise = [draw.gauss(0, 1) for _ in range(NOISE_COUNT)]
        self._scaled = {}
        self._drawn = 0
        self._file = open(path, "wb")

    def add(self, kind, *inputs, output=None, **attributes):
        """Adds a node and returns the name of its output."""
        name = output or f"{kind}_{len(self._nodes)}"
        self._nodes.append(node(kind, inputs, [name], **attributes))
        return name

    def constant(self, dims, *numbers):
        """A small tensor of whole numbers, which lies in the model."""
        return self._keep(dims, struct.pack(f"<{len(numbers)}q", *numbers), INT64)

    def scalar(self, number):
        return self._keep([], struct.pack("<f", number), FLOAT)

    def _keep(self, dims, raw, dtype):
        name = f"c{len(self._initializers)}"
        self._initializers.append(tensor(name, dims, raw, dtype))
        return name

    def _numbers(self, scale, middle):
        """The bytes of all noise, twice, so that a slice may begin anywhere."""
        if (scale, middle) not in self._scaled:
            self._scaled[scale, middle] = array.array("f", (middle + scale * number for number in self._noise)).tobytes() * 2
        return self._scaled[scale, middle]

    def weight(self, dims, scale, middle=0.0):
        """Normal numbers around the middle; returns the weight's name."""
        size = 4
        for dim in dims:
            size *= dim
        numbers = self._numbers(scale, middle)
        period = len(numbers) // 2
        begin = 4 * (self._drawn * 7919 % NOISE_COUNT)
        self._drawn += 1
        self._file.seek(-(-self._file.tell() // ALIGNMENT) * ALIGNMENT)
        offset = self._file.tell()
        block = numbers[begin:begin + period]
        self._file.writelines([block] * (size // period) + [block[:size % period]])
        name = f"w{len(self._initializers)}"
        self._initializers.append(external_tensor(name, dims, os.path.basename(self._path), offset, size))
        return name

    def write(self, path, inputs, outputs):
        """Writes the model, which names its outputs, and ends the file of weights."""
        self._file.close()
        with open(path, "wb") as file:
            file.write(model(self._nodes, self._initializers, inputs, outputs, self._opset))


def _paths(folder, name):
    path = os.path.join(folder, f"{name}.onnx")
    return path, f"{path}.data"


def _normalise(network, source, channels, scale):
    parameters = [network.weight([channels], 0.1 * scale, scale), network.weight([channels], 0.1),
                  network.weight([channels], 0.1), network.weight([channels], 0.05, 1)]
    return network.add("BatchNormalization", source, *parameters, epsilon=1e-5)


def _convolve(network, source, inputs, outputs, size, stride, scale=1.0):
    """A convolution and its normalisation."""
    weight = network.weight([outputs, inputs, size, size], (2 / (inputs * size * size)) ** 0.5)
    convolved = network.add("Conv", source, weight, dilations=[1, 1], group=1, kernel_shape=[size, size],
                            pads=[size // 2] * 4, strides=[stride, stride])
    return _normalise(network, convolved, outputs, scale)


def _bottleneck(network, source, inputs, width, stride):
    outputs = 4 * width
    inner = network.add("Relu", _convolve(network, source, inputs, width, 1, 1))
    inner = network.add("Relu", _convolve(network, inner, width, width, 3, stride))
    inner = _convolve(network, inner, width, outputs, 1, 1, scale=0.3)
    shortcut = source if inputs == outputs else _convolve(network, source, inputs, outputs, 1, stride)
    return network.add("Relu", network.add("Add", inner, shortcut))


def write_resnet50(folder):
    """53 convolutions, for an image of any size: from "x" of [batch, 3, height, width] to "y" of [batch, 1000]. (He et al. 2015,
    table 1; the stride is in the convolution of 3 x 3, as in torchvision's.) Returns the paths of model and weights."""
    paths = _paths(folder, "resnet50")
    network = Network(paths[1], opset=13)
    last = network.add("Relu", _convolve(network, "x", 3, 64, 7, 2))
    last = network.add("MaxPool", last, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    channels = 64
    for width, blocks, first_stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            last = _bottleneck(network, last, channels, width, first_stride if block == 0 else 1)
            channels = 4 * width
    last = network.add("Flatten", network.add("GlobalAveragePool", last), axis=1)
    weight, bias = network.weight([1000, channels], 0.05), network.weight([1000], 0.1)
    network.add("Gemm", last, weight, bias, output="y", alpha=1.0, beta=1.0, transB=1)
    network.write(paths[0], [value("x", [-1, 3, -1, -1])], [value("y", [-1, 1000])])
    return paths


WIDTH, HEADS, LAYERS, INNER, WORDS, POSITIONS = 768, 12, 12, 3072, 30522, 512
SPREAD = 0.03  # of weights; BERT's are drawn with 0.02


class _Bert:
    """The nodes of a BERT encoder, as an exporter writes them that knows no LayerNormalization and no Gelu."""

    def __init__(self, network):
        self._network = network
        self.add = network.add
        self._one = network.scalar(1)
        self._square = network.scalar(2)
        self._epsilon = network.scalar(1e-12)
        self._root = network.scalar(2 ** 0.5)
        self._half = network.scalar(0.5)

    def size_of(self, source, dimension):
        """One size of a tensor, as a list of one."""
        index = self._network.constant([], dimension)
        size = self.add("Gather", self.add("Shape", source), index, axis=0)
        return self.add("Unsqueeze", size, self._network.constant([1], 0))

    def reshape(self, source, *sizes):
        """To the first two sizes of `source` itself, and then these."""
        sizes = [self._network.constant([1], size) for size in sizes]
        shape = self.add("Concat", self.size_of(source, 0), self.size_of(source, 1), *sizes, axis=0)
        return self.add("Reshape", source, shape)

    def dense(self, source, inputs, outputs):
        product = self.add("MatMul", source, self._network.weight([inputs, outputs], SPREAD))
        return self.add("Add", self._network.weight([outputs], SPREAD), product)

    def normalise(self, source):
        centred = self.add("Sub", source, self.add("ReduceMean", source, axes=[-1], keepdims=1))
        squares = self.add("Pow", centred, self._square)
        variance = self.add("Add", self.add("ReduceMean", squares, axes=[-1], keepdims=1), self._epsilon)
        normal = self.add("Div", centred, self.add("Sqrt", variance))
        scaled = self.add("Mul", normal, self._network.weight([WIDTH], 0.1, 1))
        return self.add("Add", scaled, self._network.weight([WIDTH], 0.1))

    def gelu(self, source):
        error = self.add("Erf", self.add("Div", source, self._root))
        return self.add("Mul", self.add("Mul", source, self.add("Add", error, self._one)), self._half)

    def mask(self, source):
        """Of 0 where a word is, and far below it elsewhere."""
        mask = source
        for axis in (1, 2):
            mask = self.add("Unsqueeze", mask, self._network.constant([1], axis))
        nothing = self.add("Sub", self._one, self.add("Cast", mask, to=FLOAT))
        return self.add("Mul", nothing, self._network.scalar(-10000))

    def heads(self, source, perm):
        return self.add("Transpose", self.reshape(self.dense(source, WIDTH, WIDTH), HEADS, WIDTH // HEADS), perm=perm)

    def attend(self, source, mask):
        query, key, value_heads = (self.heads(source, perm) for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = self.add("Div", self.add("MatMul", query, key), self._network.scalar((WIDTH // HEADS) ** 0.5))
        shares = self.add("Softmax", self.add("Add", scores, mask), axis=-1)
        mixed = self.add("Transpose", self.add("MatMul", shares, value_heads), perm=[0, 2, 1, 3])
        return self.dense(self.reshape(mixed, WIDTH), WIDTH, WIDTH)

    def layer(self, source, mask):
        attended = self.normalise(self.add("Add", self.attend(source, mask), source))
        inner = self.gelu(self.dense(attended, WIDTH, INNER))
        return self.normalise(self.add("Add", self.dense(inner, INNER, WIDTH), attended))

    def embed(self, words, kinds):
        network = self._network
        every = network.constant([1, POSITIONS], *range(POSITIONS))
        zero, axis, step = (network.constant([1], number) for number in (0, 1, 1))
        positions = self.add("Slice", every, zero, self.size_of(words, 1), axis, step)
        tables = [network.weight([count, WIDTH], SPREAD) for count in (WORDS, 2, POSITIONS)]
        word, kind, position = (self.add("Gather", *both, axis=0) for both in zip(tables, (words, kinds, positions)))
        return self.normalise(self.add("Add", self.add("Add", word, kind), position))

    def pool(self, source):
        """Of the first word only."""
        first = self.add("Gather", source, self._network.constant([], 0), axis=1)
        weight, bias = self._network.weight([WIDTH, WIDTH], SPREAD), self._network.weight([WIDTH], SPREAD)
        self.add("Tanh", self.add("Gemm", first, weight, bias, alpha=1.0, beta=1.0, transB=1), output="pooler_output")


def write_bert(folder):
    """BERT-base (Devlin et al. 2018; uncased: 30,522 words): from "input_ids", "attention_mask" and "token_type_ids" of
    [batch, words] to "last_hidden_state" and "pooler_output". Returns the paths of model and weights."""
    paths = _paths(folder, "bert")
    network = Network(paths[1], opset=13)
    bert = _Bert(network)
    mask = bert.mask("attention_mask")
    last = bert.embed("input_ids", "token_type_ids")
    for _ in range(LAYERS):
        last = bert.layer(last, mask)
    bert.pool(last)
    bert.add("Identity", last, output="last_hidden_state")
    inputs = [value(name, [-1, -1], INT64) for name in ("input_ids", "attention_mask", "token_type_ids")]
    network.write(paths[0], inputs, [value("last_hidden_state", [-1, -1, WIDTH]), value("pooler_output", [-1, WIDTH])])
    return paths
