#!/usr/bin/env python3
"""How a worker starts where there is a GPU, its driver and its plugin, or only some of them: what it logs, and with
cuda=required how it ends. The driver is a stub (tests/plugins/libcuda.c), as are the plugins."""

import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import Skipped, await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402

OUT = os.path.abspath(os.environ.get("OUT", "build/release"))
WORKER = os.path.join(OUT, "sluice-worker")
PLUGINS = os.path.join(OUT, "tests/plugins")
PLAIN = os.path.join(PLUGINS, "plain_plugin.so")
NO_ACCELERATOR = "no accelerator: steps run on the CPU"
END_SECONDS = 60
RESTART = 75  # EX_TEMPFAIL of sysexits.h: a supervisor starts the program again
TWO_SUMS = {"node": [node for feed, sum in (("a", "b"), ("c", "d")) for node in (
    {"name": feed, "op": "Placeholder", "attr": {"dtype": {"type": "DT_FLOAT"}, "shape": {"shape": {}}}},
    {"name": sum, "op": "Add", "input": [feed, feed], "attr": {"T": {"type": "DT_FLOAT"}}})]}


@contextlib.contextmanager
def driver_folder():
    """A folder in which the loader finds the stub of the driver."""
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(PLUGINS, "libcuda.so"), os.path.join(folder, "libcuda.so.1"))
        yield folder


class Worker:
    """`with Worker("--cuda", "auto", STUB_CUDA_INIT="100") as worker:` a worker that has said what it found and listens.
    `has_driver`: it finds the stub of a driver."""

    def __init__(self, *arguments, has_driver=True, program=WORKER, **variables):
        self._arguments = [program, "--listen", "127.0.0.1:0", *arguments]
        self._variables = variables
        self._has_driver = has_driver
        self._ends = contextlib.ExitStack()

    def _begin(self):
        folder = self._ends.enter_context(tempfile.TemporaryDirectory())
        self._errors = self._ends.enter_context(open(os.path.join(folder, "errors"), "w+", encoding="utf-8"))
        variables = {**os.environ, **self._variables}
        if self._has_driver:
            driver = self._ends.enter_context(driver_folder())
            variables["LD_LIBRARY_PATH"] = f"{driver}:{variables.get('LD_LIBRARY_PATH', '')}"
        self.process = self._ends.enter_context(
            subprocess.Popen(self._arguments, env=variables, text=True, stdout=subprocess.PIPE, stderr=self._errors))

    def __enter__(self):
        self._begin()
        line = self.process.stdout.readline()
        assert line.startswith("listening on "), self.errors()
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(END_SECONDS)
        self._ends.close()

    def errors(self):
        self._errors.seek(0)
        return self._errors.read()

    def events(self):
        return [json.loads(line) for line in self.errors().splitlines()]

    def reason(self):
        """Why it has no accelerator."""
        found = [event["reason"] for event in self.events() if event["message"] == NO_ACCELERATOR]
        assert len(found) == 1, self.errors()
        return found[0]

    def run_to_end(self):
        """The exit status and what was said, of a worker that does not start."""
        with self._ends:
            self._begin()
            assert self.process.stdout.read() == "", "it listens"
            return self.process.wait(END_SECONDS), self.errors().strip()


EX_CONFIG = 78  # systemd, which this unit's RestartPreventExitStatus tells, starts the worker no more
MAY_PASS = 1  # it is started again: a driver's module may be loading, a card be reset


def expect_reason(reason, *arguments, code=EX_CONFIG, **how):
    """A worker that may have no accelerator serves without one, and says why; one that must have one ends with it."""
    with Worker(*arguments, **how) as worker:
        assert worker.reason() == reason, worker.reason()
    ended = Worker("--cuda", "required", *arguments, **how).run_to_end()
    assert ended == (code, f"sluice-worker: cuda=required: {reason}"), ended


def a_machine_without_a_driver_has_no_accelerator():
    with contextlib.suppress(OSError):
        ctypes.CDLL("libcuda.so.1")
        raise Skipped("this machine has a CUDA driver")
    expect_reason("no CUDA driver: libcuda.so.1: cannot open shared object file: No such file or directory",
                  "--cuda-plugin", PLAIN, has_driver=False)


def a_driver_without_a_card_says_so():
    expect_reason("no CUDA device: the driver is here, but sees no card", "--cuda-plugin", PLAIN, code=MAY_PASS,
                  STUB_CUDA_INIT="100")


