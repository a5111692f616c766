#!/usr/bin/env python3
"""Steps whose kernels are captured and replayed at once: the same bits, told by metrics, one node in a trace; and none with
--cuda-graphs 0. With the test device (tests/support/test_device.h), and with CUDA's plugin on a card that the CPU plays."""

import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import Skipped, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
from gpu_pool import CUDA_ON_CPU, TEST_DEVICE, Host, pool  # noqa: E402
from worker_page import metric  # noqa: E402

FLOAT = {"T": {"type": "DT_FLOAT"}}
OPS = ("Neg", "Square", "Sigmoid", "Tanh", "Exp", "Neg", "Abs", "Sqrt", "Square", "Neg")
STEPS = 6


def _graph():
    nodes = [{"name": "x", "op": "Placeholder", "attr": {"dtype": {"type": "DT_FLOAT"}}},
             {"name": "axes", "op": "Const", "attr": {"dtype": {"type": "DT_INT32"}, "value": {"tensor": {
                 "dtype": "DT_INT32", "tensorShape": {"dim": [{"size": "1"}]}, "intVal": [0]}}}}]
    for index, name in enumerate(OPS):
        nodes.append({"name": f"n{index}", "op": name, "input": [f"n{index - 1}" if index > 0 else "x"], "attr": FLOAT})
    nodes.append({"name": "sum", "op": "Sum", "input": [f"n{len(OPS) - 1}", "axes"],
                  "attr": {**FLOAT, "Tidx": {"type": "DT_INT32"}}})
    return {"node": nodes}


def _run_steps(plugin, *settings):
    """Returns the steps' outputs, and how many parts were captured and replayed."""
    with pool(Host(plugin, *settings)) as (cluster, client):
        session = client.session()
        client.graph(session, _graph())
        outputs = []
        for step in range(STEPS):
            feeds = {"x": {"dtype": "float32", "shape": [5], "data": [0.25 * step, -1.0, 0.5, 2.0, -0.125]}}
            outputs.append(client.step(session, {"feeds": feeds, "fetches": ["sum", "n3"]})["outputs"])
        counts = tuple(metric(cluster.workers[0], f'sluice_worker_accelerator_graphs_total{{event="{event}"}}')
                       for event in ("captured", "replayed"))
    return outputs, counts


def _expect_same_bits(plugin):
    outputs, counts = _run_steps(plugin)
    assert counts == (1, STEPS - 3), counts
    plain, none = _run_steps(plugin, "--cuda-graphs", "0")
    assert none == (0, 0), none
    assert outputs == plain, (outputs, plain)


def captured_steps_have_the_bits_of_plain_ones_on_the_test_device():
    _expect_same_bits(TEST_DEVICE)


def captured_steps_have_the_bits_of_plain_ones_on_a_card():
    if not os.path.exists(CUDA_ON_CPU):
        raise Skipped("no CUDA toolkit")
    _expect_same_bits(CUDA_ON_CPU)


def chains_in_one_kernel_or_in_several_have_the_same_bits_on_a_card():
    """Whether or not there is an NVRTC to make the one kernel: without it the nodes are computed one by one."""
    if not os.path.exists(CUDA_ON_CPU):
        raise Skipped("no CUDA toolkit")
    with tempfile.TemporaryDirectory(prefix="kernels.") as folder:
        fused, _ = _run_steps(CUDA_ON_CPU, "--cuda-fusion=true", "--cuda-cache", folder)
    single, _ = _run_steps(CUDA_ON_CPU, "--cuda-fusion=false")
    assert fused == single, (fused, single)


if __name__ == "__main__":
    run_group([
        captured_steps_have_the_bits_of_plain_ones_on_the_test_device,
        captured_steps_have_the_bits_of_plain_ones_on_a_card,
        chains_in_one_kernel_or_in_several_have_the_same_bits_on_a_card,
    ])
