#!/usr/bin/env python3
"""run_models.py MODELS [ROUNDS]   Every .onnx below the folder MODELS in Sluice and in ONNX Runtime, and every SavedModel there
in Sluice and in TensorFlow, on one thread and on two: each round runs the model once in each. Prints the medians, and how many
times faster Sluice is over REST and inside the worker; writes build/bench-models.json. Outputs are compared; a model whose
outputs differ counts as not run. Runs under tools/with_postgres with a Python that has numpy, onnxruntime and tensorflow (or
those of the two that the models need); OUT names the build."""

import importlib
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
# The module of each kind of models, by the end of a file's name. That of a kind that is not there is not loaded.
KINDS = {".onnx": "onnx_models", "saved_model.pb": "saved_models"}


class Rival:
    """The rival of a model's kind in a process of its own."""

    def __init__(self, kind, path, threads, inputs, folder):
        self._outputs = os.path.join(folder, "outputs.npz")
        numpy.savez(os.path.join(folder, "inputs.npz"), **inputs)
        self._process = subprocess.Popen(
            [sys.executable, os.path.join(FOLDER, kind.CHILD), path, str(threads),
             os.path.join(folder, "inputs.npz"), self._outputs],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self._process.stdout.readline().strip() != "ready":
            self._process.wait()
            raise model_inputs.Unsupported(f"{kind.RIVAL} does not run it")

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


def _warm(run):
    """What a run takes behind others of the same system: the first finds the caches as the other system has left them."""
    time.sleep(REST_SECONDS)
    end = time.perf_counter() + WARM_SECONDS
    run()
    while time.perf_counter() < end:
        run()
    return run()


def measure(kind, path, threads, inputs, names, tolerance, rounds):
    """A row of the report."""
    with tempfile.TemporaryDirectory(prefix="models.") as folder:
        rival = Rival(kind, path, threads, inputs, folder)
        try:
            with model_steps.ModelSteps(kind.read(path), kind.CONTENT_TYPE, threads, inputs) as steps:
                worst = model_inputs.differences(steps.outputs(names), rival.outputs())
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
            "rival_us": their_time / 1e3, "rival_cpu_us": their_cpu / 1e3, "difference": worst, "differs": worst > tolerance,
            "rest_ratio": their_time / rest, "worker_ratio": their_time / worker,
            "cpu_ratio": their_cpu / max(1, computed), "memory": memory,
            "rival_memory": rival_memory, "costliest": ops}


def print_row(name, row):
    ops = ", ".join(f"{op.partition('(')[0]} {part:.0%}" for op, part in row["costliest"])
    print(f"{name:38} {row['threads']} thr  REST {row['rest_us']:9.0f}  worker {row['worker_us']:9.0f}  CPU {row['computed_us']:9.0f}"
          f"  rival {row['rival_us']:9.0f} CPU {row['rival_cpu_us']:9.0f} us"
          f"  x{row['rest_ratio']:.2f} x{row['worker_ratio']:.2f} CPU x{row['cpu_ratio']:.2f}"
          f"  {row['memory'] >> 20}/{row['rival_memory'] >> 20} MiB  {ops}"
          + (f"  DIFFERS by {row['difference']:.1e}" if row["differs"] else ""), flush=True)


def models_below(folder, ending):
    return sorted(os.path.join(root, name) for root, _, names in os.walk(folder) for name in names if name.endswith(ending))


def geometric_mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else math.nan


def summarise(rows):
    """The geometric means of the ratios of all models, by the names of the columns, and the models with the lowest ratios."""
    means = {column: geometric_mean([row[column] for row in rows.values()]) for column in ("worker_ratio", "rest_ratio", "cpu_ratio")}
    means["slow_rest_ratio"] = geometric_mean([row["rest_ratio"] for row in rows.values() if row["rival_us"] >= SLOW_US])
    means["lowest"] = sorted(rows, key=lambda name: rows[name]["worker_ratio"])[:LOWEST]
    return means


def run_kind(kind, paths, folder, rounds):
    """The report on the models of one kind."""
    report = {"rival": kind.RIVAL, "version": kind.VERSION, "models": {}, "left_out": {}}
    for path in paths:
        place = kind.place(path)
        name = os.path.relpath(place, folder)
        try:
            given = model_inputs.read_given(os.path.dirname(place)).get(os.path.basename(place), {})
            inputs, names, tolerance = kind.describe(path, given)
            rows = [measure(kind, path, threads, inputs, names, tolerance, rounds) for threads in THREADS]
        except (model_inputs.Unsupported, sluice.Refused) as error:
            report["left_out"][name] = str(error)
            print(f"{name:38} left out: {error}", flush=True)
            continue
        for row in rows:
            print_row(name, row)
        report["models"][name] = rows
    return report


def add_means(report):
    """Adds and prints what the models of one kind have in common, on one thread and on two."""
    for index, threads in enumerate(THREADS):
        same = {name: rows[index] for name, rows in report["models"].items() if not rows[index]["differs"]}
        report[f"means_{threads}"] = means = summarise(same)
        print(f"{len(same)} models, {threads} thread{'s' if threads > 1 else ''}: {report['rival']}'s time is "
              f"{means['worker_ratio']:.2f} times that inside the worker, {means['rest_ratio']:.2f} times that over REST "
              f"({means['slow_rest_ratio']:.2f} of models that it needs {SLOW_US / 1e3:.0f} ms or more for); its CPU time "
              f"{means['cpu_ratio']:.2f} times the worker's; lowest inside the worker: "
              + ", ".join(f"{name} {same[name]['worker_ratio']:.2f}" for name in means["lowest"]))


def load_kind(module):
    """The module, or None when its rival is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        print(f"skipped: {error}", flush=True)
        return None


def main(folder, rounds=ROUNDS):
    reports = {}
    for ending, module in KINDS.items():
        paths = models_below(folder, ending)
        kind = load_kind(module) if paths else None
        if kind is not None:
            reports[module] = run_kind(kind, paths, folder, int(rounds))
            add_means(reports[module])
    os.makedirs(os.path.dirname(REPORT), exist_ok=True)
    with open(REPORT, "w", encoding="utf-8") as file:
        json.dump({"rounds": int(rounds), **reports}, file, indent=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
