"""The light models of the corpus (onnx/onnx: whole networks whose weights are all made by ConstantOfShape), for smaller images."""

import os
import struct

import onnx_model

# The size of a model's image, and the whole numbers that follow from it, by what they are for an image of 224 x 224. That of
# ShuffleNet stays, for it has too many.
SIZES = {"bvlc_alexnet": (96, {9216: 1024}), "densenet121": (64, {}), "inception_v1": (64, {}), "inception_v2": (64, {}),
         "resnet50": (32, {}), "shufflenet": (224, {}), "squeezenet": (64, {}), "vgg19": (32, {25088: 512}),
         "zfnet512": (64, {18432: 512})}
WHOLE, POOL = 224, 7  # the size of their own images, and of the last pool's window for these

# Where parts of a model lie: numbers of fields in onnx.proto.
GRAPH = (7,)
NODES, INITIALIZERS, OUTPUTS = 1, 5, 12
IMAGE = (7, 11, 2, 1, 2, 1, 1)  # graph, input, type, tensor_type, shape, dim, dim_value
NODE_INPUT, NODE_KIND, ATTRIBUTE_INTS = 1, 4, (5, 8)
TENSOR_DTYPE, TENSOR_RAW = 2, (9,)


def _shrink_pool(size):
    def change(node):
        is_pool = (NODE_KIND, 2, b"AveragePool") in onnx_model.fields(node)
        return onnx_model.edit(node, ATTRIBUTE_INTS, shrink) if is_pool else node

    def shrink(number):
        return POOL * size // WHOLE if number == POOL else number
    return change


def _shrink_shapes(numbers):
    def change(tensor):
        is_shape = (TENSOR_DTYPE, 0, onnx_model.INT64) in onnx_model.fields(tensor)
        return onnx_model.edit(tensor, TENSOR_RAW, replace) if is_shape else tensor

    def replace(raw):
        count = len(raw) // 8
        return struct.pack(f"<{count}q", *(numbers.get(number, number) for number in struct.unpack(f"<{count}q", raw)))
    return change


def _show_sums(graph):
    """Makes what the last Softmax reads an output: all weights of a layer are equal, and so are all shares."""
    last = [item for field, _, item in onnx_model.fields(graph) if field == NODES][-1]
    fields = list(onnx_model.fields(last))
    if (NODE_KIND, 2, b"Softmax") not in fields:
        return graph
    sums = next(item.decode() for field, _, item in fields if field == NODE_INPUT)
    return graph + onnx_model.text(OUTPUTS, onnx_model.value(sums, None))


def write_light(corpus, name, folder):
    """Writes the light model of this name for an image of its smaller size; returns the path."""
    size, numbers = SIZES[name]
    with open(os.path.join(corpus, f"models/light/light_{name}.onnx"), "rb") as file:
        model = file.read()
    model = onnx_model.edit(model, IMAGE, lambda number: size if number == WHOLE else number)
    model = onnx_model.edit(model, (*GRAPH, NODES), _shrink_pool(size))
    model = onnx_model.edit(model, (*GRAPH, INITIALIZERS), _shrink_shapes(numbers))
    model = onnx_model.edit(model, GRAPH, _show_sums)
    path = os.path.join(folder, f"{name}.onnx")
    with open(path, "wb") as file:
        file.write(model)
    return path
