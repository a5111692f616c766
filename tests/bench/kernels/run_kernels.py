#!/usr/bin/env python3
"""run_kernels.py [ROUNDS [PART]]   Every row of kernel_rows.py, or those with PART in their name, as a model of one node in
Sluice and in ONNX Runtime, on one thread and on two. Prints a table in Markdown, also into build/bench-kernels.md: medians of
the node's time, how many times faster Sluice is, and the part of the machine's limit that it reaches: of the multiply-adds
for rows that count them, else of the bytes of inputs and outputs. Runs under tools/with_postgres with a Python that has
numpy, onnx and onnxruntime; OUT names the build."""

import math
import os
import statistics
import subprocess
import sys
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, FOLDER)
sys.path.insert(0, os.path.join(FOLDER, "../models"))
sys.path.insert(0, os.path.join(FOLDER, "../../support"))
import kernel_rows  # noqa: E402
import model_steps  # noqa: E402
import numpy  # noqa: E402
import onnxruntime  # noqa: E402
import sluice  # noqa: E402

ROUNDS = 15
WARM_UP = 3
THREADS = (1, 2)
REPORT = "build/bench-kernels.md"
TOLERANCE = 1e-3
# ONNX Runtime's threads go on looking for work for some 30 ms after a run.
REST_SECONDS = 0.05


class Limits:
    """The machine's limits on some threads, as limits_bench measures them."""

    def __init__(self, threads):
        program = os.path.join(os.environ["OUT"], "tests/bench/limits_bench")
        lines = subprocess.run([program, str(threads)], check=True, capture_output=True, text=True).stdout.splitlines()
        values = {fields[0]: float(fields[1]) for fields in (line.split("\t") for line in lines)}
        self.operations = next(value for name, value in values.items() if name.startswith("multiply-adds"))  # GFLOP/s
        self.bytes = next(value for name, value in values.items() if name.startswith("copy"))  # GB/s

    def part(self, operations, size, nanoseconds):
        least = operations / self.operations if operations else size / self.bytes
        return least / nanoseconds


def rival_time(model, feeds, threads, rounds):
    """(median nanoseconds, outputs)"""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, value in feeds.items():
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(value))
    for output in session.get_outputs():
        binding.bind_output(output.name)
    samples = []
    for _ in range(WARM_UP + rounds):
        begin = time.perf_counter_ns()
        session.run_with_iobinding(binding)
        samples.append(time.perf_counter_ns() - begin)
    return statistics.median(samples[WARM_UP:]), [value.numpy() for value in binding.get_outputs()]


def our_time(model, threads, feeds, names, rounds):
    """(median nanoseconds of the node, outputs)"""
    with model_steps.ModelSteps(model, "application/onnx", threads, feeds) as steps:
        outputs = steps.outputs(names)
        samples = [steps.node_time(names) for _ in range(WARM_UP + rounds)]
    return statistics.median(samples[WARM_UP:]), outputs


def agree(ours, theirs):
    for mine, other in zip(ours, theirs):
        if mine.shape != other.shape:
            return False
        mine, other = mine.astype(numpy.float64), other.astype(numpy.float64)
        scale = max(1, float(numpy.nanmax(numpy.abs(other)))) if other.size else 1
        if not numpy.allclose(mine, other, rtol=0, atol=_tolerance(theirs) * scale, equal_nan=True):
            return False
    return True


def _tolerance(values):
    """Halves and bytes may be rounded to the next one."""
    return 0.02 if values[0].dtype.itemsize < 4 else TOLERANCE


def measure(row, threads, rounds, limits):
    """(our microseconds, theirs, part of the limit, whether outputs agree); theirs is NaN where it has no such kernel."""
    model, feeds, names = kernel_rows.model_of(row)
    model = model.SerializeToString()
    try:
        their_time, theirs = rival_time(model, feeds, threads, rounds)
        time.sleep(REST_SECONDS)
    except Exception:  # its own exceptions have no common class
        their_time, theirs = math.nan, None
    our, ours = our_time(model, threads, feeds, names, rounds)
    moved = sum(value.nbytes for value in [*feeds.values(), *ours])
    part = limits.part(row[4], moved, our)
    return our / 1e3, their_time / 1e3, part, theirs is None or agree(ours, theirs)


def _cells(measured):
    our, their, part, is_same = measured
    return f"{our:.0f} | {their:.0f} | {their / our:.2f}{'' if is_same else ' (differs)'} | {part:.0%}"


def table(rows, rounds):
    limits = {threads: Limits(threads) for threads in THREADS}
    for threads in THREADS:
        yield (f"{threads} thread{'s' if threads > 1 else ''}: at most {limits[threads].operations:.0f} GFLOP/s, "
               f"{limits[threads].bytes:.0f} GB/s copied.  ")
    yield ""
    yield "| kernel | " + " | ".join(f"Sluice, {n} thr (us) | ONNX Runtime | ratio | of the limit" for n in THREADS) + " |"
    yield "|---|" + "--:|" * 4 * len(THREADS)
    ratios = {threads: [] for threads in THREADS}
    for row in rows:
        try:
            measured = [measure(row, threads, rounds, limits[threads]) for threads in THREADS]
        except sluice.Refused as error:
            yield f"| {row[0]} | refused: {str(error)[:80]} |"
            continue
        for threads, (our, their, _, _) in zip(THREADS, measured):
            if not math.isnan(their):
                ratios[threads].append(math.log(their / our))
        yield f"| {row[0]} | " + " | ".join(_cells(values) for values in measured) + " |"
    yield ""
    for threads in THREADS:
        if ratios[threads]:
            yield f"Geometric mean of {len(ratios[threads])} ratios, {threads} thr: {math.exp(statistics.mean(ratios[threads])):.2f}.  "


def main(rounds=ROUNDS, part=""):
    os.makedirs(os.path.dirname(REPORT), exist_ok=True)
    with open(REPORT, "w", encoding="utf-8") as file:
        for line in table([row for row in kernel_rows.rows() if part in row[0]], int(rounds)):
            print(line, flush=True)
            file.write(line + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
