"""TensorFlow 1's sessions: in this process, and against a server in a process of its own over grpc. Its graph
optimizers are off: they would fold the very nodes that are counted."""

import os
import subprocess
import sys
import threading
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import tensorflow.compat.v1 as tf  # noqa: E402  # pylint: disable=wrong-import-position
from google.protobuf import json_format  # noqa: E402  # pylint: disable=wrong-import-position

tf.disable_eager_execution()
NAME = "TensorFlow"
VERSION = tf.__version__
STOP_SECONDS = 15


def _config(thread_count):
    config = tf.ConfigProto(intra_op_parallelism_threads=thread_count, inter_op_parallelism_threads=thread_count)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    return config


class Runner:
    """One graph in one session. run(fetch) gives the value when x is 1."""

    def __init__(self, case, target="", thread_count=1):
        graph = tf.Graph()
        with graph.as_default():
            tf.import_graph_def(json_format.ParseDict(case.document, tf.GraphDef()), name="")
        self._session = tf.Session(target, graph=graph, config=_config(thread_count))
        self._callables = {}
        self._case = case

    def prepare(self, fetch):
        """Client-side only: TensorFlow hears of the fetch with the first run."""
        self._callables[fetch] = self._session.make_callable(fetch + ":0", ["x:0"])

    def run(self, fetch=None):
        fetch = fetch or self._case.fetch
        if fetch not in self._callables:
            self.prepare(fetch)
        return float(self._callables[fetch](1.0))

    def node_count(self):
        """How many runs of nodes TensorFlow traces in one run."""
        metadata = tf.RunMetadata()
        self._session.run(self._case.fetch + ":0", {"x:0": 1.0}, run_metadata=metadata,
                          options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE))
        return sum(len(device.node_stats) for device in metadata.step_stats.dev_stats)

    def nanoseconds(self, count):
        """(nanoseconds a run, value of the last)"""
        self.run()
        call = self._callables[self._case.fetch]
        begin = time.perf_counter_ns()
        for _ in range(count):
            value = call(1.0)
        return (time.perf_counter_ns() - begin) / count, float(value)

    def load(self, client_count, milliseconds):
        """A closed loop of so many threads, as load_steps has connections: (p50 in us, runs a second)."""
        self.run()
        samples = [[] for _ in range(client_count)]
        failures = []
        begin = time.perf_counter_ns()
        end = begin + int(milliseconds * 1e6)
        threads = [threading.Thread(target=self._repeat, args=(end, mine, failures)) for mine in samples]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        elapsed = time.perf_counter_ns() - begin
        if failures:
            raise SystemExit(f"{NAME}: {self._case.name}: {failures[0]}")
        times = sorted(one for mine in samples for one in mine)
        return times[len(times) // 2] / 1e3, len(times) * 1e9 / elapsed

    def _repeat(self, end, samples, failures):
        call = self._callables[self._case.fetch]
        try:
            now = time.perf_counter_ns()
            while True:  # one run at least, however short the time
                value = call(1.0)
                if value != self._case.value:
                    raise ValueError(f"{value} instead of {self._case.value}")
                after = time.perf_counter_ns()
                samples.append(after - now)
                now = after
                if now >= end:
                    return
        except Exception as error:  # pylint: disable=broad-except  # it must reach the main thread
            failures.append(f"{type(error).__name__} {error}")

    def close(self):
        self._session.close()


class Server:
    def __init__(self):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tensorflow_server.py")
        self._process = subprocess.Popen([sys.executable, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL, text=True)
        self.target = self._process.stdout.readline().strip()
        if not self.target.startswith("grpc://"):
            raise SystemExit(f"{NAME}: the server did not come up")

    def stop(self):
        self._process.stdin.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