def a_driver_that_is_too_old_is_named_with_what_is_needed():
    expect_reason("the CUDA driver is too old: it serves CUDA 12.8, and 13.0 is needed, which drivers from 580 on serve",
                  "--cuda-plugin", PLAIN, STUB_CUDA_VERSION="12080", STUB_CUDA_INIT="100")


def a_driver_that_fails_is_quoted():
    expect_reason("the CUDA driver does not serve: cuInit() says 803, system has unsupported display driver",
                  "--cuda-plugin", PLAIN, code=MAY_PASS, STUB_CUDA_INIT="803", STUB_CUDA_TEXT="system has unsupported display driver")


def a_worker_without_a_plugin_was_built_without_cuda():
    with tempfile.TemporaryDirectory() as folder:
        program = shutil.copy(WORKER, folder)
        expect_reason(f"built without CUDA: there is no '{folder}/sluice-cuda.so'", program=program)


def an_installed_plugin_is_found_where_libraries_are():
    """`make install` and the packages put it into lib/sluice, beside the folder bin."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("bin", "lib/sluice"):
            os.makedirs(os.path.join(folder, name))
        program = shutil.copy(WORKER, os.path.join(folder, "bin"))
        shutil.copy(os.path.join(PLUGINS, "foreign_plugin.so"), os.path.join(folder, "lib/sluice/sluice-cuda.so"))
        with Worker(program=program) as worker:
            said = worker.reason()
        assert said.startswith(f"the plugin '{folder}/bin/../lib/sluice/sluice-cuda.so' is of another build: "), said


def a_plugin_of_another_build_is_refused():
    path = os.path.join(PLUGINS, "foreign_plugin.so")
    with Worker("--cuda-plugin", path) as worker:
        said = worker.reason()
    assert said.startswith(f"the plugin '{path}' is of another build: its size of a Device is "), said
    expect_reason(said, "--cuda-plugin", path)


def a_plugin_that_cannot_be_loaded_is_refused_in_the_loaders_words():
    path = os.path.join(PLUGINS, "unlinked_plugin.so")
    expect_reason(f"the plugin cannot be loaded: {path}: undefined symbol: function_that_no_worker_has", "--cuda-plugin", path)
    expect_reason("the plugin cannot be loaded: /nowhere/sluice-cuda.so: cannot open shared object file: No such file or directory",
                  "--cuda-plugin", "/nowhere/sluice-cuda.so")
    with tempfile.NamedTemporaryFile(suffix=".so") as text:
        text.write(b"this is not a shared object\n")
        text.flush()
        expect_reason(f"the plugin cannot be loaded: {text.name}: file too short", "--cuda-plugin", text.name)
    stub = os.path.join(PLUGINS, "libcuda.so")
    expect_reason(f"'{stub}' is no plugin: it has no function sluice_plugin()", "--cuda-plugin", stub)


def a_device_that_cannot_be_opened_says_why():
    why = "GPU 'Tesla K80' is of compute capability 3.7; sluice-cuda.so has images from 7.5 on"
    expect_reason(why, "--cuda-plugin", PLAIN, PLAIN_PLUGIN_NONE=why)


def on_cpu():
    """The plugin itself, with CUDA's runtime and card played by the CPU."""
    path = os.path.join(OUT, "tests/sluice-cuda-on-cpu.so")
    if not os.path.exists(path):
        raise Skipped("no CUDA toolkit")
    return path


def the_plugin_refuses_a_card_that_it_cannot_serve():
    plugin = on_cpu()
    expect_reason("the CUDA driver finds no card", "--cuda-plugin", plugin, code=MAY_PASS, CUDA_ON_CPU_DEVICES="0")
    expect_reason("card 0, CPU in place of a GPU, has compute capability 3.7, and 7.5 is the least that is served",
                  "--cuda-plugin", plugin, CUDA_ON_CPU_CAPABILITY="37")
    expect_reason("'CPU in place of a GPU' is a card of sm_80, for which this plugin has no code: build it with "
                  "'make cuda CUDA_ARCHS=80', or for all cards with 'make cuda-release'",
                  "--cuda-plugin", plugin, CUDA_ON_CPU_CAPABILITY="80", CUDA_ON_CPU_IMAGES="90")
    expect_reason("there is no card 3: the driver shows 1, counted from 0", "--cuda-plugin", plugin, "--cuda-device", "3", code=MAY_PASS)


