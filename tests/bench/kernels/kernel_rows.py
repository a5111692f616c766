"""The rows of the table of kernels: models of one node each, with the shapes that published models have.

A row is (name, op, inputs, attributes, floating-point operations or 0). An input is an array that is fed, or
Weights(array), an initializer. Op names may carry a domain ("com.microsoft::Gelu")."""

import numpy
from onnx import TensorProto, helper, numpy_helper

OPSET = 23
DOMAINS = ("ai.onnx.ml", "com.microsoft")
_generator = numpy.random.default_rng(1)


class Weights:
    def __init__(self, value):
        self.value = value


def _normal(*shape, dtype=numpy.float32):
    return _generator.standard_normal(shape).astype(dtype)


def _bytes(*shape, dtype=numpy.uint8):
    limits = numpy.iinfo(dtype)
    return _generator.integers(limits.min, limits.max + 1, shape).astype(dtype)


def _number(value, dtype=numpy.float32):
    return Weights(numpy.array(value, dtype))


MILLION = (1024, 1024)
SCALE = _number(0.02)
ZERO = _number(128, numpy.uint8)


def _unary(op, dtype=numpy.float32, **attributes):
    suffix = "" if dtype is numpy.float32 else f" {numpy.dtype(dtype).name}"
    return (f"{op} 1M{suffix}", op, [_normal(*MILLION).astype(dtype)], attributes, 0)


