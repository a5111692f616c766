#!/usr/bin/env python3
"""A convolutional network learns handwritten digits over REST: it recognises over 97 % of the 360 digits of 1,797 that it has not
seen. Its losses are the same to the last bit on one worker and two, with one thread and two.

DIGITS_EPOCHS=number   how often it sees the other digits (7)
DIGITS_STEPS=number    how many losses are compared (30)
"""

import gzip
import itertools
import os
import random
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(FOLDER, "../support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from digits_network import DigitsNetwork  # noqa: E402

DATA = os.path.join(FOLDER, "data/digits/digits.csv.gz")
EPOCHS = int(os.environ.get("DIGITS_EPOCHS", "7"))
TRAINED_ON = 1437
BATCH = 32
RATES = {"momentum": 0.05, "adam": 0.003}
RATE_DECAY = 0.6  # from epoch to epoch
STEPS_COMPARED = int(os.environ.get("DIGITS_STEPS", "30"))
ACCURACY_MIN = 0.97
ONE = {"slots": 1, "placement": "local"}
TWO = {"slots": 2, "placement": "spread"}


def _read_images():
    """Returns [(64 shares of ink, digit)], shuffled: neighbours in the file were written by one hand."""
    with gzip.open(DATA, "rt", encoding="ascii") as file:
        rows = [[int(text) for text in line.split(",")] for line in file]
    random.Random(1).shuffle(rows)
    return [([pixel / 16 for pixel in row[:64]], row[64]) for row in rows]


IMAGES = _read_images()


def _feeds(images):
    pixels = [pixel for image, _ in images for pixel in image]
    return {"x": {"dtype": "float32", "shape": [len(images), 8, 8, 1], "data": pixels},
            "labels": {"dtype": "int32", "shape": [len(images)], "data": [digit for _, digit in images]}}


def _batches(epochs, rate):
    """Yields the feeds of each step."""
    chance = random.Random(7)
    order = list(range(TRAINED_ON))
    for _ in range(epochs):
        chance.shuffle(order)
        for begin in range(0, TRAINED_ON - BATCH + 1, BATCH):
            yield {**_feeds([IMAGES[index] for index in order[begin:begin + BATCH]]), "rate": rate}
        rate *= RATE_DECAY


class Training:
    """A network in a session of its own."""

    def __init__(self, client, options, **network):
        self._client = client
        self._slots = options["slots"]
        self._session = client.session(**options)
        client.graph(self._session, DigitsNetwork(**network).graph.document())
        client.step(self._session, {"targets": ["init"]})

    def run(self, feeds, fetch, *targets):
        request = {"feeds": feeds, "fetches": [fetch], "targets": list(targets)}
        step = self._client.step(self._session, request)
        assert not targets or len(step["partitions"]) == self._slots, f"a step of {self._slots} slots ran as {step['partitions']}"
        return step["outputs"][fetch]["data"][0]

    def losses(self, batches):
        return [self.run(batch, "loss", "train") for batch in batches]

    def accuracy(self):
        return self.run(_feeds(IMAGES[TRAINED_ON:]), "accuracy")

    def end(self):
        self._client.send("DELETE", f"/sessions/{self._session}")


def _first_losses(threads, options, **network):
    with sluice.Cluster(threads=threads) as cluster:
        training = Training(cluster.client(), options, **network)
        losses = training.losses(itertools.islice(_batches(EPOCHS, RATES[network["optimizer"]]), STEPS_COMPARED))
        training.end()
    return losses


def a_network_learns_to_tell_digits():
    with sluice.Cluster(threads=(2, 2)) as cluster:
        training = Training(cluster.client(), TWO, optimizer="momentum", variables="resource")
        losses = training.losses(_batches(EPOCHS, RATES["momentum"]))
        accuracy = training.accuracy()
        training.end()
    per_epoch = len(losses) // EPOCHS
    for epoch in range(EPOCHS):
        mean = sum(losses[epoch * per_epoch:(epoch + 1) * per_epoch]) / per_epoch
        print(f"epoch {epoch + 1}: mean loss {mean:.4f}")
    print(f"{100 * accuracy:.2f} % of {len(IMAGES) - TRAINED_ON} unseen digits")
    assert accuracy > ACCURACY_MIN, f"accuracy {accuracy}, expected over {ACCURACY_MIN}"


def losses_do_not_depend_on_workers_and_threads():
    for network in ({"optimizer": "momentum", "variables": "resource"}, {"optimizer": "adam", "variables": "reference"}):
        expected = _first_losses((1,), ONE, **network)
        assert len(set(expected)) > STEPS_COMPARED // 2, "the losses do not change"
        for threads, options in (((2,), ONE), ((1, 1), TWO), ((2, 2), TWO)):
            losses = _first_losses(threads, options, **network)
            first = next((step for step in range(STEPS_COMPARED) if losses[step] != expected[step]), None)
            assert first is None, (f"{network}: step {first} on workers of {threads} threads gave {losses[first]}, on one "
                                   f"of one thread {expected[first]}")


if __name__ == "__main__":
    run_group([a_network_learns_to_tell_digits, losses_do_not_depend_on_workers_and_threads])
