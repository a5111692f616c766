#!/usr/bin/env python3
"""run_corpus.py CORPUS   Runs every case of a corpus of frozen TensorFlow graphs over REST, on a gateway with two
workers: once on one worker, once with its nodes spread over both. CORPUS is a folder, a tar of one, or a folder that
holds tf1-frozen.tar.xz. Prints a line per failure and the counts, writes build/conformance-tf.json with every case's
outcome, time, number of cut edges and of copies between memories, and a digest of its outputs. Ends with 1 when a case
failed that known_failures.txt does not name.

REPORT=file  where it writes the outcomes
CASES=text  only cases whose name contains it
"""

import collections
import concurrent.futures
import contextlib
import hashlib
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(FOLDER, "../../support"))
import corpus_case as cases  # noqa: E402
import device_coverage  # noqa: E402
import graph_def  # noqa: E402
import sluice  # noqa: E402

REPORT = os.environ.get("REPORT", "build/conformance-tf.json")
ARCHIVE = "tf1-frozen.tar.xz"
KNOWN = os.path.join(FOLDER, "known_failures.txt")
AT_ONCE = 4
STEP_MS = 60000
SLOW_MS = 500
MEMORY_MIN = 64 * 1024
SHOWN_REASONS = 40
SHOWN_COPIES = 10
# Ops of which no two generators give the same numbers. A case that depends on one still must run and give the right
# types and shapes; only then, when its numbers are others, it counts as skipped.
RANDOM = {"RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal", "ParameterizedTruncatedNormal",
          "Multinomial", "RandomShuffle", "RandomGamma", "RandomPoisson", "RandomPoissonV2", "RandomCrop",
          "StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal", "StatelessMultinomial"}
MODES = {
    "one worker": {"slots": 1, "placement": "local"},
    "two workers": {"slots": 2, "placement": "local"},
}
# For tests/conformance/cuda_coverage.py: every node of a graph runs, those of constants too.
UNFOLDED = "one worker, unfolded"
OPTIONS = {**MODES, UNFOLDED: {"slots": 1, "placement": "local", "passes_off": ["constant_folding"]}}


class Outcome:
    def __init__(self, name, mode):
        self.name = name
        self.mode = mode
        self.state = "failed"
        self.reason = ""
        self.cut_edges = None
        self.copies = 0  # between memories, in every run
        # Of the accelerator, where nothing was folded: which nodes the host computes for want of a kernel, whether any runs there.
        self.lacking, self.runs_there = set(), False
        self.elapsed_ms = 0.0
        self.digest = None  # of the outputs, each float of which reads back as its bits; None: there are none, or they are random
        self.memory = {}  # by run: of each partition (planned bytes, bytes it took)

    def document(self):
        return {"case": self.name, "mode": self.mode, "state": self.state, "reason": self.reason,
                "cut_edges": self.cut_edges, "copies": self.copies, "elapsed_ms": round(self.elapsed_ms, 1), "memory": self.memory,
                "digest": self.digest}


# --- One case -----------------------------------------------------------------------------------------------


def memory_of(step):
    return [(part["planned_bytes"], part["peak_bytes"]) for part in step["partitions"]]


