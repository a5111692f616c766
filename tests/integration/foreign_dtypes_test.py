#!/usr/bin/env python3
"""Graphs and feeds of element types that are known by name and not computed with (shared/tensor/foreign_dtype.h) are refused when they
come, by the names of node and type."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import onnx_model  # noqa: E402
import sluice  # noqa: E402

FLOAT8E5M2 = 19


def _cast(name, source, to):
    return {"name": name, "op": "Cast", "input": [source], "attr": {"SrcT": {"type": "DT_FLOAT"}, "DstT": {"type": to}}}


def _graph(*nodes):
    return {"node": [{"name": "x", "op": "Placeholder", "attr": {"dtype": {"type": "DT_FLOAT"}}}, *nodes]}


def _refusal(send):
    try:
        send()
    except sluice.Refused as refused:
        return refused.status, refused.detail
    raise AssertionError("it was not refused")


def tensorflow_graphs_are_refused_by_node_and_type():
    with sluice.Cluster(threads=(1,)) as cluster:
        client = cluster.client()
        session = client.session()
        for written, name in (("DT_FLOAT8_E4M3FN", "DT_FLOAT8_E4M3FN"), (24, "DT_FLOAT8_E5M2"), ("DT_INT4", "DT_INT4")):
            status, detail = _refusal(lambda to=written: client.graph(session, _graph(_cast("narrow", "x", to))))
            assert status == 400 and detail.startswith(f"node 'narrow': attribute 'DstT' is {name}, which is not supported"), detail


def onnx_models_are_refused_by_tensor_and_type():
    value = onnx_model.text(1, "x") + onnx_model.text(2, onnx_model.text(1, onnx_model.number(1, FLOAT8E5M2)))
    model = onnx_model.number(1, 9) + onnx_model.text(7, onnx_model.text(11, value)) + onnx_model.text(8, onnx_model.number(2, 21))
    with sluice.Cluster(threads=(1,)) as cluster:
        client = cluster.client()
        session = client.session()
        status, detail = _refusal(lambda: client.graph(session, model, "application/onnx"))
        assert (status, detail) == (501, "'x' has the element type FLOAT8E5M2, which is not supported"), (status, detail)


def feeds_are_refused_by_name():
    with sluice.Cluster(threads=(1,)) as cluster:
        client = cluster.client()
        session = client.session()
        client.graph(session, _graph({"name": "y", "op": "Neg", "input": ["x"], "attr": {"T": {"type": "DT_FLOAT"}}}))
        feed = {"dtype": "float8_e4m3fn", "shape": [2], "b64": "OEA="}
        status, detail = _refusal(lambda: client.step(session, {"feeds": {"x": feed}, "fetches": ["y"]}))
        assert (status, detail) == (400, "feed 'x': there is no dtype 'float8_e4m3fn'"), (status, detail)


if __name__ == "__main__":
    run_group([tensorflow_graphs_are_refused_by_node_and_type,
               onnx_models_are_refused_by_tensor_and_type,
               feeds_are_refused_by_name])