def _conv(name, inputs, filters, **attributes):
    """`inputs` and `filters` are shapes; the operations are counted for an output of the input's size over the strides."""
    strides = attributes.get("strides", [1] * (len(inputs) - 2))
    points = numpy.prod([size // stride for size, stride in zip(inputs[2:], strides)])
    work = 2 * inputs[0] * points * numpy.prod(filters)
    attributes.setdefault("kernel_shape", list(filters[2:]))
    attributes.setdefault("pads", [size // 2 for size in filters[2:]] * 2)
    return (f"Conv {name}", "Conv", [_normal(*inputs), Weights(_normal(*filters))], attributes, int(work))


def _product(m, k, n, dtype=numpy.float32):
    suffix = "" if dtype is numpy.float32 else f" {numpy.dtype(dtype).name}"
    return (f"MatMul {m}x{k}x{n}{suffix}", "MatMul", [_normal(m, k).astype(dtype), Weights(_normal(k, n).astype(dtype))], {},
            2 * m * k * n)


def _batched(batch, m, k, n):
    return (f"MatMul {batch} of {m}x{k}x{n}", "MatMul", [_normal(batch, m, k), _normal(batch, k, n)], {}, 2 * batch * m * k * n)


def _recurrent(op, gates, steps, inputs, hidden):
    # Small, so that a difference in rounding does not grow from step to step.
    weights = [Weights(0.05 * _normal(1, gates * hidden, size)) for size in (inputs, hidden)]
    return (f"{op} {steps} steps, {inputs} to {hidden}", op, [_normal(steps, 1, inputs), *weights], {"hidden_size": hidden},
            2 * steps * gates * hidden * (inputs + hidden))


def _integer_conv(name, inputs, filters, **attributes):
    _, _, _, attributes, work = _conv(name, inputs, filters, **attributes)
    weights = [Weights(_bytes(*filters, dtype=numpy.int8)), SCALE, _number(0, numpy.int8), SCALE, ZERO]
    return (f"QLinearConv {name}", "QLinearConv", [_bytes(*inputs), SCALE, ZERO, *weights], attributes, work)


def _grouped(name, tokens, past):
    """The attention of a decoder, of 32 heads that share eight keys and values."""
    angles = [Weights(_normal(2048, 32)) for _ in range(2)]
    counts = [Weights(numpy.array([past + tokens - 1], numpy.int32)), _number(past + tokens, numpy.int32)]
    inputs = [_normal(1, tokens, 2048), _normal(1, tokens, 512), _normal(1, tokens, 512)] + [_normal(1, 8, past, 64) for _ in range(2)]
    return (f"GroupQueryAttention 32 heads of 8, {name}", "com.microsoft::GroupQueryAttention", [*inputs, *counts, *angles],
            {"num_heads": 32, "kv_num_heads": 8, "do_rotary": 1}, 2 * 2 * 32 * tokens * (past + (tokens + 1) // 2) * 64)


def _nibbles(m, k, n, **attributes):
    suffix = "".join(f", {name} {value}" for name, value in attributes.items())
    weights = [Weights(_bytes(n, k // 32, 16)), Weights(_normal(n * (k // 32)))]
    return (f"MatMulNBits {m}x{k}x{n}{suffix}", "com.microsoft::MatMulNBits", [_normal(m, k), *weights],
            {"K": k, "N": n, "bits": 4, "block_size": 32, **attributes}, 2 * m * k * n)


def _quantized(op, count, domain="com.microsoft::"):
    sides = [_bytes(*MILLION), SCALE, ZERO] * count
    return (f"{op} 1M", domain + op, [*sides, SCALE, ZERO], {}, 0)


def rows():
    half = numpy.float16
    grid = numpy.clip(_normal(1, 56, 56, 2), -1, 1)
    return [
        _product(1024, 1024, 1024), _product(128, 768, 3072), _product(197, 192, 576), _product(26, 512, 1024),
        _product(1, 1024, 1024), _product(128, 768, 768, half),
        _batched(12, 128, 64, 128), _batched(12, 128, 128, 64), _batched(3, 197, 64, 197), _batched(3, 197, 197, 64),
        _conv("7x7/2 3 to 64, 224", (1, 3, 224, 224), (64, 3, 7, 7), strides=[2, 2]),
        _conv("3x3 64 to 64, 56", (1, 64, 56, 56), (64, 64, 3, 3)),
        _conv("3x3 512 to 512, 7", (1, 512, 7, 7), (512, 512, 3, 3)),
        _conv("1x1 256 to 64, 56", (1, 256, 56, 56), (64, 256, 1, 1)),
        _conv("3x3 depthwise 144, 56", (1, 144, 56, 56), (144, 1, 3, 3), group=144),
        _conv("5x5 depthwise 240, 28", (1, 240, 28, 28), (240, 1, 5, 5), group=240),
        _conv("5 256 to 512, 512", (1, 256, 512), (512, 256, 5)),
        ("ConvTranspose 2x2/2 64 to 32, 56", "ConvTranspose", [_normal(1, 64, 56, 56), Weights(_normal(64, 32, 2, 2))],
         {"strides": [2, 2]}, 2 * 4 * 64 * 32 * 56 * 56),
        _recurrent("LSTM", 4, 26, 512, 256), _recurrent("GRU", 3, 26, 512, 256),
        *[_unary(op) for op in ("Relu", "LeakyRelu", "HardSwish", "HardSigmoid", "Sigmoid", "Tanh", "Erf", "Gelu", "Exp", "Log",
                                "Sqrt", "Softplus", "Elu", "Mish", "Sin", "Floor", "Round", "Abs")],
        ("PRelu 64 of 128x128", "PRelu", [_normal(1, 64, 128, 128), Weights(_normal(64, 1, 1))], {}, 0),
        ("Add 1M", "Add", [_normal(*MILLION), _normal(*MILLION)], {}, 0),
        ("Add 1M, a row", "Add", [_normal(*MILLION), _normal(1024)], {}, 0),
        ("Mul 1x64x128x128 by 1x64x1x1", "Mul", [_normal(1, 64, 128, 128), _normal(1, 64, 1, 1)], {}, 0),
        ("Pow 1M, 2", "Pow", [_normal(*MILLION), _number(2)], {}, 0),
        ("Clip 1M", "Clip", [_normal(*MILLION), _number(-1), _number(1)], {}, 0),
        ("Where 1M", "Where", [_normal(*MILLION) > 0, _normal(*MILLION), _normal(*MILLION)], {}, 0),
        ("Greater 1M", "Greater", [_normal(*MILLION), _normal(*MILLION)], {}, 0),
        ("Cast 1M float16", "Cast", [_normal(*MILLION)], {"to": TensorProto.FLOAT16}, 0),
        ("Cast 1M int64", "Cast", [_normal(*MILLION)], {"to": TensorProto.INT64}, 0),
        ("Softmax 12x197x197", "Softmax", [_normal(12, 197, 197)], {}, 0),
        ("Softmax 40x6625", "Softmax", [_normal(40, 6625)], {}, 0),
        ("LogSoftmax 128x1000", "LogSoftmax", [_normal(128, 1000)], {}, 0),
        ("LayerNormalization 128x768", "LayerNormalization", [_normal(128, 768), Weights(_normal(768)), Weights(_normal(768))], {}, 0),
        ("LayerNormalization 128x768 float16", "LayerNormalization",
         [_normal(128, 768, dtype=half), Weights(_normal(768, dtype=half)), Weights(_normal(768, dtype=half))], {}, 0),
        ("InstanceNormalization 64x128x128", "InstanceNormalization",
         [_normal(1, 64, 128, 128), Weights(_normal(64)), Weights(_normal(64))], {}, 0),
        ("BatchNormalization 64x56x56", "BatchNormalization",
         [_normal(1, 64, 56, 56), *[Weights(numpy.abs(_normal(64))) for _ in range(4)]], {}, 0),
        ("MaxPool 3x3/2 64, 112", "MaxPool", [_normal(1, 64, 112, 112)], {"kernel_shape": [3, 3], "strides": [2, 2],
                                                                         "pads": [1, 1, 1, 1]}, 0),
        ("AveragePool 3x3 64, 56", "AveragePool", [_normal(1, 64, 56, 56)], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, 0),
        ("GlobalAveragePool 96x56x56", "GlobalAveragePool", [_normal(1, 96, 56, 56)], {}, 0),
        ("ReduceMean 1024x1024, last", "ReduceMean", [_normal(*MILLION), Weights(numpy.array([1]))], {}, 0),
        ("ReduceSum 1024x1024, first", "ReduceSum", [_normal(*MILLION), Weights(numpy.array([0]))], {}, 0),
        ("ArgMax 1024x1024, last", "ArgMax", [_normal(*MILLION)], {"axis": 1}, 0),
        ("TopK 10 of 1024x1024", "TopK", [_normal(*MILLION), Weights(numpy.array([10]))], {}, 0),
        ("CumSum 1024x1024, last", "CumSum", [_normal(*MILLION), _number(1, numpy.int64)], {}, 0),
        ("Transpose 1024x1024", "Transpose", [_normal(*MILLION)], {}, 0),
        ("Transpose 1x197x12x64 to heads", "Transpose", [_normal(1, 197, 12, 64)], {"perm": [0, 2, 1, 3]}, 0),
        ("Concat 2 of 64x56x56, channels", "Concat", [_normal(1, 64, 56, 56), _normal(1, 64, 56, 56)], {"axis": 1}, 0),
        ("Gather 128 rows of 30522x256", "Gather", [Weights(_normal(30522, 256)), _generator.integers(0, 30522, (1, 128))], {}, 0),
        ("Slice 1024x512 of 1024x1024", "Slice", [_normal(*MILLION), *[Weights(numpy.array([n])) for n in (0, 1024, 1, 2)]], {}, 0),
        ("Pad 64x56x56 by 1", "Pad", [_normal(1, 64, 56, 56), Weights(numpy.array([0, 0, 1, 1, 0, 0, 1, 1]))], {}, 0),
        ("Resize 64x56x56 by 2, nearest", "Resize", [_normal(1, 64, 56, 56), None, Weights(numpy.array([1, 1, 2, 2], numpy.float32))],
         {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}, 0),
        ("Resize 64x56x56 by 2, linear", "Resize", [_normal(1, 64, 56, 56), None, Weights(numpy.array([1, 1, 2, 2], numpy.float32))],
         {"mode": "linear"}, 0),
        ("GridSample 32x56x56", "GridSample", [_normal(1, 32, 56, 56), grid], {}, 0),
        ("QuantizeLinear 1M", "QuantizeLinear", [_normal(*MILLION), SCALE, ZERO], {}, 0),
        ("DequantizeLinear 1M", "DequantizeLinear", [_bytes(*MILLION), SCALE, ZERO], {}, 0),
        ("DynamicQuantizeLinear 1M", "DynamicQuantizeLinear", [_normal(*MILLION)], {}, 0),
        ("MatMulInteger 128x768x768", "MatMulInteger", [_bytes(128, 768), Weights(_bytes(768, 768, dtype=numpy.int8)), ZERO], {},
         2 * 128 * 768 * 768),
        ("QLinearMatMul 128x768x768", "QLinearMatMul",
         [_bytes(128, 768), SCALE, ZERO, Weights(_bytes(768, 768, dtype=numpy.int8)), SCALE, _number(0, numpy.int8), SCALE, ZERO], {},
         2 * 128 * 768 * 768),
        _integer_conv("3x3 64 to 64, 56", (1, 64, 56, 56), (64, 64, 3, 3)),
        _integer_conv("1x1 256 to 64, 56", (1, 256, 56, 56), (64, 256, 1, 1)),
        _integer_conv("3x3 depthwise 144, 56", (1, 144, 56, 56), (144, 1, 3, 3), group=144),
        _quantized("QLinearAdd", 2), _quantized("QLinearMul", 2), _quantized("QLinearSigmoid", 1), _quantized("QLinearLeakyRelu", 1),
        ("QLinearGlobalAveragePool 96x56x56", "com.microsoft::QLinearGlobalAveragePool",
         [_bytes(1, 96, 56, 56), SCALE, ZERO, SCALE, ZERO], {}, 0),
        ("QuickGelu 1M", "com.microsoft::QuickGelu", [_normal(*MILLION)], {}, 0),
        ("SkipLayerNormalization 128x768", "com.microsoft::SkipLayerNormalization",
         [_normal(1, 128, 768), _normal(1, 128, 768), Weights(_normal(768)), Weights(_normal(768))], {}, 0),
        ("MultiHeadAttention 12 heads, 128x64", "com.microsoft::MultiHeadAttention", [_normal(1, 128, 768) for _ in range(3)],
         {"num_heads": 12}, 2 * 2 * 12 * 128 * 128 * 64),
        ("Attention 12 heads, 197x64", "Attention", [_normal(1, 12, 197, 64) for _ in range(3)], {}, 2 * 2 * 12 * 197 * 197 * 64),
        ("Attention 32 heads, one token, past of 1023", "Attention",
         [_normal(1, 32, 1, 64) for _ in range(3)] + [None] + [_normal(1, 32, 1023, 64) for _ in range(2)], {"is_causal": 1},
         2 * 2 * 32 * 1024 * 64),
        _grouped("one token, past of 1023", 1, 1023), _grouped("256 tokens", 256, 0),
        _nibbles(1, 2048, 5632), _nibbles(128, 2048, 5632), _nibbles(1, 2048, 5632, accuracy_level=4),
        _nibbles(128, 2048, 5632, accuracy_level=4),
    ]


OUTPUTS = {"DynamicQuantizeLinear": 3, "GroupQueryAttention": 3, "TopK": 2}


def _outputs(op, inputs):
    """The names of the outputs; those of Attention with a past hold the present, too."""
    count = 3 if op == "Attention" and len(inputs) > 4 else OUTPUTS.get(op, 1)
    return [f"y{index}" for index in range(count)]


def model_of(row):
    """(model, feeds by name, names of outputs)"""
    _, op, inputs, attributes, _ = row
    domain, _, name = op.rpartition("::")
    names, feeds, initializers, declared = [], {}, [], []
    for index, value in enumerate(inputs):
        names.append("" if value is None else f"x{index}")
        if isinstance(value, Weights):
            initializers.append(numpy_helper.from_array(value.value, names[-1]))
        elif value is not None:
            feeds[names[-1]] = value
            declared.append(helper.make_tensor_value_info(names[-1], helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
    outputs = _outputs(name, inputs)
    node = helper.make_node(name, names, outputs, domain=domain, **attributes)
    results = [helper.make_empty_tensor_value_info(output) for output in outputs]
    graph = helper.make_graph([node], "row", declared, results, initializers)
    imports = [helper.make_opsetid("", OPSET), *[helper.make_opsetid(other, 1) for other in DOMAINS if other == domain]]
    return helper.make_model(graph, opset_imports=imports, ir_version=10), feeds, outputs
