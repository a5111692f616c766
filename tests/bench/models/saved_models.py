"""SavedModels, whose rival is TensorFlow. The path of one is its saved_model.pb; its signature `serving_default` is run."""

import io
import os
import tarfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import model_inputs  # noqa: E402  # pylint: disable=wrong-import-position
import tensorflow  # noqa: E402  # pylint: disable=wrong-import-position

RIVAL = "TensorFlow"
VERSION = tensorflow.__version__
CHILD = "tensorflow_child.py"
CONTENT_TYPE = "application/x-tar"
SIGNATURE = "serving_default"


def place(path):
    """What the model is called by: its folder."""
    return os.path.dirname(path)


def read(path):
    """The bytes that are sent to Sluice."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", dereference=True) as tar:
        tar.add(os.path.dirname(path), ".")
    return archive.getvalue()


def _numpy_type(spec):
    return None if spec.dtype == tensorflow.string else spec.dtype.as_numpy_dtype


def load(path):
    """The model, which must be kept as long as its signature is called, and the signature."""
    model = tensorflow.saved_model.load(os.path.dirname(path))
    if SIGNATURE not in model.signatures:
        raise model_inputs.Unsupported(f"it has no signature '{SIGNATURE}'")
    return model, model.signatures[SIGNATURE]


def describe(path, given):
    """(inputs, names of outputs, tolerance); raises model_inputs.Unsupported."""
    _, signature = load(path)
    specs = signature.structured_input_signature[1]
    inputs = model_inputs.make_inputs([(name, _numpy_type(spec), spec.shape) for name, spec in sorted(specs.items())], given)
    return inputs, sorted(signature.structured_outputs), model_inputs.TOLERANCE
