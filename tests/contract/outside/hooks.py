"""What schemathesis cannot know of Sluice: media types that are bytes, and what is there. Paths that it makes up name nothing, so
that most operations would answer 404 for ever: half of the well-formed ids are replaced by the ids of a session with all its parts,
made for it. At the end the statuses of each operation are written to the file CONTRACT_STATUSES, for run_outside.

CONTRACT_ADDRESS and CONTRACT_KEY say where the gateway is, and who asks."""

import atexit
import collections
import contextlib
import hashlib
import json
import os
import re
import struct
import sys

import schemathesis
from hypothesis import strategies
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.generation import GenerationMode
from schemathesis.generation.meta import TestPhase
from schemathesis.openapi.checks import EnsureResourceAvailability, UseAfterFree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../support"))
import sluice  # noqa: E402


def _npy(values):
    """A .npy file of floats, a vector."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(values)},), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}f", *values)


FLOAT = {"type": "DT_FLOAT"}
# What the examples of openapi.yaml are about: y = xw + b.
GRAPH = {"node": [
    {"name": "x", "op": "Placeholder", "attr": {"dtype": FLOAT}},
    {"name": "w", "op": "Const", "attr": {"dtype": FLOAT, "value": {"tensor": {
        "dtype": "DT_FLOAT", "tensorShape": {"dim": [{"size": "2"}, {"size": "2"}]}, "floatVal": [1, 2, 3, 4]}}}},
    {"name": "b", "op": "Const", "attr": {"dtype": FLOAT, "value": {"tensor": {
        "dtype": "DT_FLOAT", "tensorShape": {"dim": [{"size": "2"}]}, "floatVal": [10, 20]}}}},
    {"name": "xw", "op": "MatMul", "input": ["x", "w"], "attr": {"T": FLOAT}},
    {"name": "y", "op": "Add", "input": ["xw", "b"], "attr": {"T": FLOAT}}]}
STEP = {"feeds": {"x": [[1, 2]]}, "fetches": ["y"], "options": {"trace": "node"}}
# Bytes that are kept as a blob, and as a tensor.
BLOB = b"bytes that are kept"
TENSOR = _npy([1.0])
# The worker that may be drained; the others go on.
IDLE_WORKER = "w1"
NOBODY = "127.0.0.1:1"

SESSION = re.compile("ses_[0-9a-f]{32}")
DIGEST = re.compile("[0-9a-f]{64}")
# These end or change what they name.
ENDING = {"updateSession", "createGraph", "deleteSession", "deleteGraph", "extendGraph", "cancelStep"}
USES_MAX = 10


class Things:
    """A session with one of each: what the names in paths stand for."""

    def __init__(self):
        self._client = sluice.Client(os.environ["CONTRACT_ADDRESS"], os.environ["CONTRACT_KEY"])
        self._shared = None
        self._uses = 0
        self._run = None  # the path of the partial run that was made last: a session may have few

    def values(self, operation, wants_run):
        """The values of the parameters of this operation's path; new ones when it ends what it names, as every use of a
        partial run may. Others are new now and then, since schemathesis ends what it has read of."""
        if self._uses % USES_MAX == 0:
            self._shared = self._make()
        self._uses += 1
        values = self._make() if operation in ENDING or wants_run else dict(self._shared)
        if wants_run:
            values["run"] = self._make_run(values["session"])
        return values

    def _make(self):
        session = self._client.session()
        return {"session": session, "graph": self._client.graph(session, GRAPH), "worker": IDLE_WORKER, "name": "y",
                "step": self._client.step(session, STEP, prefer="respond-async, wait=10")["id"], "code": "not-found"}

    def _make_run(self, session):
        if self._run is not None:
            with contextlib.suppress(sluice.Refused):  # it has ended
                self._client.send("DELETE", self._run)
        runs = f"/sessions/{session}/partial-runs"
        made = self._client.send("POST", runs, {"feeds": ["x"], "fetches": ["xw", "y"]})["id"]
        self._run = f"{runs}/{made}"
        return made

    def keep(self, kind, content, content_type):
        """Keeps these bytes, and returns their digest."""
        digest = hashlib.sha256(content).hexdigest()
        self._client.send("PUT", f"/{kind}/{digest}", content, content_type)
        return digest


things = Things()
statuses = collections.defaultdict(collections.Counter)


BYTES = ("application/octet-stream", "application/x-protobuf", "application/onnx", "application/x-tar")
for media_type in BYTES:
    schemathesis.openapi.media_type(media_type, strategies.binary())
schemathesis.openapi.media_type("application/x-npy", strategies.lists(strategies.floats(width=32), max_size=8).map(_npy))


@schemathesis.serializer("application/x-npy", *BYTES)
def send_bytes(context, value):  # pylint: disable=unused-argument
    return value if isinstance(value, bytes) else str(value).encode()


def _operation(case):
    return case.operation.definition.raw["operationId"]


def _replace_digest(case, operation):
    """What is sent has its own digest; what is asked for is there."""
    if isinstance(case.body, bytes):
        return hashlib.sha256(case.body).hexdigest()
    return things.keep("tensors", TENSOR, "application/x-npy") if operation == "getTensor" else \
        things.keep("blobs", BLOB, "application/octet-stream")


def _replace_address(case):
    """A worker that joins is polled where it says: at a port where nobody listens, not somewhere in the world."""
    if isinstance(case.body, dict) and re.search(r":[0-9]+$", str(case.body.get("address"))):
        case.body["address"] = NOBODY


@schemathesis.hook
def before_call(context, case, kwargs):  # pylint: disable=unused-argument
    """Half of the ids of a right form become those of what is there. A scenario has ids of its own, of what it has made."""
    given = case.path_parameters or {}
    if _operation(case) == "drainWorker":
        given["worker"] = IDLE_WORKER
    if _operation(case) == "joinWorker":
        _replace_address(case)
        return
    is_scenario = case.meta is not None and case.meta.phase.name == TestPhase.STATEFUL
    names_nothing = not given or not all(isinstance(value, str) for value in given.values())
    if is_scenario or names_nothing or hashlib.sha256(repr(sorted(given.items())).encode()).digest()[0] % 2 == 0:
        return
    operation = _operation(case)
    is_good = case.meta is None or case.meta.generation.mode is GenerationMode.POSITIVE
    if DIGEST.fullmatch(given.get("sha256", "")) and is_good:
        case.path_parameters["sha256"] = _replace_digest(case, operation)
    elif "sha256" not in given and ("session" not in given or SESSION.fullmatch(given["session"])):
        values = things.values(operation, "run" in given)
        case.path_parameters.update({name: values[name] for name in given})


@schemathesis.hook
def filter_failure(context, failure, case, response):  # pylint: disable=unused-argument
    """What was made may be answered with 404 for two reasons: a step names a node that the graph does not have, or a partial run
    has ended by itself. A worker of the gateway's own list stays there when one that had joined under its name leaves. Bytes that
    are no JSON may be a graph of the format that the query names."""
    if isinstance(failure, UseAfterFree) and "{worker}" in case.operation.path:
        return False
    if isinstance(failure, AcceptedNegativeData) and _operation(case) == "createGraph" and case.query:
        return False
    says_why = re.search(b"the graph has no node|it may be complete, have failed, or have expired", response.content)
    return not (isinstance(failure, EnsureResourceAvailability) and says_why)


@schemathesis.hook
def after_call(context, case, response):  # pylint: disable=unused-argument
    statuses[_operation(case)][response.status_code] += 1


@atexit.register
def _write_statuses():
    with open(os.environ["CONTRACT_STATUSES"], "w", encoding="ascii") as file:
        json.dump(statuses, file)