def the_plugin_opens_a_card_without_nvidias_libraries_and_says_so():
    with tempfile.TemporaryDirectory() as folder:
        with Worker("--cuda", "required", "--cuda-plugin", on_cpu(), "--cuda-libraries", folder, "--cuda-memory", "50%",
                    CUDA_ON_CPU_MEMORY=str(1 << 30)) as worker:
            device, *libraries = worker.events()
    assert (device["message"], device["card"]) == ("accelerator opened", "CPU in place of a GPU"), device
    assert 0.45 * (1 << 30) < device["memory_limit"] <= 0.5 * (1 << 30), device
    assert sorted(library["library"] for library in libraries) == ["NVRTC", "cuBLASLt", "cuDNN"], libraries
    for library in libraries:
        assert (library["level"] == "info") == (library["unused_because"] == ""), library


def devices(cluster):
    """What GET /api/v1/devices says, by type."""
    return {device["type"]: device for device in cluster.client().send("GET", "/devices")["devices"]}


def a_gateway_lists_the_device_or_why_there_is_none():
    with driver_folder() as folder, environment(LD_LIBRARY_PATH=folder):
        with sluice.Cluster(threads=(2,), worker_settings=("--cuda-plugin", PLAIN)) as cluster:
            card = devices(cluster)["GPU"]
            assert (card["driver"], card["in_service"], card["isa"]) == ("580.1", True, "plain"), card
            assert card["libraries"] == [{"name": "cuBLAS", "version": "13.1.0"},
                                         {"name": "cuDNN", "reason": "libcudnn.so.9 cannot be found"}], card
            assert "no_gpu" not in devices(cluster)["CPU"], devices(cluster)
        for settings, reason in (
                (("--cuda", "off"), "switched off: cuda=off"),
                (("--cuda-plugin", "/nowhere.so"), "the plugin cannot be loaded: /nowhere.so: cannot open shared object file: "
                                                   "No such file or directory")):
            with sluice.Cluster(threads=(2,), worker_settings=settings) as cluster:
                assert devices(cluster)["CPU"]["no_gpu"] == reason and "GPU" not in devices(cluster), devices(cluster)


def a_worker_that_shall_use_no_accelerator_looks_for_none():
    with Worker("--cuda", "off", "--cuda-plugin", PLAIN) as worker:
        assert worker.errors() == "", worker.errors()


def a_plugins_device_is_opened_with_the_settings():
    settings = ["--cuda", "required", "--cuda-plugin", PLAIN, "--cuda-device", "1", "--cuda-memory", "20GiB",
                "--cuda-tenant-memory", "25%", "--cuda-pinned", "64MiB", "--cuda-libraries", "/opt/a,/opt/b"]
    with Worker(*settings) as worker:
        device, cublas, cudnn = worker.events()
    wanted = f"plain card '1', {20 << 30} bytes, 0 percent, 25 percent a tenant, {64 << 20} pinned, libraries '/opt/a:/opt/b'"
    assert (device["message"], device["card"], device["driver"], device["isa"]) == \
        ("accelerator opened", wanted, "580.1", "plain"), device
    assert (cublas["level"], cublas["library"], cublas["version"]) == ("info", "cuBLAS", "13.1.0"), cublas
    assert (cudnn["level"], cudnn["library"], cudnn["unused_because"]) == \
        ("warning", "cuDNN", "libcudnn.so.9 cannot be found"), cudnn
    with Worker("--cuda-plugin", PLAIN, "--cuda-memory", "75%") as worker:
        card = worker.events()[0]["card"]
    assert card == f"plain card '', 0 bytes, 75 percent, 100 percent a tenant, {256 << 20} pinned, libraries ''", card


def variables_that_libraries_heed_are_told_at_the_start():
    with Worker("--cuda-plugin", PLAIN, NVIDIA_TF32_OVERRIDE="1", CUBLAS_WORKSPACE_CONFIG=":16:8") as worker:
        told = {event["variable"]: (event["level"], event["value"]) for event in worker.events() if "variable" in event}
    assert told == {"NVIDIA_TF32_OVERRIDE": ("warning", "1"), "CUBLAS_WORKSPACE_CONFIG": ("warning", ":16:8")}, told


def a_device_out_of_service_ends_the_worker_for_a_new_process():
    with tempfile.TemporaryDirectory() as folder:
        fault = os.path.join(folder, "fault")
        with Worker("--cuda-plugin", PLAIN, PLAIN_PLUGIN_FAULT=fault) as worker:
            assert worker.process.poll() is None
            pathlib.Path(fault).touch()
            assert worker.process.wait(END_SECONDS) == RESTART
            said = worker.events()[-1]
        assert (said["level"], said["message"], said["fault"]) == (
            "error", "accelerator out of service: the worker ends, for a new process to take its place",
            "an illegal address was accessed"), said


