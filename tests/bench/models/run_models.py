#!/usr/bin/env python3
"""run_models.py MODELS [ROUNDS]   Every .onnx below the folder MODELS, in Sluice and in ONNX Runtime, on one thread and on
two: each round runs the model once in each. Prints the medians, and how many times faster Sluice is over REST and inside
the worker; writes build/bench-models.json. Outputs are compared; a model whose outputs differ counts as not run. Runs under
tools/with_postgres with a Python that has numpy and onnxruntime; OUT names the build."""

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, FOLDER)
sys.path.insert(0, os.path.join(FOLDER, "../../support"))
import model_inputs  # noqa: E402
import model_steps  # noqa: E402
import numpy  # noqa: E402
import onnxruntime  # noqa: E402
import sluice  # noqa: E402

ROUNDS = 20
WARM_UP = 3
THREADS = (1, 2)
REPORT = "build/bench-models.json"
# ONNX Runtime's threads go on looking for work for some 30 ms after a run, and would take a core from the step behind it.
REST_SECONDS = 0.05
WARM_SECONDS = 0.01
# Sums in another order: relative to the largest number of an output.
TOLERANCE = 1e-3


class Rival:
    """ONNX Runtime in a process of its own."""

    def __init__(self, path, threads, inputs, folder):
        self._outputs = os.path.join(folder, "outputs.npz")
        numpy.savez(os.path.join(folder, "inputs.npz"), **inputs)
        self._process = subprocess.Popen(
            [sys.executable, os.path.join(FOLDER, "onnxruntime_child.py"), path, str(threads),
             os.path.join(folder, "inputs.npz"), self._outputs],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self._process.stdout.readline().strip() != "ready":
            self._process.wait()
            raise model_inputs.Unsupported("ONNX Runtime does not run it")

    def outputs(self):
        stored = numpy.load(self._outputs)
        return [stored[f"o{index}"] for index in range(len(stored.files))]

    def run(self):
        """(nanoseconds, nanoseconds of CPU time)"""
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return tuple(int(number) for number in self._process.stdout.readline().split("\t"))

    def close(self):
        """The most bytes that it had."""
        text, _ = self._process.communicate()
        return int(text.split()[-1]) if text.split() else 0


def differences(ours, theirs):
    """The largest distance between two outputs, relative to the largest number."""
    worst = 0.0
    for mine, other in zip(ours, theirs):
        if mine.shape != other.shape:
            return math.inf
        if other.size and numpy.issubdtype(other.dtype, numpy.number):
            scale = max(1e-6, float(numpy.nanmax(numpy.abs(other.astype(numpy.float64)))))
            worst = max(worst, float(numpy.nanmax(numpy.abs(mine.astype(numpy.float64) - other.astype(numpy.float64)))) / scale)
    return worst


def _warm(run):
    """What a run takes behind others of the same system: the first finds the caches as the other system has left them."""
    time.sleep(REST_SECONDS)
    end = time.perf_counter() + WARM_SECONDS
    run()
    while time.perf_counter() < end:
        run()
    return run()


def measure(path, threads, inputs, names, rounds):
    """A row of the report."""
    with tempfile.TemporaryDirectory(prefix="models.") as folder:
        rival = Rival(path, threads, inputs, folder)
        try:
            with model_steps.ModelSteps(path, threads, inputs) as steps:
                worst = differences(steps.outputs(names), rival.outputs())
                ours, theirs = [], []
                for turn in range(WARM_UP + rounds):
                    samples = _warm(rival.run), _warm(lambda: steps.run(names))
                    if turn >= WARM_UP:
                        theirs.append(samples[0])
                        ours.append(samples[1])
                ops = steps.costliest_ops(names, 3)
                memory = steps.worker_memory()
        finally:
            rival_memory = rival.close()
    rest, worker, computed = (statistics.median(column) for column in zip(*ours))
    their_time, their_cpu = (statistics.median(column) for column in zip(*theirs))
    return {"threads": threads, "rest_us": rest / 1e3, "worker_us": worker / 1e3, "computed_us": computed / 1e3,
            "onnxruntime_us": their_time / 1e3, "onnxruntime_cpu_us": their_cpu / 1e3, "difference": worst,
            "rest_ratio": their_time / rest, "worker_ratio": their_time / worker,
            "cpu_ratio": their_cpu / max(1, computed), "memory": memory,
            "onnxruntime_memory": rival_memory, "costliest": ops}


def describe(path):
    """(inputs, names of outputs); raises model_inputs.Unsupported."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its own exceptions have no common class
        raise model_inputs.Unsupported(f"ONNX Runtime refuses it: {str(error)[:120]}") from error
    given = model_inputs.read_given(os.path.dirname(path)).get(os.path.basename(path), {})
    return model_inputs.make_inputs(session.get_inputs(), given), [output.name for output in session.get_outputs()]


def print_row(name, row):
    ops = ", ".join(f"{op.partition('(')[0]} {part:.0%}" for op, part in row["costliest"])
    print(f"{name:38} {row['threads']} thr  REST {row['rest_us']:9.0f}  worker {row['worker_us']:9.0f}  CPU {row['computed_us']:9.0f}"
          f"  ORT {row['onnxruntime_us']:9.0f} CPU {row['onnxruntime_cpu_us']:9.0f} us"
          f"  x{row['rest_ratio']:.2f} x{row['worker_ratio']:.2f} CPU x{row['cpu_ratio']:.2f}"
          f"  {row['memory'] >> 20}/{row['onnxruntime_memory'] >> 20} MiB  {ops}"
          + (f"  DIFFERS by {row['difference']:.1e}" if row["difference"] > TOLERANCE else ""), flush=True)


def models_below(folder):
    return sorted(os.path.join(root, name) for root, _, names in os.walk(folder) for name in names if name.endswith(".onnx"))


def geometric_mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else math.nan


def main(folder, rounds=ROUNDS):
    report = {"onnxruntime": onnxruntime.__version__, "rounds": int(rounds), "models": {}, "left_out": {}}
    for path in models_below(folder):
        name = os.path.relpath(path, folder)
        try:
            inputs, names = describe(path)
            rows = [measure(path, threads, inputs, names, int(rounds)) for threads in THREADS]
        except (model_inputs.Unsupported, sluice.Refused) as error:
            report["left_out"][name] = str(error)
            print(f"{name:38} left out: {error}", flush=True)
            continue
        for row in rows:
            print_row(name, row)
        report["models"][name] = rows
    for index, threads in enumerate(THREADS):
        rows = [rows[index] for rows in report["models"].values() if rows[index]["difference"] <= TOLERANCE]
        report[f"worker_ratio_{threads}"] = geometric_mean([row["worker_ratio"] for row in rows])
        report[f"rest_ratio_{threads}"] = geometric_mean([row["rest_ratio"] for row in rows])
        report[f"cpu_ratio_{threads}"] = geometric_mean([row["cpu_ratio"] for row in rows])
        print(f"{len(rows)} models, {threads} thread{'s' if threads > 1 else ''}: ONNX Runtime's time is "
              f"{report[f'worker_ratio_{threads}']:.2f} times that inside the worker, {report[f'rest_ratio_{threads}']:.2f} times that over REST; its CPU time "
              f"{report[f'cpu_ratio_{threads}']:.2f} times the worker's")
    os.makedirs(os.path.dirname(REPORT), exist_ok=True)
    with open(REPORT, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
