"""Writes affine.tar and words.tar beside itself: SavedModels of a few KiB, made by TensorFlow 2.

Its signature "serving_default" gives y = x w + b, once for each of `times`; "scale" gives z = 2 x where x is
positive, else x w. The variable "unused" is restored, and read by neither.

words.tar looks words up in two tables: one is filled from the lines of an asset, the other from constants.
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


class Words(tf.Module):
    def __init__(self, vocabulary):
        super().__init__()
        lines = tf.lookup.TextFileInitializer(vocabulary, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
                                              tf.lookup.TextFileIndex.LINE_NUMBER)
        self.numbers = tf.lookup.StaticHashTable(lines, -1)
        self.marks = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["one", "two"], ["I", "II"]), "?")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "word")])
    def serve(self, word):
        return {"number": self.numbers.lookup(word), "mark": self.marks.lookup(word)}


def write_tar(name, module, signatures, files):
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder, signatures, tf.saved_model.SaveOptions(save_debug_info=False))
        with tarfile.open(os.path.join(here, name), "w", format=tarfile.USTAR_FORMAT) as archive:
            for file in files:
                archive.add(os.path.join(folder, file), file)


def main():
    checkpoint = ["saved_model.pb", "variables/variables.index", "variables/variables.data-00000-of-00001"]
    affine = Affine()
    write_tar("affine.tar", affine, {"serving_default": affine.serve, "scale": affine.scale}, checkpoint)
    with tempfile.TemporaryDirectory() as folder:
        vocabulary = os.path.join(folder, "words.txt")
        with open(vocabulary, "w", encoding="utf-8") as file:
            file.write("zero\none\ntwo\n")
        words = Words(vocabulary)
        write_tar("words.tar", words, words.serve, checkpoint + ["assets/words.txt"])


if __name__ == "__main__":
    main()
