#!/usr/bin/env python3
"""The driver's own rules: what counts as equal, what is a fault of the files, where nodes are spread to."""

import os
import sys
import tempfile

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), part) for part in ("", "../../support")]
from group import expect_raises, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import corpus_case as cases  # noqa: E402
import graph_def  # noqa: E402


def _case(dtypes=None, nodes=None):
    return cases.Case("case", b"", nodes or {}, dtypes or {}, [], [])


def _compare(dtype, shape, data, *texts, dtypes=None, expected_shape=None):
    value = cases.Value("y:0", shape if expected_shape is None else expected_shape, list(texts))
    cases.compare(_case(dtypes), value, {"dtype": dtype, "shape": shape, "data": data})


def floats_within_the_tolerance_are_equal():
    _compare("float32", [2], [1.00009, 0.000009], "1.00000000", "0.00000000")
    _compare("float32", [3], ["NaN", "Infinity", "-Infinity"], "nan", "inf", "-inf")


def floats_past_the_tolerance_differ():
    expect_raises(cases.ValueMismatch, "'y:0' differs in 1 of 2 elements, first in [1]: 1.00012, expected 1.0",
                  _compare, "float32", [2], [1.0, 1.00012], "1.0", "1.0")
    for wrong in ("NaN", "Infinity", 0.0):
        try:
            _compare("float32", [1], [wrong], "1.0")
        except cases.ValueMismatch:
            continue
        raise AssertionError(f"{wrong} passed for 1.0")


def a_nan_that_is_expected_must_come():
    expect_raises(cases.ValueMismatch, "'y:0' differs in 1 of 1 elements, first in [0]: 1.0, expected nan",
                  _compare, "float32", [1], [1.0], "nan")


def integers_strings_and_booleans_are_exact():
    _compare("int64", [2], ["9007199254740993", -1], "9007199254740993", "-1.00000000")
    _compare("bool", [3], [True, False, True], "True", "False", "1")
    _compare("string", [2], ["a b", ""], "a b", "")
    expect_raises(cases.ValueMismatch,
                  "'y:0' differs in 1 of 1 elements, first in [0]: 9007199254740992, expected 9007199254740993",
                  _compare, "int64", [1], ["9007199254740992"], "9007199254740993")
    expect_raises(cases.ValueMismatch, "'y:0' differs in 1 of 1 elements, first in [0]: True, expected False",
                  _compare, "bool", [1], [True], "0")
    expect_raises(cases.ValueMismatch, "'y:0' differs in 1 of 1 elements, first in [0]: a, expected b",
                  _compare, "string", [1], ["a"], "b")


def another_dtype_or_shape_differs():
    expect_raises(cases.Mismatch, "'y:0' is int64, expected int32",
                  lambda: _compare("int64", [1], [1], "1", dtypes={"y:0": "int32"}))
    expect_raises(cases.Mismatch, "'y:0' has shape [1, 2], expected [2]",
                  lambda: _compare("int32", [1, 2], [1, 2], "1", "2", expected_shape=[2]))


def the_graph_knows_better_than_the_file_of_dtypes():
    node = graph_def.Node("y", "Softmax", ["x"], {"T": 2})
    value = cases.Value("y:0", [1], ["1.0"])
    case = _case({"y:0": "float32"}, {"y": node})
    cases.compare(case, value, {"dtype": "float64", "shape": [1], "data": [1.0]})
    expect_raises(cases.Mismatch, "'y:0' is float16, expected float32",
                  cases.compare, case, value, {"dtype": "float16", "shape": [1], "data": [1.0]})


def a_file_that_does_not_fit_its_shape_is_a_fault():
    expect_raises(cases.Bad, "'y:0' has 1 elements, its shape [2] asks for 2",
                  _compare, "float32", [2], [1.0, 2.0], "1.0")
    expect_raises(cases.Bad, "'y:0' has an element that is no int32", _compare, "int32", [1], [1], "1.5")


def _write(folder, name, content):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def _graph(*nodes):
    encode = graph_def._encode  # pylint: disable=protected-access
    out = b""
    for name, operation, *inputs in nodes:
        node = encode(1, name.encode()) + encode(2, operation.encode())
        out += encode(1, node + b"".join(encode(3, text.encode()) for text in inputs))
    return out


