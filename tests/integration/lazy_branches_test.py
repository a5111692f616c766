#!/usr/bin/env python3
"""A heavy branch is called when it is taken, and gives the same bits as when it is lowered to Switch and Merge."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from graph_builder import Function, GraphBuilder, Shape, Type  # noqa: E402

FLOAT, INT, BOOL = "float32", "int32", "bool"
NODE_COUNT = 300  # makes a branch heavy
CALLED = {"slots": 1, "placement": "local"}
LOWERED = {"slots": 1, "placement": "local", "passes_off": ["lazy_branches"]}
TWO_SLOTS = {"slots": 2, "placement": "local"}


def _chain(graph, name, ops, count=NODE_COUNT):
    """Adds a function that applies `count` ops to its argument, one after the other."""
    body = GraphBuilder()
    source = "x"
    for index in range(count):
        op = ops[index % len(ops)]
        port = {"Tanh": "y", "Neg": "y", "Sigmoid": "y", "Softplus": "activations", "Square": "y"}[op]
        source = f"{body.add(op, source, name=f'{op}{index}', T=Type(FLOAT))}:{port}:0"
    return graph.add_function(name, [("x", FLOAT)], [("y", FLOAT, source)], body)


def _choice(device=""):
    graph = GraphBuilder()
    then = _chain(graph, "then", ["Tanh", "Softplus", "Neg"])
    otherwise = _chain(graph, "otherwise", ["Sigmoid", "Square", "Softplus"])
    predicate = graph.placeholder("p", BOOL, [])
    x = graph.placeholder("x", FLOAT, [4])
    graph.add("If", predicate, x, name="f", then_branch=then, else_branch=otherwise, Tcond=Type(BOOL),
              Tin=[Type(FLOAT)], Tout=[Type(FLOAT)], device=device)
    graph.add("Neg", "f", name="y", T=Type(FLOAT))
    return graph


def _feeds(takes, values=(0.5, -1.25, 3.0, 0.0)):
    return {"p": {"dtype": BOOL, "shape": [], "data": [takes]},
            "x": {"dtype": FLOAT, "shape": [4], "data": list(values)}}


def _run(client, options, graph, request):
    session = client.session(**options)
    try:
        client.graph(session, graph.document())
        return client.step(session, request)["outputs"]
    finally:
        client.send("DELETE", f"/sessions/{session}")


def a_plan_says_what_is_called():
    with sluice.Cluster(threads=(2,)) as cluster:
        client = cluster.client()
        session = client.session(**CALLED)
        graph = client.graph(session, _choice().document())
        plan = client.plan(session, graph, {"fetches": ["y"], "feeds": {"p": {"dtype": BOOL}, "x": {"dtype": FLOAT}}})
        calls = [change for change in plan["changes"] if change["pass"] == "lazy_branches"]
        assert [call["node"] for call in calls] == ["f/call"], plan["changes"]
        assert calls[0]["reason"].startswith("called when it is taken: 2 branches with 60"), calls
        assert [node for node in plan["nodes"] if node["node"] == "f/call"], plan["nodes"]


def a_trace_has_the_nodes_of_the_branch_that_was_taken():
    with sluice.Cluster(threads=(2,)) as cluster:
        client = cluster.client()
        session = client.session(**CALLED)
        client.graph(session, _choice().document())
        step = client.step(session, {"feeds": _feeds(True), "fetches": ["y"], "options": {"trace": "node"}})
        trace = client.send("GET", f"/sessions/{session}/steps/{step['id']}/trace")
        nodes = {event["name"]: event for event in trace["traceEvents"] if event.get("cat") == "node"}
        caller = nodes["f/call"]
        inside = [event for name, event in nodes.items() if name.startswith("f/then/")]
        assert inside and not [name for name in nodes if name.startswith("f/else/")], nodes.keys()
        for event in inside:
            assert caller["ts"] <= event["ts"] <= caller["ts"] + caller["dur"], (caller, event)


def calls_give_the_bits_of_lowered_branches():
    with sluice.Cluster(threads=(1, 3)) as cluster:
        client = cluster.client()
        for takes in (True, False):
            request = {"feeds": _feeds(takes), "fetches": ["y"]}
            expected = _run(client, LOWERED, _choice(), request)
            for options, device in ((CALLED, ""), (TWO_SLOTS, "/job:worker/task:1")):
                outputs = _run(client, options, _choice(device), request)
                assert outputs == expected, f"{options}: {outputs} instead of {expected}"


def what_fails_inside_is_named():
    with sluice.Cluster(threads=(2,)) as cluster:
        client = cluster.client()
        graph = GraphBuilder()
        body = GraphBuilder()
        body.constant(INT, [], [7], name="seven")
        body.add("Cast", "x", name="whole", SrcT=Type(FLOAT), DstT=Type(INT))
        body.add("FloorDiv", "seven:output:0", "whole:y:0", name="quotient", T=Type(INT))
        body.add("Cast", "quotient:z:0", name="back", SrcT=Type(INT), DstT=Type(FLOAT))
        bad = graph.add_function("bad", [("x", FLOAT)], [("y", FLOAT, "back:y:0")], body)
        good = _chain(graph, "good", ["Neg"], 1)
        graph.placeholder("p", BOOL, [])
        graph.placeholder("x", FLOAT, [4])
        graph.add("If", "p", "x", name="f", then_branch=bad, else_branch=good, Tcond=Type(BOOL), Tin=[Type(FLOAT)],
                  Tout=[Type(FLOAT)], _lower_using_switch_merge=False)
        try:
            _run(client, CALLED, graph, {"feeds": _feeds(True), "fetches": ["f"]})
        except sluice.Refused as refused:
            assert "f/then/quotient" in str(refused), refused
        else:
            raise AssertionError("the step did not fail")
        assert _run(client, CALLED, graph, {"feeds": _feeds(False), "fetches": ["f"]})["f"]["data"][1] == 1.25


def variables_inside_are_the_sessions():
    with sluice.Cluster(threads=(2,)) as cluster:
        client = cluster.client()
        graph = GraphBuilder()
        for name, op in (("set", "AssignVariableOp"), ("add", "AssignAddVariableOp")):
            body = GraphBuilder()
            body.add("VarHandleOp", name="v", dtype=Type(FLOAT), shape=Shape([4]), shared_name="v")
            body.add(op, "v:resource:0", "x", name="write", dtype=Type(FLOAT))
            body.add("ReadVariableOp", "v:resource:0", "^write", name="read", dtype=Type(FLOAT))
            graph.add_function(name, [("x", FLOAT)], [("y", FLOAT, "read:value:0")], body, effects=["write"])
        graph.placeholder("p", BOOL, [])
        graph.placeholder("x", FLOAT, [4])
        graph.add("If", "p", "x", name="f", then_branch=Function("set"), else_branch=Function("add"), Tcond=Type(BOOL),
                  Tin=[Type(FLOAT)], Tout=[Type(FLOAT)], _lower_using_switch_merge=False)
        session = client.session(**CALLED)
        client.graph(session, graph.document())
        for takes, expected in ((True, 3), (False, 6), (False, 9), (True, 3)):
            request = {"feeds": _feeds(takes, (3, 3, 3, 3)), "fetches": ["f"]}
            outputs = client.step(session, request)["outputs"]
            assert outputs["f"]["data"] == [expected] * 4, outputs


def a_call_ends_with_its_step():
    with sluice.Cluster(threads=(2,)) as cluster:
        client = cluster.client()
        graph = GraphBuilder()
        go = GraphBuilder()
        go.constant(BOOL, [], [True], name="yes")
        graph.add_function("go", [("x", FLOAT)], [("b", BOOL, "yes:output:0")], go)
        _chain(graph, "turn", ["Neg"], 1)
        endless = GraphBuilder()
        endless.add("While", "x", name="loop", cond=Function("go"), body=Function("turn"), T=[Type(FLOAT)])
        graph.add_function("endless", [("x", FLOAT)], [("y", FLOAT, "loop:output:0")], endless)
        graph.placeholder("p", BOOL, [])
        graph.placeholder("x", FLOAT, [4])
        graph.add("If", "p", "x", name="f", then_branch=Function("endless"), else_branch=Function("turn"),
                  Tcond=Type(BOOL), Tin=[Type(FLOAT)], Tout=[Type(FLOAT)], _lower_using_switch_merge=False)
        request = {"feeds": _feeds(True), "fetches": ["f"], "options": {"timeout_ms": 300}}
        try:
            _run(client, CALLED, graph, request)
        except sluice.Refused as refused:
            assert refused.code == "DEADLINE_EXCEEDED", refused
        else:
            raise AssertionError("an endless loop ended")
        assert _run(client, CALLED, graph, {"feeds": _feeds(False), "fetches": ["f"]})["f"]["data"][0] == -0.5


if __name__ == "__main__":
    run_group([a_plan_says_what_is_called, a_trace_has_the_nodes_of_the_branch_that_was_taken,
               calls_give_the_bits_of_lowered_branches, what_fails_inside_is_named,
               variables_inside_are_the_sessions, a_call_ends_with_its_step])
