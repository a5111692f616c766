#!/usr/bin/env python3
"""`make bench-cuda` without a card: what it measures with computes the same on the CPU in place of a card, in tiny sizes; and its table
says of made-up times what follows from them."""

import collections
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import Skipped, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402

OUT = os.path.abspath(os.environ.get("OUT", "build/release"))
PLUGIN = "tests/sluice-cuda-on-cpu.so"
SECONDS = 600
TOLERANCE = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2}
DTYPES = set(TOLERANCE)
SYSTEMS = {"Sluice", "Sluice on the CPU"}
PLAIN = "Sluice, plain launches"


def run_bench(step):
    """The lines of the bench, as lists of words, with the CPU in place of a card."""
    if not os.path.exists(os.path.join(OUT, PLUGIN)):
        raise Skipped("no CUDA toolkit")
    driver = sluice.TestDriver(PLUGIN)
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(OUT, "tests/plugins/libcupti.so"), os.path.join(folder, "libcupti.so.13"))
        command = [os.path.join(OUT, "tests/bench/cuda/cuda_bench"), step, "tiny", *driver.settings, "--cuda-libraries", folder]
        try:
            done = subprocess.run(command, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS,
                                  env={**os.environ, **driver.variables})
        finally:
            driver.close()
    assert done.returncode == 0, done.stdout
    return [line.split("\t") for line in done.stdout.splitlines()]


def assert_times(lines, names_with_error):
    """Each case has a time that is one, in order, and the card's numbers are the CPU's. Returns the dtypes of each name."""
    dtypes = collections.defaultdict(set)
    for _, name, dtype, _, system, median, low, high, error in (line for line in lines if line[0] == "tiny time"):
        assert system in SYSTEMS | {PLAIN} and 0 <= float(low) <= float(median) <= float(high), (name, low, median, high)
        assert (error != "") == (name in names_with_error), (name, error)
        assert error == "" or float(error) <= TOLERANCE[dtype], (name, dtype, error)
        dtypes[name].add(dtype)
    return dtypes


def every_op_is_timed_in_each_dtype_and_right():
    names = {"Relu", "Exp", "AddV2", "AddV2 of a row", "Softmax", "LayerNormalization", "Sum of rows", "Sum of columns", "Transpose",
             "product", "product and ReLU", "product and GELU by tanh", "attention",
             "convolution"}
    lines = run_bench("ops")
    nodes = {"node of 4 numbers", "100 nodes of 4 numbers"}
    dtypes = assert_times(lines, names | nodes)
    assert set(dtypes) == names | nodes, dtypes
    assert all(dtypes[name] == DTYPES for name in names), dtypes
    systems = {line[4] for line in lines if line[0] == "tiny time" and line[1] == "100 nodes of 4 numbers"}
    assert systems == {"Sluice", PLAIN}, systems
    for system in systems:
        told = next(line[2] for line in lines if line[:2] == ["tiny fact", f"trace of 100 nodes of 4 numbers, {system}"])
        assert told.endswith(f" activities, {0 if system == PLAIN else 100} of them captured, 0 lost, by CUPTI 13.0"), told
        assert int(told.split()[0]) >= 100, told
    assert [line[1:4] for line in lines if line[0] == "tiny work"] == [line[1:4] for line in lines if line[0] == "tiny time"], lines


def networks_and_a_training_step_compute_on_the_card():
    lines = run_bench("models")
    dtypes = assert_times(lines, {"ResNet-50", "BERT-base", "training of 4 layers"})
    assert dtypes == {"ResNet-50": {"float32", "bfloat16"}, "BERT-base": {"float32", "bfloat16"},
                      "training of 4 layers": {"float32"}}, dtypes
    for _, name, copies in (line for line in lines if line[0] == "tiny fact" and "copies" in line[2]):
        assert 0 < float(copies.split()[0]) <= 2, (name, copies)  # nothing but answers comes back