def run_step(client, case, mode, outcome):
    """Raises Refused, Bad, Mismatch."""
    request = {"feeds": {value.name: cases.feed_document(case, value) for value in case.feeds},
               "fetches": [value.name for value in case.fetches]}
    is_spread = OPTIONS[mode]["slots"] > 1
    devices = graph_def.spread(case.nodes, OPTIONS[mode]["slots"]) if is_spread else {}
    session = client.session(**OPTIONS[mode])
    try:
        model = graph_def.with_devices(case.model, devices)
        request["graph"] = client.graph(session, model, "application/x-protobuf")
        outcome.cut_edges = len(client.plan(session, request["graph"], request)["transfers"])
        request["options"] = {"timeout_ms": STEP_MS}
        begin = time.perf_counter()
        step = client.step(session, request)
        outcome.elapsed_ms = (time.perf_counter() - begin) * 1000
        if random_op(case) is None:
            outcome.digest = hashlib.sha256(json.dumps(step["outputs"], sort_keys=True).encode()).hexdigest()
        outcome.memory["first"] = memory_of(step)
        plan = client.plan(session, request["graph"], {**request, "partition_graphs": mode == UNFOLDED})
        outcome.copies = sum(registration.get("copies", 0) for registration in plan["registrations"])
        if mode == UNFOLDED:
            outcome.lacking, outcome.runs_there = device_coverage.lacking_nodes(plan), device_coverage.runs_there(plan)
        if max(taken for _, taken in outcome.memory["first"]) >= MEMORY_MIN:
            client.step(session, request)  # of what was not known ahead, it learns
            outcome.memory["third"] = memory_of(client.step(session, request))
    finally:
        client.send("DELETE", f"/sessions/{session}")
    for value in case.fetches:
        if value.name not in step["outputs"]:
            raise cases.Mismatch(f"the step gave no '{value.name}'")
        cases.compare(case, value, step["outputs"][value.name])


def random_op(case):
    needed = graph_def.ancestors(case.nodes, [value.name.rpartition(":")[0] for value in case.fetches])
    return next((case.nodes[name].op for name in sorted(needed) if case.nodes[name].op in RANDOM), None)


def judge(client, root, name, mode):
    outcome = Outcome(name, mode)
    case = None
    try:
        case = cases.read_case(os.path.join(root, name), name)
        run_step(client, case, mode, outcome)
        outcome.state = "passed"
    except cases.ValueMismatch as error:
        op = random_op(case)
        outcome.state = "failed" if op is None else "skipped"
        outcome.reason = str(error) if op is None else f"{op} has its own random numbers"
    except (cases.Bad, cases.Mismatch, graph_def.Malformed, sluice.Refused) as error:
        outcome.reason = str(error)
    except (OSError, http.client.HTTPException) as error:
        outcome.reason = f"no reply: {type(error).__name__} {error}"
    except Exception as error:  # pylint: disable=broad-except  # a case must never end the run
        outcome.reason = f"the driver failed: {type(error).__name__} {error}"
    return outcome


# --- All ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def unpacked(corpus):
    """The folder to look for cases in."""
    if os.path.isdir(corpus) and os.path.exists(os.path.join(corpus, ARCHIVE)):
        corpus = os.path.join(corpus, ARCHIVE)
    if os.path.isdir(corpus):
        yield corpus
        return
    with tempfile.TemporaryDirectory(prefix="conformance-tf.") as folder:
        subprocess.run(["tar", "-xf", corpus, "-C", folder], check=True)
        yield folder


def run_all(cluster, root, names, modes=tuple(MODES)):
    local = threading.local()

    def run(item):
        if not hasattr(local, "client"):
            local.client = cluster.client()
        return judge(local.client, root, *item)

    items = [(name, mode) for name in names for mode in modes]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(run, items))


def kind_of(reason):
    """The reason without what differs from case to case: names, numbers."""
    varying = r"(op '[^']*')|('[^']*')|(\[[-\d, ]*\])|(-?\d+(\.\d+)?(e[-+]?\d+)?)"
    return re.sub(varying, lambda found: found[1] or ("'…'" if found[2] else "[…]" if found[3] else "N"), reason)


def report_memory(outcomes, run):
    """Of partitions that take so much memory that its planning matters."""
    parts = [(outcome, *part) for outcome in outcomes for part in outcome.memory.get(run, []) if part[1] >= MEMORY_MIN]
    near = [part for part in parts if abs(part[1] - part[2]) <= part[2] / 10]
    print(f"{run} run: planned memory within a tenth of what was taken in {len(near)} of {len(parts)} partitions of "
          f"{MEMORY_MIN // 1024} KiB and more")
    for outcome, planned, taken in parts:
        if (outcome, planned, taken) not in near:
            print(f"  {outcome.name} ({outcome.mode}): planned {planned}, took {taken}")


