"""Counts the graphs that run wholly on an accelerator, and why the others do not.

A graph is whole when the host computes none of its nodes but those that worker/runtime/partition/assign.c keeps there by a rule.
"""

import collections

ON_CARD, ON_HOST = "/device:GPU:0", "/device:CPU:0"

# Why assign.c keeps nodes on the host. Another reason is that there is no kernel.
SHAPES = {"the host needs it to know a shape or what runs", "it follows from shapes on the host"}
KEPT = SHAPES | {"it reads no elements: what it passes on stays where it lies", "it computes nothing, and waits for what does",
                 "it computes nothing: it makes or names a resource", "it has strings",
                 "it keeps a list, whose elements stay where they lie", "it computes shapes of shapes",
                 "it gives out a variable's value, wherever that lies"}


def runs_there(plan):
    """Whether any node of a plan runs on the accelerator."""
    return any(group["device"] == ON_CARD for group in plan["assignments"])


def lacking_nodes(plan):
    """(op, its dtypes, reason) of the nodes in a plan with `partition_graphs` that the host computes and no rule keeps there; a
    node without a name in it is '?'."""
    nodes = {node["name"]: node for partition in plan["partition_graphs"] for node in partition["graph"]["node"]}
    found = set()
    for group in plan["assignments"]:
        if group["device"] != ON_HOST or group.get("reason") in KEPT:
            continue
        for name in group["nodes"] or ["?"]:
            node = nodes.get(name, {"op": "?"})
            types = {value["type"] for value in node.get("attr", {}).values() if isinstance(value.get("type"), str)}
            found.add((node["op"], " ".join(sorted(kind.removeprefix("DT_").lower() for kind in types)), group.get("reason")))
    return found


class Coverage:
    """The graphs of one corpus. `what` they are, in a report's words."""

    def __init__(self, what):
        self.what = what
        self.graphs = {}  # name → its lacking nodes
        self.wrong = {}   # name → how its outputs are wrong
        self.there = set()  # names of those that have nodes on the accelerator

    def add(self, name, lacking, is_there, wrong=None):
        self.graphs[name] = set(lacking)
        if is_there:
            self.there.add(name)
        if wrong is not None:
            self.wrong[name] = wrong

    def _whole(self):
        return [name for name, lacking in self.graphs.items() if not lacking and name not in self.wrong]

    def share(self):
        return f"{len(self._whole())} of {len(self.graphs)} {self.what}"

    def idle_count(self):
        """How many are whole because the rules keep all that they compute on the host: shapes, texts, handles."""
        return len(set(self._whole()) - self.there)

    def table(self):
        """A line for each op, dtype and reason: how many graphs it keeps from being whole, and how many no other op does."""
        keeps, alone = collections.Counter(), collections.Counter()
        for lacking in self.graphs.values():
            keeps.update(lacking)
            if len({op for op, _, _ in lacking}) == 1:
                alone.update(lacking)
        rows = sorted(keeps, key=lambda row: (-keeps[row], row))
        return [f"{'keeps':>5} {'alone':>5}  op, dtypes, reason"] + [
            f"{keeps[row]:5} {alone[row]:5}  {row[0]} ({row[1]}): {row[2]}" for row in rows]
