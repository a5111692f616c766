"""Writes affine.tar beside itself: a SavedModel of a few KiB, made by TensorFlow 2.

Its signature "serving_default" gives y = x w + b, once for each of `times`; "scale" gives z = 2 x where x is
positive, else x w. The variable "unused" is restored, and read by neither.
"""
import os
import tarfile
import tempfile

import tensorflow as tf


class Affine(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="w")
        self.b = tf.Variable([0.5, -0.5], name="b")
        self.unused = tf.Variable(7, name="unused")

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, "x"), tf.TensorSpec([], tf.int32, "times")])
    def serve(self, x, times):
        y = tf.while_loop(lambda i, y: i < times, lambda i, y: (i + 1, y @ self.w + self.b), (0, x))[1]
        return {"y": y}

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, "x")])
    def scale(self, x):
        return {"z": tf.cond(tf.reduce_sum(x) > 0, lambda: 2 * x, lambda: x @ self.w)}


def main():
    module = Affine()
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as folder:
        signatures = {"serving_default": module.serve, "scale": module.scale}
        options = tf.saved_model.SaveOptions(save_debug_info=False)
        tf.saved_model.save(module, folder, signatures, options)
        with tarfile.open(os.path.join(here, "affine.tar"), "w", format=tarfile.USTAR_FORMAT) as archive:
            for name in ("saved_model.pb", "variables/variables.index", "variables/variables.data-00000-of-00001"):
                archive.add(os.path.join(folder, name), name)


if __name__ == "__main__":
    main()
