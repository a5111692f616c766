#!/usr/bin/env python3
"""Graphs that would take all of a worker's memory, or its stack, are refused, and the worker goes on."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from graph_builder import GraphBuilder, Shape, Type, tensor  # noqa: E402

WORKER_MEMORY = 64 << 20
EXHAUSTED, INVALID = "RESOURCE_EXHAUSTED", "INVALID_ARGUMENT"


def _strings_that_double(graph):
    text = graph.placeholder("text", "string", [])
    for _ in range(20):
        text = graph.add("StringJoin", text, text, N=2)
    return graph.add("StringLength", text), {"text": {"dtype": "string", "shape": [], "data": ["x" * 1000]}}


def _large_tensor_arrays(graph):
    size = graph.placeholder("size", "int32", [])
    array = graph.add("TensorArrayV3", size, dtype=Type("float32"))
    return f"{array}:1", {"size": {"dtype": "int32", "shape": [], "data": [1 << 20]}}


def _large_lists(graph):
    size = graph.placeholder("size", "int32", [])
    shape = graph.constant("int32", [0], [])
    made = graph.add("TensorListReserve", shape, size, element_dtype=Type("float32"), shape_type=Type("int32"))
    return graph.add("TensorListLength", made), {"size": {"dtype": "int32", "shape": [], "data": [1 << 20]}}


def _many_queued_rows(graph):
    rows = graph.placeholder("rows", "int32", [1])
    queue = graph.add("FIFOQueueV2", component_types=[Type("uint8")], shared_name="rows")
    value = graph.add("Fill", rows, graph.constant("uint8", [], [1]), T=Type("uint8"))
    put = graph.add("QueueEnqueueManyV2", queue, value, Tcomponents=[Type("uint8")])
    return graph.constant("int32", [], [1], control=[put]), {"rows": {"dtype": "int32", "shape": [1], "data": [1 << 24]}}


def _lists_in_lists(graph):
    options = {"element_dtype": Type("variant")}
    shape = graph.constant("int32", [], [-1])
    count = graph.constant("int32", [], [-1])
    outer = graph.add("EmptyTensorList", shape, count, shape_type=Type("int32"), **options)
    for _ in range(70):
        empty = graph.add("EmptyTensorList", shape, count, shape_type=Type("int32"), **options)
        outer = graph.add("TensorListPushBack", empty, outer, **options)
    return graph.add("TensorListLength", outer), {}


def _stack_in_itself(graph):
    stack = graph.add("StackV2", graph.constant("int32", [], [-1]), elem_type=Type("resource"))
    pushed = graph.add("StackPushV2", stack, stack, T=Type("resource"))
    return graph.constant("int32", [], [1], control=[pushed]), {}


def _queue_of_queues(graph):
    queue = graph.add("FIFOQueueV2", component_types=[Type("resource")], shared_name="queues")
    put = graph.add("QueueEnqueueV2", queue, queue, Tcomponents=[Type("resource")])
    return graph.constant("int32", [], [1], control=[put]), {}


def _variable_of_variables(graph):
    variable = graph.add("VarHandleOp", dtype=Type("resource"), shape=Shape([]), shared_name="variable")
    put = graph.add("AssignVariableOp", variable, variable, dtype=Type("resource"))
    return graph.constant("int32", [], [1], control=[put]), {}


def _harmless(graph):
    return graph.add("Const", dtype=Type("int32"), value=tensor("int32", [], [7])), {}


def _outcome(client, build):
    """Returns the code of the refusal, None when the step succeeded."""
    session = client.session(slots=1, placement="local")
    try:
        graph = GraphBuilder()
        fetch, feeds = build(graph)
        client.graph(session, graph.document())
        client.step(session, {"feeds": feeds, "fetches": [fetch]})
    except sluice.Refused as refused:
        return refused.code
    finally:
        client.send("DELETE", f"/sessions/{session}")
    return None


def _check(cases):
    os.environ["SLUICE_MEMORY"] = str(WORKER_MEMORY)
    with sluice.Cluster(threads=(1,)) as cluster:
        client = cluster.client()
        for build, expected in cases:
            outcome = _outcome(client, build)
            assert outcome == expected, f"{build.__name__}: {outcome}"
        assert _outcome(client, _harmless) is None
        assert not cluster.ended()


def what_a_graph_can_make_large_counts_as_the_workers_memory():
    _check([(build, EXHAUSTED) for build in (_strings_that_double, _large_tensor_arrays, _large_lists,
                                             _many_queued_rows)])


def lists_in_lists_end_at_a_depth_and_nothing_holds_itself():
    _check([(_lists_in_lists, EXHAUSTED), (_stack_in_itself, INVALID), (_queue_of_queues, INVALID),
            (_variable_of_variables, INVALID)])


if __name__ == "__main__":
    run_group([what_a_graph_can_make_large_counts_as_the_workers_memory,
               lists_in_lists_end_at_a_depth_and_nothing_holds_itself])
