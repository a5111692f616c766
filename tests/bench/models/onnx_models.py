"""Models of ONNX, whose rival is ONNX Runtime."""

import model_inputs
import numpy
import onnxruntime

RIVAL = "ONNX Runtime"
VERSION = onnxruntime.__version__
CHILD = "onnxruntime_child.py"
CONTENT_TYPE = "application/onnx"
# A model that magnifies sums in another order (an image of noise, in which a detector finds nothing but 1e-5 everywhere) may
# differ by what ONNX Runtime's own optimizations change, twice.
OWN_CHANGES = 2
DTYPES = {
    "tensor(float)": numpy.float32, "tensor(double)": numpy.float64, "tensor(float16)": numpy.float16,
    "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32, "tensor(uint8)": numpy.uint8, "tensor(int8)": numpy.int8,
    "tensor(bool)": numpy.bool_,
}


def place(path):
    """What the model is called by."""
    return path


def read(path):
    """The bytes that are sent to Sluice."""
    with open(path, "rb") as file:
        return file.read()


def _open_session(path, level):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = level
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its own exceptions have no common class
        raise model_inputs.Unsupported(f"{RIVAL} refuses it: {str(error)[:120]}") from error


def describe(path, given):
    """(inputs, names of outputs, tolerance); raises model_inputs.Unsupported."""
    levels = onnxruntime.GraphOptimizationLevel
    session = _open_session(path, levels.ORT_ENABLE_ALL)
    declared = [(node.name, node.type, node.shape) for node in session.get_inputs()]
    inputs = model_inputs.make_inputs([(name, DTYPES.get(dtype), shape) for name, dtype, shape in declared], given)
    try:
        plain, optimized = _open_session(path, levels.ORT_DISABLE_ALL).run(None, inputs), session.run(None, inputs)
    except Exception as error:
        raise model_inputs.Unsupported(f"{RIVAL} does not run it: {str(error)[:120]}") from error
    tolerance = max(model_inputs.TOLERANCE, OWN_CHANGES * model_inputs.differences(plain, optimized))
    return inputs, [output.name for output in session.get_outputs()], tolerance
