"""What run_models.py and the process of a rival say to each other.

The process is started with an .npz of the inputs by name. It writes the outputs, an .npz with o0, o1, …, and says `ready`.
Each line of its standard input asks for one run, answered with "nanoseconds<TAB>CPU nanoseconds". At the end of the input it
prints the most memory that it had, which is its own, as the CPU time is."""

import sys
import time

import numpy


def memory_most():
    """The most bytes that this process had; what getrusage() tells begins with what its parent had."""
    with open("/proc/self/status", encoding="utf-8") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def answer(run, inputs, outputs):
    """`run` takes arrays by name and returns those of the outputs in order."""
    fed = dict(numpy.load(inputs))
    numpy.savez(outputs, **{f"o{index}": value for index, value in enumerate(run(fed))})
    print("ready", flush=True)
    for _ in sys.stdin:
        cpu, begin = time.process_time_ns(), time.perf_counter_ns()
        run(fed)
        print(f"{time.perf_counter_ns() - begin}\t{time.process_time_ns() - cpu}", flush=True)
    print(memory_most(), flush=True)
