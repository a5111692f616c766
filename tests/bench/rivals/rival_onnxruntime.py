"""ONNX Runtime in this process, one thread; its graph optimizations are off where nodes are counted, which they would
fold, and on for blocks of networks."""

import json
import os
import tempfile
import time

import numpy
import onnxruntime

NAME = "ONNX Runtime"
VERSION = onnxruntime.__version__
FED = {"x": numpy.array(1, numpy.float32)}


def _options(level):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = level
    options.log_severity_level = 3
    return options


def _session(case, profile=""):
    options = _options(onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    if profile:
        options.enable_profiling = True
        options.profile_file_prefix = profile
    return onnxruntime.InferenceSession(case.onnx, options, providers=["CPUExecutionProvider"])


class Runner:
    def __init__(self, case):
        self._case = case
        self._session = _session(case)

    def node_count(self):
        """How many runs of nodes a profile of one run shows."""
        with tempfile.TemporaryDirectory(prefix="rivals.") as folder:
            session = _session(self._case, os.path.join(folder, "profile"))
            session.run(None, FED)
            with open(session.end_profiling(), encoding="utf-8") as file:
                events = json.load(file)
        return sum(event.get("cat") == "Node" and event["name"].endswith("_kernel_time") for event in events)

    def run(self):
        return float(self._session.run(None, FED)[0])

    def nanoseconds(self, count):
        """(nanoseconds a run, value of the last)"""
        run = self._session.run
        begin = time.perf_counter_ns()
        for _ in range(count):
            value = run(None, FED)
        return (time.perf_counter_ns() - begin) / count, float(value[0])

    def close(self):
        self._session = None


class Network:
    """Every element of x is 0.5."""

    _RUNS = 40

    def __init__(self, block):
        options = _options(onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL)
        self._session = onnxruntime.InferenceSession(block.model(), options, providers=["CPUExecutionProvider"])
        self._fed = {"x": numpy.full(block.shape, 0.5, numpy.float32)}

    def microseconds(self):
        """(of the best of some runs, the sum of squares of the result)"""
        best = float("inf")
        for _ in range(self._RUNS):
            begin = time.perf_counter_ns()
            result = self._session.run(None, self._fed)[0]
            best = min(best, time.perf_counter_ns() - begin)
        return best / 1e3, float(numpy.square(result, dtype=numpy.float64).sum())
