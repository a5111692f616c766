"""One model in ONNX Runtime, in a process of its own whose memory and CPU time are its alone. Started by run_models.py.

    onnxruntime_child.py MODEL THREADS INPUTS OUTPUTS

INPUTS: an .npz with the inputs by name. Each line of standard input asks for one run, answered with "nanoseconds<TAB>CPU
nanoseconds"; OUTPUTS, an .npz by name, is written before the first. At its end it prints the most memory it had."""

import sys
import time

import numpy
import onnxruntime


def memory_most():
    """The most bytes that this process had; what getrusage() tells begins with what its parent had."""
    with open("/proc/self/status", encoding="utf-8") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def main(model, threads, inputs, outputs):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(threads)
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    fed = dict(numpy.load(inputs))
    names = [output.name for output in session.get_outputs()]
    numpy.savez(outputs, **{f"o{index}": value for index, value in enumerate(session.run(names, fed))})
    print("ready", flush=True)
    for _ in sys.stdin:
        cpu, begin = time.process_time_ns(), time.perf_counter_ns()
        session.run(names, fed)
        print(f"{time.perf_counter_ns() - begin}\t{time.process_time_ns() - cpu}", flush=True)
    print(memory_most(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
