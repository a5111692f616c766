"""Pools of workers of which some have a GPU: that of a plugin, with the stub of a driver (tests/plugins/libcuda.c)."""

import contextlib
import os
import tempfile

import sluice

OUT = os.path.abspath(os.environ.get("OUT", "build/release"))
PLUGINS = os.path.join(OUT, "tests/plugins")
TEST_DEVICE = os.path.join(PLUGINS, "test_device_plugin.so")
CUDA_ON_CPU = os.path.join(OUT, "tests/sluice-cuda-on-cpu.so")  # built where the CUDA toolkit is


class Host:
    """A worker as it is to be started: its settings, and what its environment has besides. Without a plugin it has no GPU."""

    def __init__(self, plugin=None, *settings, **variables):
        self.settings = ("--cuda", "required", "--cuda-plugin", plugin, *settings) if plugin else ("--cuda", "off", *settings)
        self.variables = variables


class Pool(sluice.Cluster):
    """A cluster of these hosts, named w0, w1, …"""

    def __init__(self, *hosts):
        super().__init__(threads=(2,) * len(hosts))
        self._hosts = hosts

    def start_workers(self):
        self.workers = [self._start_host(index) for index in range(len(self._hosts))]

    def restart(self, index):
        """Starts a worker that has ended again, where it was."""
        self.workers[index] = self._start_host(index, self.workers[index].address)

    def _start_host(self, index, listen="127.0.0.1:0"):
        host = self._hosts[index]
        worker = sluice.Program("sluice-worker", "--listen", listen, "--name", f"w{index}", "--threads", "2", *host.settings,
                                variables=host.variables)
        self._programs.append(worker)
        return worker


@contextlib.contextmanager
def pool(*hosts):
    """A pool with a client; the loader finds the stub of a driver."""
    before = os.environ.get("LD_LIBRARY_PATH")
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(PLUGINS, "libcuda.so"), os.path.join(folder, "libcuda.so.1"))
        os.environ["LD_LIBRARY_PATH"] = f"{folder}:{before or ''}"
        try:
            with Pool(*hosts) as cluster:
                yield cluster, cluster.client()
        finally:
            os.environ.pop("LD_LIBRARY_PATH")
            if before is not None:
                os.environ["LD_LIBRARY_PATH"] = before


def compile_on(client, session, graph, request):
    """The names of the workers that have registered the partitions of a step whose feeds are float32."""
    names = {worker["task"]: worker["name"] for worker in client.send("GET", "/workers")["workers"]}
    signature = {"feeds": {name: {"dtype": "float32"} for name in request["feeds"]}, "fetches": request["fetches"]}
    answer = client.send("POST", f"/sessions/{session}/graphs/{graph}:compile", signature)
    return [names[partition["task"]] for partition in answer["partitions"]]


def refusal(client, session, request):
    """How the step is refused."""
    try:
        client.step(session, request)
    except sluice.Refused as refused:
        return refused
    raise AssertionError("the step was not refused")