@contextlib.contextmanager
def environment(**variables):
    """What all programs that are started meanwhile have in theirs."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def runs_on_the_cpu_end_before_a_worker_whose_device_is_out_of_service():
    with driver_folder() as folder:
        fault = os.path.join(folder, "fault")
        settings = ("--cuda", "required", "--cuda-plugin", PLAIN, "--grace", f"{END_SECONDS}s")
        with environment(LD_LIBRARY_PATH=folder, PLAIN_PLUGIN_FAULT=fault), \
                sluice.Cluster(threads=(2,), worker_settings=settings) as cluster:
            client = cluster.client()
            session = client.session()
            path = f"/sessions/{session}/partial-runs"
            run = {"graph": client.graph(session, TWO_SUMS), "feeds": ["a", "c"], "fetches": ["b", "d"]}
            run = client.send("POST", path, run)["id"]
            first = client.send("POST", f"{path}/{run}:continue", {"feeds": {"a": 1}, "fetches": ["b"]})
            assert first["outputs"]["b"]["data"] == [2], first
            pathlib.Path(fault).touch()
            await_that(lambda: client.send("GET", "/workers")["workers"][0]["state"] == "draining", "the worker drains")
            card = devices(cluster)["GPU"]
            assert (card["in_service"], card["fault"]) == (False, "an illegal address was accessed"), card
            assert cluster.workers[0].is_running()
            last = client.send("POST", f"{path}/{run}:continue", {"feeds": {"c": 3}, "fetches": ["d"]})
            assert last["outputs"]["d"]["data"] == [6], last
            assert cluster.workers[0].end_code(END_SECONDS) == RESTART


def settings_that_mean_nothing_are_refused():
    for arguments, said in (
            (("--cuda-memory", "8x"), "cuda-memory is '8x', which is neither bytes nor a share as 90%: "
                                      "expected a size such as 4096, 64KiB or 2GiB, not '8x'"),
            (("--cuda-tenant-memory", "0%"), "cuda-tenant-memory is '0%', which is neither bytes nor a share as 90%: "
                                             "'0' is not between 1 and 100"),
            (("--cuda-memory", "101%"), "cuda-memory is '101%', which is neither bytes nor a share as 90%: "
                                        "'101' is not between 1 and 100"),
            (("--cuda-device", "first"), "cuda-device is 'first'; it is an index (0), or the UUID of a GPU (GPU-…) or of a MIG "
                                         "device (MIG-…)")):
        ended = Worker(*arguments).run_to_end()
        assert ended == (78, f"sluice-worker: {said}"), ended  # EX_CONFIG: a supervisor need not try again


def plugins_take_from_the_worker_only_what_it_offers():
    plugins = [os.path.join(OUT, name) for name in ("sluice-cuda.so", "tests/sluice-cuda-on-cpu.so", "tests/plugins/plain_plugin.so")]
    check = ["tools/check_plugin", "worker/plugin.symbols", OUT]
    done = subprocess.run(check + [path for path in plugins if os.path.exists(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    taken = subprocess.run(check + [os.path.join(PLUGINS, "greedy_plugin.so")], capture_output=True, text=True)
    assert taken.returncode == 1 and taken.stdout.splitlines() == [
        f"{PLUGINS}/greedy_plugin.so: needs worker_open, which worker/plugin.symbols does not name",
        f"{PLUGINS}/greedy_plugin.so: has call_cancel, which is the worker's"], (taken.stdout, taken.stderr)


if __name__ == "__main__":
    run_group([
        a_machine_without_a_driver_has_no_accelerator,
        a_driver_without_a_card_says_so,
        a_driver_that_is_too_old_is_named_with_what_is_needed,
        a_driver_that_fails_is_quoted,
        a_worker_without_a_plugin_was_built_without_cuda,
        an_installed_plugin_is_found_where_libraries_are,
        a_plugin_of_another_build_is_refused,
        a_plugin_that_cannot_be_loaded_is_refused_in_the_loaders_words,
        a_device_that_cannot_be_opened_says_why,
        the_plugin_refuses_a_card_that_it_cannot_serve,
        the_plugin_opens_a_card_without_nvidias_libraries_and_says_so,
        a_gateway_lists_the_device_or_why_there_is_none,
        a_worker_that_shall_use_no_accelerator_looks_for_none,
        a_plugins_device_is_opened_with_the_settings,
        variables_that_libraries_heed_are_told_at_the_start,
        a_device_out_of_service_ends_the_worker_for_a_new_process,
        runs_on_the_cpu_end_before_a_worker_whose_device_is_out_of_service,
        settings_that_mean_nothing_are_refused,
        plugins_take_from_the_worker_only_what_it_offers,
    ])
