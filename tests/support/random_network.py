"""Random layers of neural networks, for test drivers: what each is follows from its seed alone."""

import math

from graph_builder import Type
from random_graph import FLOAT, INT, RandomGraph

BYTE = "uint8"
COUNT_MAX = 4096  # elements of a value that a layer reads
ACTIVATIONS = ["Relu", "Relu6", "LeakyRelu", "Elu", "Sigmoid", "Tanh"]


class RandomNetwork(RandomGraph):
    """Layers alone, without a step anywhere between numbers that are close: what is rounded otherwise stays close."""

    def _grow(self, scope):
        self._random.choice([self._dense, self._convolve] * 4 + [self._quantised])(scope)

    def _shape(self):
        return [self._random.randint(2, 6) for _ in range(self._random.randint(2, 3))]

    def _weights(self, scope, shape, terms=1):
        """About as large as keeps sums of so many terms about as large as the terms."""
        values = [round(value / math.sqrt(terms), 4) for value in self._floats(math.prod(shape))]
        return self._constant(scope, FLOAT, shape, values)

    def _finish_layer(self, scope, name, shape):
        """Some of what follows a convolution or a product: a normalisation, a bias, an addend, an activation."""
        channels = shape[-1]
        if self._random.random() < 0.5:
            scale, offset, mean = (self._weights(scope, [channels]) for _ in range(3))
            name = self._add("Mul", self._add("Sub", name, mean, T=Type(FLOAT)), scale, T=Type(FLOAT))
            name = self._add("Add", offset, name, T=Type(FLOAT))
        elif self._random.random() < 0.7:
            name = self._add("BiasAdd", name, self._weights(scope, [channels]), T=Type(FLOAT))
        addend = self._pick(scope, lambda value: value.shape == shape)
        if addend is not None and self._random.random() < 0.5:
            name = self._add("AddV2", name, addend.name, T=Type(FLOAT))
        if self._random.random() < 0.8:
            written_out = {"gelu": self._gelu, "swish": self._swish}
            activation = self._random.choice([*ACTIVATIONS, *written_out])
            name = written_out[activation](scope, name) if activation in written_out else self._add(activation, name, T=Type(FLOAT))
        return self._keep(scope, name, shape)

    def _gelu(self, scope, name):
        """The Gaussian error linear unit as models write it out."""
        root, one, half = (self._constant(scope, FLOAT, [], [value]) for value in (math.sqrt(2), 1, 0.5))
        error = self._add("Erf", self._add("RealDiv", name, root, T=Type(FLOAT)), T=Type(FLOAT))
        share = self._add("Mul", half, self._add("AddV2", error, one, T=Type(FLOAT)), T=Type(FLOAT))
        return self._add("Mul", name, share, T=Type(FLOAT))

    def _swish(self, scope, name):
        """x times a gate of x, soft or hard, as models write it out."""
        if self._random.random() < 0.5:
            return self._add("Mul", name, self._add("Sigmoid", name, T=Type(FLOAT)), T=Type(FLOAT))
        three, six = (self._constant(scope, FLOAT, [], [value]) for value in (3, 6))
        limited = self._add("Relu6", self._add("AddV2", name, three, T=Type(FLOAT)), T=Type(FLOAT))
        return self._add("RealDiv", self._add("Mul", name, limited, T=Type(FLOAT)), six, T=Type(FLOAT))

    def _dense(self, scope):
        value = self._pick(scope, lambda value: len(value.shape) == 2 and value.count() < COUNT_MAX)
        if value is None:
            return
        inner, columns = value.shape[1], self._random.randint(1, 7)
        weights = self._weights(scope, [inner, columns], inner)
        product = self._add("MatMul", value.name, weights, T=Type(FLOAT), transpose_a=False, transpose_b=False)
        self._finish_layer(scope, product, [value.shape[0], columns])

    def _quantised(self, scope):
        """A product between quantised numbers. Its sides are constant and its scales powers of two, so that none of its numbers
        can be rounded to the next one."""
        rows, inner, columns = (self._random.randint(2, 6) for _ in range(3))
        sides = [self._requantise(scope, self._weights(scope, shape)) for shape in ([rows, inner], [inner, columns])]
        product = self._add("onnx::MatMul", *sides, T=Type(FLOAT))
        self._keep(scope, self._requantise(scope, product), [rows, columns])

    def _requantise(self, scope, name):
        """The numbers as floats again after they were quantised to bytes around 128."""
        scaling = [self._constant(scope, FLOAT, [], [2.0**-5]), self._constant(scope, BYTE, [], [128])]
        types = {"T1": Type(FLOAT), "T2": Type(FLOAT), "T3": Type(BYTE)}
        quantised = self._add("onnx::QuantizeLinear", name, *scaling, **types)
        return self._add("onnx::DequantizeLinear", quantised, *scaling, T1=Type(BYTE), T2=Type(FLOAT))

    def _convolve(self, scope):
        """Over a value of three dimensions as one image, which becomes three again."""
        value = self._pick(scope, lambda value: len(value.shape) == 3 and value.count() < COUNT_MAX)
        if value is None:
            return
        size, inner, channels = self._random.choice([1, 3]), value.shape[2], self._random.randint(1, 7)
        image = self._add("Reshape", value.name, self._ints(scope, [1] + value.shape), T=Type(FLOAT), Tshape=Type(INT))
        weights = self._weights(scope, [size, size, inner, channels], size * size * inner)
        padding = "SAME"
        if self._random.random() < 0.3:
            image, padding = self._pad(scope, image, size - 1), "VALID"
        sums = self._add("Conv2D", image, weights, T=Type(FLOAT), strides=[1, 1, 1, 1], padding=padding)
        if self._random.random() < 0.5:
            sums = self._normalise(scope, sums, channels)
        done = self._finish_layer(scope, sums, [1] + value.shape[:2] + [channels])
        shape = value.shape[:2] + [channels]
        name = self._add("Reshape", done.name, self._ints(scope, shape), T=Type(FLOAT), Tshape=Type(INT))
        self._keep(scope, name, shape)

    def _pad(self, scope, image, more):
        """Rows and columns of zeros around an image, so many in all."""
        sides = [0, 0]
        for front in (self._random.randint(0, more), self._random.randint(0, more)):
            sides += [front, more - front]
        amounts = self._constant(scope, INT, [4, 2], [*sides, 0, 0])
        return self._add("Pad", image, amounts, T=Type(FLOAT), Tpaddings=Type(INT))

    def _normalise(self, scope, name, channels):
        scale, offset, mean, deviation = (self._weights(scope, [channels]) for _ in range(4))
        variance = self._add("Square", deviation, T=Type(FLOAT))
        return self._add("FusedBatchNormV3", name, scale, offset, mean, variance, T=Type(FLOAT), U=Type(FLOAT),
                         is_training=False, epsilon=0.5)
