"""One case of a corpus: a folder with frozen_model.pb, perhaps dtypes, inputs <name>.placeholder.{csv,shape} and
expected outputs <name>.prediction.{csv,shape}; a '/' in a name is a folder, a number behind its last dot the output."""

import math
import os
from dataclasses import dataclass

import graph_def

MODEL = "frozen_model.pb"
# Numbers of DataType, as graphs have them, and our names.
DTYPES = {1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string", 9: "int64", 10: "bool",
          14: "bfloat16", 17: "uint16", 19: "float16", 22: "uint32", 23: "uint64"}
FLOATS = {"float32", "float64", "float16", "bfloat16"}
# (relative, absolute); types of fewer digits than the eight behind the point that the files have get their own.
TOLERANCES = {"float32": (1e-4, 1e-5), "float64": (1e-4, 1e-5), "float16": (2e-3, 1e-3), "bfloat16": (2e-2, 1e-2)}
TRUTH = {"true": True, "false": False}


class Bad(Exception):
    """Files of a case that do not hold what they should."""


class Mismatch(Exception):
    """A result of another type or shape than expected."""


class ValueMismatch(Mismatch):
    """A result of other numbers than expected."""


@dataclass
class Value:
    """A tensor as the files have it: numbers are texts until a dtype says what they are."""
    name: str
    shape: list
    texts: list


@dataclass
class Case:
    name: str
    model: bytes
    nodes: dict
    dtypes: dict  # "name:port" → dtype, as far as the file says
    feeds: list
    fetches: list


# --- Files --------------------------------------------------------------------------------------------------


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Bad(f"'{os.path.basename(path)}' cannot be read: {error.strerror}") from None


def _read_text(path):
    try:
        return _read(path).decode()
    except UnicodeDecodeError:
        raise Bad(f"'{os.path.basename(path)}' is no text") from None


def _read_shape(path):
    try:
        shape = [int(text) for text in _read_text(path).replace(",", " ").split()]
    except ValueError:
        raise Bad(f"'{os.path.basename(path)}' has something else than numbers") from None
    if any(size < 0 for size in shape):
        raise Bad(f"'{os.path.basename(path)}' has a negative size")
    return shape


def _read_value(folder, kind, stem, nodes):
    name, _, port = stem.rpartition(".")
    is_output = port.isdigit() and stem not in nodes
    shape = _read_shape(os.path.join(folder, f"{stem}.{kind}.shape"))
    text = _read_text(os.path.join(folder, f"{stem}.{kind}.csv"))
    lines = text.removesuffix("\n").split("\n") if text else []
    if shape == [0] and lines:
        shape = []  # what the corpus writes for a scalar
    return Value(f"{name}:{port}" if is_output else f"{stem}:0", shape, lines)


def _read_dtypes(folder):
    path = os.path.join(folder, "dtypes")
    dtypes = {}
    for line in _read_text(path).splitlines() if os.path.exists(path) else []:
        name, _, dtype = line.strip().rpartition(" ")
        name = name.replace("____", "/")
        stem, _, port = name.rpartition(".")
        dtypes[f"{stem}:{port}" if port.isdigit() else f"{name}:0"] = dtype
    return dtypes


def _stems(folder, kind):
    """Names with a file of that kind, below the folder but not within another case."""
    stems = set()
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not os.path.exists(os.path.join(place, name, MODEL)))
        for file in files:
            for suffix in (f".{kind}.csv", f".{kind}.shape"):
                if file.endswith(suffix):
                    stems.add(os.path.relpath(os.path.join(place, file.removesuffix(suffix)), folder))
    return sorted(stems)


def read_case(folder, name):
    """Raises Bad or graph_def.Malformed."""
    model = _read(os.path.join(folder, MODEL))
    nodes = graph_def.read_nodes(model)
    fetches = [_read_value(folder, "prediction", stem, nodes) for stem in _stems(folder, "prediction")]
    if not fetches:
        raise Bad("there is no '*.prediction.csv'")
    feeds = [_read_value(folder, "placeholder", stem, nodes) for stem in _stems(folder, "placeholder")]
    return Case(name, model, nodes, _read_dtypes(folder), feeds, fetches)


