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
SLOW_US = 5000  # of models that take longer, what REST adds is to be a tenth at most
LOWEST = 3
# Sums in another order: relative to the largest number of an output. A model that magnifies them (an image of noise, in which a
# detector finds nothing but 1e-5 everywhere) may differ by what ONNX Runtime's own optimizations change, twice.
TOLERANCE = 1e-3
OWN_CHANGES = 2


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


def measure(path, threads, inputs, names, tolerance, rounds):
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
            "onnxruntime_us": their_time / 1e3, "onnxruntime_cpu_us": their_cpu / 1e3, "difference": worst, "differs": worst > tolerance,
            "rest_ratio": their_time / rest, "worker_ratio": their_time / worker,
            "cpu_ratio": their_cpu / max(1, computed), "memory": memory,
            "onnxruntime_memory": rival_memory, "costliest": ops}


def _open_session(path, level):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = level
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its own exceptions have no common class
        raise model_inputs.Unsupported(f"ONNX Runtime refuses it: {str(error)[:120]}") from error


def describe(path):
    """(inputs, names of outputs, tolerance); raises model_inputs.Unsupported."""
    levels = onnxruntime.GraphOptimizationLevel
    session = _open_session(path, levels.ORT_ENABLE_ALL)
    given = model_inputs.read_given(os.path.dirname(path)).get(os.path.basename(path), {})
    inputs = model_inputs.make_inputs(session.get_inputs(), given)
    try:
        plain, optimized = _open_session(path, levels.ORT_DISABLE_ALL).run(None, inputs), session.run(None, inputs)
    except Exception as error:
        raise model_inputs.Unsupported(f"ONNX Runtime does not run it: {str(error)[:120]}") from error
    tolerance = max(TOLERANCE, OWN_CHANGES * differences(plain, optimized))
    return inputs, [output.name for output in session.get_outputs()], tolerance


def print_row(name, row):
    ops = ", ".join(f"{op.partition('(')[0]} {part:.0%}" for op, part in row["costliest"])
    print(f"{name:38} {row['threads']} thr  REST {row['rest_us']:9.0f}  worker {row['worker_us']:9.0f}  CPU {row['computed_us']:9.0f}"
          f"  ORT {row['onnxruntime_us']:9.0f} CPU {row['onnxruntime_cpu_us']:9.0f} us"
          f"  x{row['rest_ratio']:.2f} x{row['worker_ratio']:.2f} CPU x{row['cpu_ratio']:.2f}"
          f"  {row['memory'] >> 20}/{row['onnxruntime_memory'] >> 20} MiB  {ops}"
          + (f"  DIFFERS by {row['difference']:.1e}" if row["differs"] else ""), flush=True)


def models_below(folder):
    return sorted(os.path.join(root, name) for root, _, names in os.walk(folder) for name in names if name.endswith(".onnx"))


def geometric_mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else math.nan


def summarise(rows):
    """The geometric means of the ratios of all models, by the names of the columns, and the models with the lowest ratios."""
    means = {column: geometric_mean([row[column] for row in rows.values()]) for column in ("worker_ratio", "rest_ratio", "cpu_ratio")}
    means["slow_rest_ratio"] = geometric_mean([row["rest_ratio"] for row in rows.values() if row["onnxruntime_us"] >= SLOW_US])
    means["lowest"] = sorted(rows, key=lambda name: rows[name]["worker_ratio"])[:LOWEST]
    return means


def main(folder, rounds=ROUNDS):
    report = {"onnxruntime": onnxruntime.__version__, "rounds": int(rounds), "models": {}, "left_out": {}}
    for path in models_below(folder):
        name = os.path.relpath(path, folder)
        try:
            inputs, names, tolerance = describe(path)
            rows = [measure(path, threads, inputs, names, tolerance, int(rounds)) for threads in THREADS]
        except (model_inputs.Unsupported, sluice.Refused) as error:
            report["left_out"][name] = str(error)
            print(f"{name:38} left out: {error}", flush=True)
            continue
        for row in rows:
            print_row(name, row)
        report["models"][name] = rows
    for index, threads in enumerate(THREADS):
        same = {name: rows[index] for name, rows in report["models"].items() if not rows[index]["differs"]}
        report[f"means_{threads}"] = means = summarise(same)
        print(f"{len(same)} models, {threads} thread{'s' if threads > 1 else ''}: ONNX Runtime's time is "
              f"{means['worker_ratio']:.2f} times that inside the worker, {means['rest_ratio']:.2f} times that over REST "
              f"({means['slow_rest_ratio']:.2f} of models that it needs {SLOW_US / 1e3:.0f} ms or more for); its CPU time "
              f"{means['cpu_ratio']:.2f} times the worker's; lowest inside the worker: "
              + ", ".join(f"{name} {same[name]['worker_ratio']:.2f}" for name in means["lowest"]))
    os.makedirs(os.path.dirname(REPORT), exist_ok=True)
    with open(REPORT, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
