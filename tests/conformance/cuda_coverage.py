#!/usr/bin/env python3
"""cuda_coverage.py CORPUS   Counts the graphs that run wholly on a GPU, on the CUDA plugin whose card is the CPU
(tests/support/cuda_on_cpu): the frozen TensorFlow graphs over REST, on a worker with that plugin, and those cases of ONNX's node
suite that come out right on the CPU. CORPUS is the folder that holds both archives. Nothing is folded, so that every node runs; a
graph counts when its outputs are right and the host computes no node but those that assign.c's rules keep there. Prints for both
a table of the ops that keep graphs from it. Ends with 1 when a graph came out wrong.

CASES=text  only TensorFlow graphs whose name contains it
"""

import os
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(FOLDER, "../support"), os.path.join(FOLDER, "tensorflow")]
import run_corpus  # noqa: E402
import sluice  # noqa: E402
from device_coverage import KEPT, Coverage  # noqa: E402

OUT = os.environ.get("OUT", "build/release")
PLUGIN = "tests/sluice-cuda-on-cpu.so"
SUITE = "tests/conformance/onnx_suite_test"


def count_tensorflow(corpus):
    coverage = Coverage("TensorFlow graphs")
    known = run_corpus.read_known()
    os.environ["SLUICE_TEST_DEVICE"] = PLUGIN
    with run_corpus.unpacked(corpus) as root, sluice.Cluster() as cluster:
        names = [name for name in run_corpus.cases.find_cases(root) if os.environ.get("CASES", "") in name]
        outcomes = run_corpus.run_all(cluster, root, names, [run_corpus.UNFOLDED])
    for outcome in outcomes:
        is_wrong = outcome.state == "failed" and not run_corpus.known_reason(known, outcome.name)
        coverage.add(outcome.name, outcome.lacking, outcome.runs_there, outcome.reason if is_wrong else None)
    return coverage


def add_onnx_case(coverage, name, verdict, *nodes):
    """`nodes`: three texts for each that the host computes, its op, dtypes and reason."""
    lacking = [node for node in zip(nodes[0::3], nodes[1::3], nodes[2::3]) if node[2] not in KEPT]
    coverage.add(name, lacking, verdict == "there", "it comes out wrong" if verdict == "wrong" else None)


def count_onnx(corpus):
    """Returns the coverage, and how many ops the plugin has kernels for."""
    coverage = Coverage("ONNX cases")
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as file:
        variables = {"CORPUS": corpus, "COVERAGE": file.name, "SLUICE_TEST_DEVICE": os.path.join(OUT, PLUGIN)}
        done = subprocess.run([os.path.join(OUT, SUITE)], env={**os.environ, **variables}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        lines = file.read().splitlines()
    if not lines:
        raise SystemExit(f"{SUITE} did not run:\n{done.stdout}")
    for line in lines[1:]:
        add_onnx_case(coverage, *line.split("\t"))
    if done.returncode != 0:
        print(done.stdout)
    return coverage, int(lines[0])


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    if not os.path.exists(os.path.join(OUT, PLUGIN)):
        print("skipped: no CUDA toolkit")
        return
    tensorflow = count_tensorflow(sys.argv[1])
    onnx, op_count = count_onnx(sys.argv[1])
    for coverage in (tensorflow, onnx):
        print(f"{coverage.share()} wholly on the GPU ({coverage.idle_count()} of them have no node for it); what keeps the others "
              "from it:", *coverage.table(), sep="\n")
        for name, reason in coverage.wrong.items():
            print(f"WRONG {name}: {reason}")
        print()
    print(f"{op_count} ops have a CUDA kernel")
    print(f"{tensorflow.share()}, {onnx.share()} wholly on the GPU")
    raise SystemExit(1 if tensorflow.wrong or onnx.wrong else 0)


if __name__ == "__main__":
    main()
