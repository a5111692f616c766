"""Writes affine.tar, words.tar, training.tar, copies.tar, tables.tar and slices.tar beside itself, or those that its
arguments name: SavedModels of a few KiB, made by TensorFlow 2 (tables.tar by 2.21).

Its signature "serving_default" gives y = x w + b, once for each of `times`; "scale" gives z = 2 x where x is
positive, else x w. The variable "unused" is restored, and read by neither.

words.tar looks words up in two tables: one is filled from the lines of an asset, the other from constants.

training.tar changes its variables: "add" counts, "train" goes down a slope and counts; "scale" and
"rows" are only read, the latter in part by "pick".

copies.tar is a layer of Keras 3, whose variables are saved as copies that no signature names; "x" is an input and
an output of its main signature, and "grow" changes its bias.

tables.tar has tables that were filled before it was saved, so that their rows are in the checkpoint: "put" changes two
of them, the others are only read.

slices.tar is a model of TensorFlow 1: reference variables, of which one lies in two parts, in a checkpoint of two
files. "grow" adds to all of them.

With "--run" it prints what TensorFlow answers to the steps that the tests run.
"""
import os
import sys
import tarfile
import tempfile

import keras
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
TWO_CPUS = v1.ConfigProto(device_count={"CPU": 2})


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


class Training(tf.Module):
    def __init__(self):
        super().__init__()
        self.count = tf.Variable(40, dtype=tf.int64, name="count")
        self.w = tf.Variable([2.0, -1.0], name="w")
        self.scale = tf.Variable(3.0, name="scale")
        self.rows = tf.Variable([[1, 2], [3, 4], [5, 6]], name="rows")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32, "at")])
    def pick(self, at):
        return {"rows": tf.gather(self.rows, at), "cells": tf.gather_nd(self.rows, tf.stack([at, at * 0 + 1], 1)),
                "shape": tf.raw_ops.VariableShape(input=self.rows.handle)}

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, "x")])
    def predict(self, x):
        return {"y": tf.linalg.matvec(x, self.w) * self.scale}

    @tf.function(input_signature=[tf.TensorSpec([], tf.int64, "by")])
    def add(self, by):
        before = self.count.read_value()
        self.count.assign_add(by)
        return {"before": before, "after": self.count.read_value()}

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, "x"), tf.TensorSpec([None], tf.float32, "t")])
    def train(self, x, t):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.linalg.matvec(x, self.w) * self.scale - t) ** 2)
        self.w.assign_sub(0.015625 * tape.gradient(loss, self.w))
        self.count.assign_add(1)
        return {"loss": loss}


class Copies(tf.Module):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1, name="dense")
        self.dense.build((None, 2))
        self.dense.set_weights([np.array([[2.0], [3.0]]), np.array([0.5])])

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, "x")])
    def predict(self, x):
        return {"x": 2 * x, "sum": self.dense(x)}

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, "x")])
    def grow(self, x):
        self.dense.bias.assign_add(x[0, :1])
        return {"bias": self.dense.bias.value.read_value()}


class Tables(tf.Module):
    def __init__(self):
        super().__init__()
        lookup = tf.lookup.experimental
        self.numbers = lookup.MutableHashTable(tf.string, tf.int64, -1)
        self.numbers.insert(tf.constant(["one", "two"]), tf.constant([1, 2], tf.int64))
        self.names = lookup.MutableHashTable(tf.int64, tf.string, "?")
        self.names.insert(tf.constant([1, 2], tf.int64), tf.constant(["I", "II"]))
        self.points = lookup.MutableHashTable(tf.int64, tf.float32, tf.constant([0.0, -1.0]))
        self.points.insert(tf.constant([1, 2], tf.int64), tf.constant([[1.0, 1.5], [2.0, 2.5]]))
        self.squares = lookup.DenseHashTable(tf.int64, tf.int64, -1, -2, -3, initial_num_buckets=8)
        self.squares.insert(tf.constant([2, 3, 4], tf.int64), tf.constant([4, 9, 16], tf.int64))
        self.squares.erase(tf.constant([4], tf.int64))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "word")])
    def find(self, word):
        numbers = self.numbers.lookup(word)
        return {"number": numbers, "name": self.names.lookup(numbers), "point": self.points.lookup(numbers),
                "square": self.squares.lookup(numbers), "count": self.numbers.size(), "squares": self.squares.size()}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "key"), tf.TensorSpec([None], tf.int64, "value")])
    def put(self, key, value):
        self.numbers.insert(key, value)
        self.squares.insert(value, value * value)
        return {"size": self.numbers.size(), "found": self.squares.lookup(value)}

    @tf.function(input_signature=[])
    def rows(self):
        keys, values = self.names.export()
        order = tf.argsort(keys)
        return {"keys": tf.gather(keys, order), "values": tf.gather(values, order)}


def rows_from(shape, dtype, partition_info):
    return tf.cast(tf.reshape(tf.range(4), shape) + 2 * partition_info.var_offset[0], dtype)