def a_folder_is_read_by_its_names():
    with tempfile.TemporaryDirectory() as folder:
        _write(folder, "frozen_model.pb", _graph(("x", "Placeholder"), ("a/split", "Split", "x"), ("v.1", "Neg", "x")))
        _write(folder, "dtypes", b"x float32\na____split.1 float32\n")
        _write(folder, "x.placeholder.shape", b"0")
        _write(folder, "x.placeholder.csv", b"2.5")
        for stem in ("a/split.1", "v.1"):
            _write(folder, f"{stem}.prediction.shape", b"2\n")
            _write(folder, f"{stem}.prediction.csv", b"1.0\n2.0\n")
        case = cases.read_case(folder, "case")
        assert [value.name for value in case.fetches] == ["a/split:1", "v.1:0"]
        assert case.dtypes == {"x:0": "float32", "a/split:1": "float32"}
        assert cases.feed_document(case, case.feeds[0]) == {"dtype": "float32", "shape": [], "data": [2.5]}


def broken_folders_say_what_is_wrong():
    with tempfile.TemporaryDirectory() as folder:
        _write(folder, "frozen_model.pb", b"\x0a\x7fno graph")
        expect_raises(graph_def.Malformed, "a field of the graph is cut off", cases.read_case, folder, "case")
        _write(folder, "frozen_model.pb", _graph(("x", "Placeholder")))
        expect_raises(cases.Bad, "there is no '*.prediction.csv'", cases.read_case, folder, "case")
        _write(folder, "x.prediction.csv", b"1")
        expect_raises(cases.Bad, "'x.prediction.shape' cannot be read: No such file or directory",
                      cases.read_case, folder, "case")
        _write(folder, "x.prediction.shape", b"two")
        expect_raises(cases.Bad, "'x.prediction.shape' has something else than numbers", cases.read_case, folder, "case")


def compute_nodes_alternate_between_tasks():
    graph = _graph(("c", "Const"), ("a", "Neg", "c"), ("b", "Neg", "a:0"), ("d", "Neg", "b", "^a"))
    nodes = graph_def.read_nodes(graph)
    devices = graph_def.spread(nodes, 2)
    assert devices == {"a": "/job:worker/task:0", "b": "/job:worker/task:1", "d": "/job:worker/task:0"}
    asked = graph_def.with_devices(graph, devices)
    assert asked.count(b"/job:worker/task:0") == 2 and asked.count(b"/job:worker/task:1") == 1
    assert graph_def.with_devices(asked, {}) == graph


def nodes_that_share_a_handle_stay_together():
    nodes = graph_def.read_nodes(_graph(
        ("v", "VariableV2"), ("c", "Const"), ("set", "Assign", "v", "c"), ("add", "AssignAdd", "set", "c"),
        ("read", "Identity", "add"), ("t", "TensorArrayV3", "c"), ("enter", "Enter", "t"),
        ("write", "TensorArrayWriteV3", "enter", "c", "read", "t:1"), ("size", "TensorArraySizeV3", "t", "write")))
    devices = graph_def.spread(nodes, 2)
    assert len({devices[name] for name in ("v", "set", "add", "read")}) == 1
    assert len({devices[name] for name in ("t", "enter", "write", "size")}) == 1
    assert devices["v"] != devices["t"]


def the_ends_of_a_loops_variable_stay_together():
    nodes = graph_def.read_nodes(_graph(
        ("x", "Neg"), ("enter", "Enter", "x"), ("merge", "Merge", "enter", "next"), ("switch", "Switch", "merge", "p"),
        ("p", "LoopCond", "t"), ("t", "Less", "merge"), ("add", "Neg", "switch:1"), ("next", "NextIteration", "add")))
    devices = graph_def.spread(nodes, 2)
    assert len({devices[name] for name in ("enter", "merge", "next")}) == 1
    assert len(set(devices.values())) == 2


if __name__ == "__main__":
    run_group([
        floats_within_the_tolerance_are_equal, floats_past_the_tolerance_differ, a_nan_that_is_expected_must_come,
        integers_strings_and_booleans_are_exact, another_dtype_or_shape_differs,
        the_graph_knows_better_than_the_file_of_dtypes, a_file_that_does_not_fit_its_shape_is_a_fault,
        a_folder_is_read_by_its_names, broken_folders_say_what_is_wrong, compute_nodes_alternate_between_tasks,
        nodes_that_share_a_handle_stay_together, the_ends_of_a_loops_variable_stay_together])
