#!/usr/bin/env python3
"""Partial runs share the pool with steps by their tenants' weights."""

import os
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
sys.path.insert(0, os.path.join(HERE, "../loads"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import fairness  # noqa: E402
from measures import sluice  # noqa: E402

CLIENTS = 8  # of each tenant: more than the pool has slots
PRODUCTS = 60
SETTLED, ENOUGH = 40, 400  # ends of steps before the count begins, and then counted


class Worker(threading.Thread):
    """Runs the graph again and again with `run(client, session, graph)`, and counts what has ended."""

    def __init__(self, pool, name, place, run):
        super().__init__()
        self._client, self._place, self._run = pool.tenant(name), place, run
        self.count, self.running, self.error = 0, True, None

    def run(self):
        try:
            while self.running:
                self._run(self._client, *self._place)
                self.count += 1
        except Exception as error:  # told by the test
            self.error = error
        finally:
            self._client.close()


def _run_step(client, session, graph):
    client.step(session, {"graph": graph, "feeds": {"x": 0.01}, "fetches": ["y"]})


def _run_in_parts(client, session, graph):
    path = f"/sessions/{session}/partial-runs"
    run = client.send("POST", path, {"graph": graph, "feeds": ["x"], "fetches": ["y"]})["id"]
    reply = client.send("POST", f"{path}/{run}:continue", {"feeds": {"x": 0.01}, "fetches": ["y"]})
    assert reply["state"] == "complete" and "y" in reply["outputs"], reply


def _await_workers(pool, name, place):
    client = pool.tenant(name)
    while True:
        try:
            _run_step(client, *place)
            client.close()
            return
        except sluice.Refused as error:
            if error.status != 503:
                raise
        time.sleep(0.1)


def _await_ends(groups, count):
    while sum(worker.count for group in groups.values() for worker in group) < count:
        for group in groups.values():
            for worker in group:
                if worker.error is not None:
                    raise worker.error
        time.sleep(0.02)


def _counts(groups):
    return {name: sum(worker.count for worker in group) for name, group in groups.items()}


def a_tenant_of_partial_runs_gets_its_weight_beside_one_of_steps():
    with fairness.Pool({"parts": 1, "whole": 3}, threads=1) as pool:
        places = {name: pool.graph(name, PRODUCTS) for name in pool.weights}
        pool.start_workers()
        _await_workers(pool, "whole", places["whole"])
        runs = {"parts": _run_in_parts, "whole": _run_step}
        groups = {name: [Worker(pool, name, places[name], run) for _ in range(CLIENTS)] for name, run in runs.items()}
        for group in groups.values():
            for worker in group:
                worker.start()
        try:
            _await_ends(groups, SETTLED)
            before = _counts(groups)
            _await_ends(groups, SETTLED + ENOUGH)
            after = _counts(groups)
        finally:
            for group in groups.values():
                for worker in group:
                    worker.running = False
            for group in groups.values():
                for worker in group:
                    worker.join()
        ended = {name: after[name] - before[name] for name in after}
        part = ended["parts"] / sum(ended.values())
        print(f"# {ended['parts']} partial runs and {ended['whole']} steps: {part:.0%}, due 25%")
        # Eight partial runs beside two slots would have four fifths; without turns they would have next to none.
        assert 0.15 < part < 0.4, f"{ended}"


if __name__ == "__main__":
    run_group([globals()[name] for name in sys.argv[1:]] or [
        a_tenant_of_partial_runs_gets_its_weight_beside_one_of_steps,
    ])