def report_copies(outcomes):
    """Between the memories of a worker's devices, graph by graph."""
    copying = sorted((outcome for outcome in outcomes if outcome.copies), key=lambda one: -one.copies)
    print(f"{sum(outcome.copies for outcome in copying)} copies between memories in {len(copying)} of {len(outcomes)} runs")
    for outcome in copying[:SHOWN_COPIES]:
        print(f"  {outcome.name} ({outcome.mode}): {outcome.copies}")


def report(outcomes, known):
    counts = collections.Counter(outcome.state for outcome in outcomes)
    failures = [outcome for outcome in outcomes if outcome.state == "failed"]
    for outcome in failures:
        why = known_reason(known, outcome.name)
        print(f"FAILED {outcome.name} ({outcome.mode}): {outcome.reason}" + (f" (known: {why})" if why else ""))
    for outcome in outcomes:
        if outcome.state == "skipped":
            print(f"skipped {outcome.name} ({outcome.mode}): {outcome.reason}")
    kinds = collections.Counter(kind_of(outcome.reason) for outcome in failures)
    if kinds:
        print("\nfailures by reason:")
    for kind, count in kinds.most_common(SHOWN_REASONS):
        print(f"{count:6} {kind}")
    slow = sorted((outcome for outcome in outcomes if outcome.elapsed_ms >= SLOW_MS), key=lambda one: -one.elapsed_ms)
    for outcome in slow:
        print(f"slow: {outcome.name} ({outcome.mode}) took {outcome.elapsed_ms:.0f} ms")
    print()
    cuts = [outcome.cut_edges for outcome in outcomes if outcome.cut_edges]
    print(f"{sum(cuts)} edges cut in {len(cuts)} cases")
    report_copies(outcomes)
    report_memory(outcomes, "first")
    report_memory(outcomes, "third")
    for mode in MODES:
        part = collections.Counter(outcome.state for outcome in outcomes if outcome.mode == mode)
        print(f"{mode}: {part['passed']} passed, {part['failed']} failed, {part['skipped']} skipped")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return all(known_reason(known, outcome.name) for outcome in failures)


def write_report(corpus, outcomes):
    counts = collections.Counter(outcome.state for outcome in outcomes)
    document = {"corpus": corpus, "passed": counts["passed"], "failed": counts["failed"],
                "skipped": counts["skipped"], "cases": [outcome.document() for outcome in outcomes]}
    os.makedirs(os.path.dirname(REPORT), exist_ok=True)
    with open(REPORT, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")


def read_known():
    """Cases that cannot pass, and why."""
    with open(KNOWN, encoding="utf-8") as file:
        lines = [line.split(maxsplit=1) for line in file if line.strip() and not line.startswith("#")]
    return {name: why.strip() for name, why in lines}


def known_reason(known, name):
    """The corpus may lie in a folder of its own within the tar."""
    return next((why for case, why in known.items() if f"/{name}".endswith(f"/{case}")), None)


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    corpus = sys.argv[1]
    if not os.path.exists(corpus):
        raise SystemExit(f"CORPUS={corpus}: there is no such file or folder")
    with unpacked(corpus) as root:
        names = [name for name in cases.find_cases(root) if os.environ.get("CASES", "") in name]
        if not names:
            raise SystemExit(f"CORPUS={corpus}: there is no case (a folder with {cases.MODEL}) in it")
        with sluice.Cluster() as cluster:
            outcomes = run_all(cluster, root, names)
    write_report(corpus, outcomes)
    is_good = report(outcomes, read_known())
    if cluster.device_counts:
        print(f"test devices: {cluster.device_counts}")
    print(f"written: {REPORT}")
    raise SystemExit(0 if is_good else 1)


if __name__ == "__main__":
    main()
