#!/usr/bin/env python3
"""A GPU whose memory is full: the step that asks for too much fails, with the sizes, and nobody else. With the test device
(tests/support/test_device.h), and with CUDA's plugin on a card that the CPU plays."""

import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import Skipped, await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
from gpu_pool import CUDA_ON_CPU, TEST_DEVICE, Host, pool, refusal  # noqa: E402
from worker_page import metric  # noqa: E402

MEMORY = 1 << 20
MEMORY_SETTING = "1MiB"  # the least that it may be
FLOAT = {"T": {"type": "DT_FLOAT"}}
GPU = "/device:GPU:0"
ROUNDS = 3
SMALL, FITTING, TOO_MANY, TOO_LARGE = 8, 200, 400, 600  # sides of matrices of float32: of the last, one is more than the memory


def _node(name, op, inputs, attr):
    return {"name": name, "op": op, "input": inputs, "attr": attr, "device": GPU}


# The product and its rectified copy are alive at one time.
GRAPH = {"node": [
    *({"name": name, "op": "Placeholder", "attr": {"dtype": {"type": "DT_FLOAT"}}} for name in ("column", "row")),
    {"name": "axes", "op": "Const", "attr": {"dtype": {"type": "DT_INT32"}, "value": {"tensor": {
        "dtype": "DT_INT32", "tensorShape": {"dim": [{"size": "2"}]}, "intVal": [0, 1]}}}},
    _node("product", "MatMul", ["column", "row"], FLOAT),
    _node("rectified", "Relu", ["product"], FLOAT),
    _node("squares", "Mul", ["product", "rectified"], FLOAT),
    _node("sum", "Sum", ["squares", "axes"], {**FLOAT, "Tidx": {"type": "DT_INT32"}})]}


def _request(side):
    return {"feeds": {"column": {"dtype": "float32", "shape": [side, 1], "data": [1.0] * side},
                      "row": {"dtype": "float32", "shape": [1, side], "data": [1.0] * side}}, "fetches": ["sum"]}


def _run(client, session, side):
    found = client.step(session, _request(side))["outputs"]["sum"]["data"]
    assert found in (float(side * side), [float(side * side)]), found


def _card(client):
    return next(device for device in client.send("GET", "/devices")["devices"] if device["type"] == "GPU")


def _expect_sizes(refused, asked):
    """The sentence of a step that found too little memory has the node, what it asked for, what is in use and the limit."""
    assert (refused.status, refused.code) == (429, "RESOURCE_EXHAUSTED"), refused
    for words in ("node '", f" needs {asked} bytes, but ", f" of {MEMORY} bytes of the memory of {GPU} are in use"):
        assert words in refused.detail, refused


class Neighbour(threading.Thread):
    """Somebody whose small steps go on on the same card until the block ends; each must succeed."""

    def __init__(self, cluster):
        super().__init__()
        self._client = cluster.client()
        self._ends = threading.Event()
        self.count = 0
        self.error = None

    def run(self):
        try:
            session = self._client.session()
            self._client.graph(session, GRAPH)
            while not self._ends.is_set():
                _run(self._client, session, SMALL)
                self.count += 1
        except Exception as error:  # pylint: disable=broad-except
            self.error = error

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        self.join()


def _expect_promises(plugin):
    with pool(Host(plugin, "--cuda-memory", MEMORY_SETTING)) as (cluster, client):
        session = client.session()
        client.graph(session, GRAPH)
        _run(client, session, FITTING)
        idle = _card(client)
        assert idle["memory_limit"] == MEMORY, idle
        with Neighbour(cluster) as neighbour:
            for round_ in range(1, ROUNDS + 1):
                _expect_sizes(refusal(client, session, _request(TOO_LARGE)), 4 * TOO_LARGE * TOO_LARGE)
                before = neighbour.count
                await_that(lambda: neighbour.count > before or neighbour.error, "the neighbour's steps go on")
        assert neighbour.error is None, neighbour.error
        for _ in range(ROUNDS):
            _expect_sizes(refusal(client, session, _request(TOO_MANY)), 4 * TOO_MANY * TOO_MANY)
            _run(client, session, FITTING)
        await_that(lambda: _card(client)["memory_in_use"] <= idle["memory_in_use"], f"as little is in use as before: {idle}")
        assert _card(client)["in_service"] is True
        worker = cluster.workers[0]
        memory = {kind: metric(worker, f'sluice_worker_accelerator_memory_bytes{{kind="{kind}"}}')
                  for kind in ("in_use", "peak", "cached", "largest_free", "limit")}
        assert memory["in_use"] <= idle["memory_in_use"] < memory["peak"] <= memory["limit"] == MEMORY, (memory, idle)
        assert metric(worker, 'sluice_worker_accelerator_errors_total{class="out_of_memory"}') == 2 * ROUNDS
        assert metric(worker, 'sluice_worker_accelerator_errors_total{class="broken"}') == 0
        assert metric(worker, "sluice_worker_accelerator_in_service") == 1
        products = sum(metric(worker, f'sluice_worker_library_nodes_total{{by="{by}"}}') for by in ("library", "plain kernel"))
        assert (products > 0) == (plugin == CUDA_ON_CPU), products


def the_step_that_asks_for_too_much_fails_alone_on_the_test_device():
    _expect_promises(TEST_DEVICE)


def the_step_that_asks_for_too_much_fails_alone_on_a_card():
    if not os.path.exists(CUDA_ON_CPU):
        raise Skipped("no CUDA toolkit")
    _expect_promises(CUDA_ON_CPU)


def a_tenant_holds_no_more_than_its_share_of_a_card():
    if not os.path.exists(CUDA_ON_CPU):
        raise Skipped("no CUDA toolkit")
    with pool(Host(CUDA_ON_CPU, "--cuda-memory", "64MiB", "--cuda-tenant-memory", MEMORY_SETTING)) as (_, client):
        session = client.session()
        client.graph(session, GRAPH)
        for _ in range(ROUNDS):
            refused = refusal(client, session, _request(TOO_LARGE))
            assert (refused.status, refused.code) == (429, "RESOURCE_EXHAUSTED"), refused
            assert f"a tenant may hold no more than {MEMORY} bytes of the memory of {GPU}" in refused.detail, refused
            _run(client, session, FITTING)


if __name__ == "__main__":
    run_group([the_step_that_asks_for_too_much_fails_alone_on_the_test_device, the_step_that_asks_for_too_much_fails_alone_on_a_card,
               a_tenant_holds_no_more_than_its_share_of_a_card])
