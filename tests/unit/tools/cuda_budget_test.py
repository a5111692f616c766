#!/usr/bin/env python3
"""`tools/cuda_budget`: kernels of any number keep one budget; what needs more has a row with a reason, and nothing else has."""

import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)

ALL = "*\t64\t1024\t0\t0\tall others"


def kernel(name, registers=32, shared=0, stack=0, stores=0, loads=0, arch="sm_90"):
    """The words of ptxas for one kernel, whose name is mangled."""
    memory = f", {shared} bytes smem" if shared else ""
    return (f"ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function '{name}' for '{arch}'\n"
            f"ptxas info    : Function properties for {name}\n"
            f"    {stack} bytes stack frame, {stores} bytes spill stores, {loads} bytes spill loads\n"
            f"ptxas info    : Used {registers} registers, used 1 barriers{memory}\n")


PLAIN = "_Z5plainPf"                    # plain(float*)
FLOATS, DOUBLES = "_Z4rowsIfLi4EEvPT_", "_Z4rowsIdLi4EEvPT_"  # void rows<float, 4>(float*), and of double


def judge(table, *usages):
    """The exit status and the lines of the tool, without its name in front of them."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("table", *(f"{index}.cu.usage" for index in range(len(usages))))]
        for path, text in zip(paths, ("# comment\n" + "\n".join(table) + "\n", *usages)):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run(["tools/cuda_budget", *paths], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, [line.removeprefix("cuda_budget: ").replace(folder + "/", "") for line in done.stdout.splitlines()]


def assert_refused(found, *reasons):
    code, lines = found
    assert code == 1 and set(lines[:-1]) == set(reasons), found
    assert lines[-1] == "mend the kernel, or give it a row with its reason in table", found


def new_kernels_within_the_budget_need_no_row():
    code, lines = judge([ALL], kernel(PLAIN, registers=64) + kernel(FLOATS, arch="sm_75"), kernel(DOUBLES, shared=1024))
    assert code == 0 and len(lines) == 1, lines
    assert lines[0].startswith("3 kernels for sm_") and "64 registers (plain)" in lines[0], lines
    assert "1024 bytes of shared memory (rows)" in lines[0] and lines[0].endswith("0 bytes spilled"), lines


def each_measure_is_held_for_each_architecture():
    assert_refused(judge([ALL], kernel(PLAIN, registers=65)), "plain for sm_90: 65 registers, 64 allowed")
    assert_refused(judge([ALL], kernel(PLAIN) + kernel(FLOATS, shared=1025, arch="sm_75")),
                   "rows<float, 4> for sm_75: 1025 bytes of shared memory, 1024 allowed")
    assert_refused(judge([ALL], kernel(PLAIN, stack=8) + kernel(PLAIN, stores=4, loads=12, arch="sm_120")),
                   "plain for sm_90: 8 bytes of stack, 0 allowed", "plain for sm_120: 16 bytes spilled, 0 allowed")


def an_exception_holds_for_one_kernel_in_all_its_types():
    table = [ALL, "rows\t128\t1024\t0\t8\tits sums wait in registers"]
    assert judge(table, kernel(FLOATS, registers=100), kernel(DOUBLES, registers=128, stores=8))[0] == 0
    assert_refused(judge(table, kernel(DOUBLES, registers=129) + kernel(PLAIN, registers=100)),
                   "rows<double, 4> for sm_90: 129 registers, 128 allowed", "plain for sm_90: 100 registers, 64 allowed")


def a_row_that_no_kernel_needs_is_refused():
    table = [ALL, "rows\t128\t1024\t0\t0\tits sums wait in registers"]
    assert_refused(judge(table, kernel(PLAIN)), "table: there is no kernel rows: delete its row")
    assert_refused(judge(table, kernel(FLOATS)), "table: rows needs no row: delete it")


def a_table_that_cannot_be_read_is_refused():
    row = "rows\t128\t1024\t0\t0\t"
    assert_refused(judge([ALL, row], kernel(FLOATS, registers=100)), f"table: not a kernel, four numbers and a reason: {row}")
    assert_refused(judge([ALL, row + "one", row + "two"], kernel(FLOATS, registers=100)), "table: rows has two rows")
    assert "table: there is no row for all kernels (*)" in judge([row + "one"], kernel(FLOATS, registers=100))[1]


def nothing_to_judge_is_no_success():
    assert_refused(judge([ALL], "ptxas info    : 0 bytes gmem\n"), "ptxas told of no kernel")
    assert judge([ALL], "") == (1, ["0.cu.usage is not there or empty: remove 0.cu.o, and make writes both"])
    assert judge([ALL]) == (1, ["there are no kernels to look at"])


if __name__ == "__main__":
    run_group([
        new_kernels_within_the_budget_need_no_row,
        each_measure_is_held_for_each_architecture,
        an_exception_holds_for_one_kernel_in_all_its_types,
        a_row_that_no_kernel_needs_is_refused,
        a_table_that_cannot_be_read_is_refused,
        nothing_to_judge_is_no_success,
    ])
