"""One SavedModel in TensorFlow, in a process of its own; started by run_models.py.

    tensorflow_child.py MODEL THREADS INPUTS OUTPUTS

It speaks as rival_child.py says. What is timed is a call of the signature with tensors, as a server makes it."""

import sys

import rival_child
import saved_models
import tensorflow


def main(model, threads, inputs, outputs):
    tensorflow.config.threading.set_intra_op_parallelism_threads(int(threads))
    tensorflow.config.threading.set_inter_op_parallelism_threads(int(threads))
    _kept, signature = saved_models.load(model)

    def run(fed):
        results = signature(**{name: tensorflow.constant(value) for name, value in fed.items()})
        return [results[name].numpy() for name in sorted(results)]

    rival_child.answer(run, inputs, outputs)


if __name__ == "__main__":
    main(*sys.argv[1:])
