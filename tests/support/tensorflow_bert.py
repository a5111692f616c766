"""An encoder as BERT's own code writes it for TensorFlow 1 (google-research/bert, modeling.py, frozen): words, positions and
kinds of words are embedded, and layers attend, with sizes that are read from the tensors."""

import random

from graph_builder import GraphBuilder, Shape, Type

FLOAT, INT = Type("float32"), Type("int32")
FEEDS = ("input_ids", "input_mask", "segment_ids")
WORDS, POSITIONS, KINDS = 1000, 64, 2


class TensorflowBert:
    """`graph`: feeds input_ids, input_mask and segment_ids, int32 of [batch, words]; fetches `output` and `pooled`."""

    def __init__(self, width=128, heads=4, layers=2, seed=7):
        self.graph = GraphBuilder()
        self._width, self._heads = width, heads
        self._random = random.Random(seed)
        words, mask, kinds = (self.graph.placeholder(name, "int32", [-1, -1]) for name in FEEDS)
        self._batch, self._length = self._sizes(words)
        adder = self._mask(mask)
        last = self._reshape(self._embed(words, kinds), -1, width)
        for _ in range(layers):
            last = self._layer(last, adder)
        self.output = self._reshape(last, self._batch, self._length, width)
        self.pooled = self._pool()

    def _add(self, op, *inputs, **attrs):
        return self.graph.add(op, *inputs, T=FLOAT, **attrs)

    def _weight(self, *shape, scale=0.05, middle=0.0):
        count = 1
        for size in shape:
            count *= size
        return self.graph.constant("float32", list(shape), [self._random.gauss(middle, scale) for _ in range(count)])

    def _number(self, value):
        return self.graph.constant("float32", [], [value])

    def _whole(self, *values):
        return self.graph.constant("int32", [len(values)], values)

    def _index(self, value):
        return self.graph.constant("int32", [], [value])

    def _sizes(self, source):
        shape = self.graph.add("Shape", source, T=INT, out_type=INT)
        return [self.graph.add("StridedSlice", shape, self._whole(axis), self._whole(axis + 1), self._whole(1),
                               T=INT, Index=INT, shrink_axis_mask=1) for axis in (0, 1)]

    def _pack(self, *sizes):
        parts = [self._index(size) if isinstance(size, int) else size for size in sizes]
        return self.graph.add("Pack", *parts, N=len(parts), T=INT, axis=0)

    def _reshape(self, source, *sizes, dtype=FLOAT):
        return self.graph.add("Reshape", source, self._pack(*sizes), T=dtype, Tshape=INT)

    def _dense(self, source, inputs, outputs):
        product = self._add("MatMul", source, self._weight(inputs, outputs))
        return self._add("BiasAdd", product, self._weight(outputs))

    def _moment(self, source):
        return self._add("Mean", source, self._whole(-1), keep_dims=True, Tidx=INT)

    def _normalise(self, source):
        mean = self._moment(source)
        variance = self._moment(self._add("SquaredDifference", source, mean))
        root = self._add("Rsqrt", self._add("AddV2", variance, self._number(1e-12)))
        scale = self._add("Mul", root, self._weight(self._width, scale=0.1, middle=1))
        shift = self._add("Sub", self._weight(self._width), self._add("Mul", mean, scale))
        return self._add("AddV2", self._add("Mul", source, scale), shift)

    def _gelu(self, source):
        cube = self._add("Mul", self._number(0.044715), self._add("Pow", source, self._number(3)))
        inner = self._add("Mul", self._number(0.7978845608), self._add("AddV2", source, cube))
        share = self._add("Mul", self._number(0.5), self._add("AddV2", self._number(1), self._add("Tanh", inner)))
        return self._add("Mul", source, share)

    def _mask(self, mask):
        """What is added to scores: 0, or far below it where no word is."""
        row = self.graph.add("Cast", self._reshape(mask, self._batch, 1, 1, self._length, dtype=INT), SrcT=INT, DstT=FLOAT)
        ones = self._add("Fill", self._pack(self._batch, 1, self._length, 1), self._number(1), index_type=INT)
        nothing = self._add("Sub", self._number(1), self._add("Mul", ones, row))
        return self._add("Mul", nothing, self._number(-10000))

    def _embed(self, words, kinds):
        flat = self._reshape(words, -1, dtype=INT)
        table = self._weight(WORDS, self._width)
        word = self.graph.add("GatherV2", table, flat, self._index(0), Tparams=FLOAT, Tindices=INT, Taxis=INT)
        numbers = [self._index(KINDS), self._number(1), self._number(0)]
        one_hot = self._add("OneHot", self._reshape(kinds, -1, dtype=INT), *numbers, TI=INT, axis=-1)
        kind = self._add("MatMul", one_hot, self._weight(KINDS, self._width))
        both = self._reshape(self._add("AddV2", word, kind), self._batch, self._length, self._width)
        every = self._weight(POSITIONS, self._width)
        position = self._add("Slice", every, self._whole(0, 0), self._pack(self._length, -1), Index=INT)
        return self._normalise(self._add("AddV2", both, self._reshape(position, 1, self._length, self._width)))

    def _split_heads(self, source):
        parts = self._reshape(source, self._batch, self._length, self._heads, self._width // self._heads)
        return self._add("Transpose", parts, self._whole(0, 2, 1, 3), Tperm=INT)

    def _attend(self, source, adder):
        query, key, value = (self._split_heads(self._dense(source, self._width, self._width)) for _ in range(3))
        scale = self._number((self._width / self._heads) ** -0.5)
        scores = self._add("Mul", self._add("BatchMatMulV2", query, key, adj_y=True), scale)
        shares = self._add("Softmax", self._add("AddV2", scores, adder))
        mixed = self._add("Transpose", self._add("BatchMatMulV2", shares, value), self._whole(0, 2, 1, 3), Tperm=INT)
        return self._dense(self._reshape(mixed, -1, self._width), self._width, self._width)

    def _layer(self, source, adder):
        attended = self._normalise(self._add("AddV2", self._attend(source, adder), source))
        inner = self._gelu(self._dense(attended, self._width, 4 * self._width))
        return self._normalise(self._add("AddV2", self._dense(inner, 4 * self._width, self._width), attended))

    def _pool(self):
        first = self.graph.add("StridedSlice", self.output, self._whole(0, 0, 0), self._whole(0, 1, 0), self._whole(1, 1, 1),
                               T=FLOAT, Index=INT, begin_mask=5, end_mask=5)
        flat = self._add("Squeeze", first, squeeze_dims=[1])
        return self._add("Tanh", self._dense(flat, self._width, self._width))