def build_slices():
    """Of a graph with reference variables: the signatures."""
    with v1.variable_scope("r", use_resource=False):
        w = v1.get_variable("w", [4, 2], initializer=rows_from, partitioner=v1.fixed_size_partitioner(2))
        with tf.device("/cpu:1"):
            n = v1.get_variable("n", [], initializer=v1.constant_initializer(5.0))
    x = v1.placeholder(tf.float32, [None, 4], "x")
    y = tf.matmul(x, tf.convert_to_tensor(w))
    by = v1.placeholder(tf.float32, [], "by")
    with tf.control_dependencies([v1.assign_add(part, by * tf.ones_like(part)) for part in w]):
        grown = tf.identity(v1.assign_add(n, by), "grown")
    signature = v1.saved_model.predict_signature_def
    return {"serving_default": signature({"x": x}, {"y": y}), "grow": signature({"by": by}, {"n": grown})}


def save_slices(folder):
    with v1.Graph().as_default(), v1.Session(config=TWO_CPUS) as session:
        signatures = build_slices()
        session.run(v1.global_variables_initializer())
        builder = v1.saved_model.Builder(folder)
        builder.add_meta_graph_and_variables(session, ["serve"], signatures, saver=v1.train.Saver(sharded=True),
                                             clear_devices=True)
        builder.save()


def save_module(module, signatures):
    return lambda folder: tf.saved_model.save(module, folder, signatures,
                                              tf.saved_model.SaveOptions(save_debug_info=False))


def run_training():
    model = Training()
    x, t = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([1.0, 2.0])
    for by in 2, -5:
        print("add", by, {name: value.numpy() for name, value in model.add(tf.constant(by, tf.int64)).items()})
    for _ in range(2):
        print("train", model.train(x, t)["loss"].numpy())
    print("pick", {name: value.numpy().tolist() for name, value in model.pick(tf.constant([2, 0])).items()})
    print("predict", model.predict(x)["y"].numpy(), "count", model.count.numpy())


def run_tables():
    model = Tables()
    words, numbers = tf.constant(["one", "two", "six", "none"]), tf.constant([6, 3], tf.int64)
    for turn in range(2):
        print("find", {name: value.numpy().tolist() for name, value in model.find(words).items()})
        if turn == 0:
            print("put", {name: value.numpy().tolist()
                          for name, value in model.put(tf.constant(["six", "two"]), numbers).items()})
    print("rows", {name: value.numpy().tolist() for name, value in model.rows().items()})


def run_slices(folder):
    with v1.Graph().as_default(), v1.Session(config=TWO_CPUS) as session:
        v1.saved_model.load(session, ["serve"], folder)
        for by in 1, 2:
            print("grow", by, session.run("grown:0", {"by:0": by}))
            print("y", session.run("MatMul:0", {"x:0": [[1, 0, 0, 10]]}))


def write_tar(name, save, files):
    if sys.argv[1:] and name not in sys.argv[1:]:
        return
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as parent:
        folder = os.path.join(parent, "model")
        save(folder)
        with tarfile.open(os.path.join(here, name), "w", format=tarfile.USTAR_FORMAT) as archive:
            for file in files:
                archive.add(os.path.join(folder, file), file)


MODEL = ["saved_model.pb", "variables/variables.index"]
CHECKPOINT = MODEL + ["variables/variables.data-00000-of-00001"]


def write_all():
    affine = Affine()
    write_tar("affine.tar", save_module(affine, {"serving_default": affine.serve, "scale": affine.scale}), CHECKPOINT)
    with tempfile.TemporaryDirectory() as folder:
        vocabulary = os.path.join(folder, "words.txt")
        with open(vocabulary, "w", encoding="utf-8") as file:
            file.write("zero\none\ntwo\n")
        words = Words(vocabulary)
        write_tar("words.tar", save_module(words, words.serve), CHECKPOINT + ["assets/words.txt"])
    training = Training()
    signatures = {"serving_default": training.predict, "add": training.add, "train": training.train,
                  "pick": training.pick}
    write_tar("training.tar", save_module(training, signatures), CHECKPOINT)
    copies = Copies()
    write_tar("copies.tar", save_module(copies, {"serving_default": copies.predict, "grow": copies.grow}), CHECKPOINT)
    tables = Tables()
    signatures = {"serving_default": tables.find, "put": tables.put, "rows": tables.rows}
    write_tar("tables.tar", save_module(tables, signatures), CHECKPOINT)
    write_tar("slices.tar", save_slices, MODEL + [f"variables/variables.data-0000{shard}-of-00002" for shard in (0, 1)])


def main():
    if sys.argv[1:] != ["--run"]:
        write_all()
        return
    run_training()
    run_tables()
    with tempfile.TemporaryDirectory() as parent:
        folder = os.path.join(parent, "model")
        save_slices(folder)
        run_slices(folder)


if __name__ == "__main__":
    main()
