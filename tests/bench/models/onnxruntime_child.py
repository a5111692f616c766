"""One model in ONNX Runtime, in a process of its own; started by run_models.py.

    onnxruntime_child.py MODEL THREADS INPUTS OUTPUTS

It speaks as rival_child.py says."""

import sys

import onnxruntime
import rival_child


def main(model, threads, inputs, outputs):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(threads)
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    rival_child.answer(lambda fed: session.run(names, fed), inputs, outputs)


if __name__ == "__main__":
    main(*sys.argv[1:])