def find_cases(root):
    """Folders with a model below `root`, as paths relative to it."""
    found = [os.path.relpath(place, root) for place, _, files in os.walk(root) if MODEL in files]
    return sorted(found)


# --- Numbers ------------------------------------------------------------------------------------------------


def _numbers(value, dtype):
    """The elements as Python has them: integers exactly, never through a float."""
    texts = value.texts
    if dtype != "string":
        texts = " ".join(texts).replace(",", " ").split()
    if len(texts) != math.prod(value.shape):
        raise Bad(f"'{value.name}' has {len(texts)} elements, its shape {value.shape} asks for {math.prod(value.shape)}")
    if dtype == "string":
        return texts
    try:
        return [_number(text, dtype) for text in texts]
    except ValueError:
        raise Bad(f"'{value.name}' has an element that is no {dtype}") from None


def _number(text, dtype):
    if text.lower() in TRUTH:
        truth = TRUTH[text.lower()]
        return truth if dtype == "bool" else float(truth) if dtype in FLOATS else int(truth)
    if dtype in FLOATS:
        return float(text)
    whole, _, fraction = text.partition(".")
    if fraction.strip("0"):
        number = float(text)
        if number != int(number):
            raise ValueError(text)
        return int(number)
    return bool(int(whole)) if dtype == "bool" else int(whole)


def _json_number(number):
    if isinstance(number, float) and not math.isfinite(number):
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    return number


def feed_document(case, value):
    """The tensor as a step's feeds have it. Its dtype is the placeholder's, else what `dtypes` says."""
    node = case.nodes.get(value.name.rpartition(":")[0])
    dtype = DTYPES.get(node.types.get("dtype")) if node else None
    dtype = dtype or case.dtypes.get(value.name, "float32")
    numbers = [_json_number(number) for number in _numbers(value, dtype)]
    return {"dtype": dtype, "shape": value.shape, "data": numbers}


# --- Comparison ---------------------------------------------------------------------------------------------


def _flatten(data):
    if not isinstance(data, list):
        return [data]
    if data and isinstance(data[0], list):
        return [element for part in data for element in _flatten(part)]
    return data


def is_near(actual, expected, relative, absolute):
    if math.isnan(actual) or math.isnan(expected):
        return math.isnan(actual) and math.isnan(expected)
    if math.isinf(actual) or math.isinf(expected):
        return actual == expected
    return abs(actual - expected) <= absolute + relative * abs(expected)


def _types_of(case, value):
    """What the graph itself says of the node: some `dtypes` files name another width."""
    node = case.nodes.get(value.name.rpartition(":")[0])
    return {DTYPES.get(number) for number in node.types.values()} if node else set()


def compare(case, value, tensor):
    """Raises Mismatch with the first difference between what a step gave and the case's file, Bad for the file's own
    faults."""
    dtype = tensor["dtype"]
    wanted = case.dtypes.get(value.name, dtype)
    if dtype != wanted and dtype not in _types_of(case, value):
        raise Mismatch(f"'{value.name}' is {dtype}, expected {wanted}")
    if tensor["shape"] != value.shape:
        raise Mismatch(f"'{value.name}' has shape {tensor['shape']}, expected {value.shape}")
    actual = _flatten(tensor["data"])
    expected = _numbers(value, dtype)
    if len(actual) != len(expected):
        raise Mismatch(f"'{value.name}' has {len(actual)} elements, expected {len(expected)}")
    if dtype in FLOATS:
        actual = [float(number) for number in actual]
        relative, absolute = TOLERANCES[dtype]
        wrong = [index for index, (left, right) in enumerate(zip(actual, expected))
                 if not is_near(left, right, relative, absolute)]
    else:
        actual = [int(number) for number in actual] if dtype not in ("string", "bool") else actual
        wrong = [index for index, (left, right) in enumerate(zip(actual, expected)) if left != right]
    if wrong:
        first = wrong[0]
        raise ValueMismatch(f"'{value.name}' differs in {len(wrong)} of {len(actual)} elements, first in [{first}]: "
                            f"{actual[first]}, expected {expected[first]}")