def steps_run_one_by_one_and_many_under_way():
    lines = run_bench("worker")
    dtypes = assert_times(lines, set())
    steps = {f"step, {count} under way" for count in (1, 8, 64)}
    assert set(dtypes) == steps | {"step with a large feed", "step with a large fetch"}, dtypes
    told = {line[1] for line in lines if line[0] == "tiny fact" and "steps/s" in line[2]}
    assert told == {f"{step}, {rows},64, {system}" for step in steps for rows in (1, 2) for system in SYSTEMS}, told


def pytorch_that_is_missing_is_skipped():
    command = [sys.executable, "-I", "-S", "tests/bench/cuda/bench_torch.py", "real", "plain"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == "skipped: no PyTorch\n", done.stdout


def make_table(facts, times):
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("results", "times")]
        for path, rows in zip(paths, (facts, times)):
            with open(path, "w", encoding="utf-8") as file:
                file.writelines("\t".join(row) + "\n" for row in rows)
        done = subprocess.run(["tests/bundle/table", *paths], stdout=subprocess.PIPE, text=True, check=True)
        return [line.split() for line in done.stdout.splitlines()][1:]


def time_row(name, system, microseconds, dtype="float32", shape="8,8", error=""):
    return ("time", name, dtype, shape, system, str(microseconds), "0", "0", error)


def the_table_sets_each_case_beside_each_system():
    found = make_table([], [time_row("product", "Sluice", 100, error="1e-07"), time_row("product", "cuBLASLt", 96),
                            time_row("net", "Sluice", 100), time_row("net", "PyTorch eager", 99), time_row("net", "PyTorch graphed", 50),
                            time_row("alone", "PyTorch eager", 99)])
    assert found == [
        ["product", "float32", "8,8", "100", "96", "cuBLASLt", "0.960", "1e-07", "0.95:", "reached"],
        ["net", "float32", "8,8", "100", "99", "PyTorch", "eager", "0.990", "1:", "missed"],
        ["net", "float32", "8,8", "100", "50", "PyTorch", "graphed", "0.500"]], found


def a_case_that_came_often_counts_by_the_median():
    found = make_table([], [time_row("net", "Sluice", time) for time in (100, 10, 30, 20)])
    assert found == [["net", "float32", "8,8", "25"]], found


def the_floor_is_what_memory_or_products_allow():
    bandwidth = [("bench", "device to device, read and written", "fact", "", "1000.0 GB/s, median of 30 copies")]
    work = [("work", "add", "float32", "8,8", "80000000", "0"), ("work", "product", "float32", "8,8", "1000", "1000000"),
            ("work", "small", "float32", "8,8", "4000", "0")]
    found = make_table(bandwidth, work + [time_row("add", "Sluice", 90), time_row("small", "Sluice", 90), time_row("product", "Sluice", 20),
                                          time_row("product", "cuBLASLt", 10)])
    assert found == [
        ["add", "float32", "8,8", "90", "80", "0.8", "of", "the", "floor:", "reached"],
        ["small", "float32", "8,8", "90", "0.004"],
        ["product", "float32", "8,8", "20", "10", "cuBLASLt", "0.500", "10", "0.95:", "missed"]], found


def a_hundred_small_nodes_have_a_goal_of_their_own():
    name = "100 nodes of 4 numbers"
    found = make_table([], [time_row(name, "Sluice", 49, shape="4"), time_row(name, "Sluice", 60, shape="8"),
                            time_row(name, "Sluice", 40, shape="9"), time_row(name, PLAIN, 400, shape="9")])
    assert [line[-3:] for line in found] == [["50", "us:", "reached"], ["50", "us:", "missed"], ["50", "us:", "reached"]], found
    assert found[2][6:13] == ["9", "40", "400", *PLAIN.split(), "10.000"], found


if __name__ == "__main__":
    run_group([
        every_op_is_timed_in_each_dtype_and_right,
        networks_and_a_training_step_compute_on_the_card,
        steps_run_one_by_one_and_many_under_way,
        pytorch_that_is_missing_is_skipped,
        the_table_sets_each_case_beside_each_system,
        a_case_that_came_often_counts_by_the_median,
        the_floor_is_what_memory_or_products_allow,
        a_hundred_small_nodes_have_a_goal_of_their_own,
    ])
