#!/usr/bin/env python3
"""A gateway that is held up, as a debugger, a snapshot of its machine or a frozen container does, and goes on."""

import os
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import Skipped, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402

CLIENTS = 6
HOLDS, TRIES = 10, 40
QUESTION_SECONDS = 0.5  # the gateway asks PostgreSQL so often whether it is there
SILENT_SECONDS = 1      # and takes it for gone when it has waited for so long
SLACK_SECONDS = 0.3
HELD_SECONDS = 1.2
BACKENDS = "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"


class Load:
    """Clients that make and delete sessions, one request after the other, until the block ends."""

    def __init__(self, cluster):
        self._cluster = cluster
        self._ends = threading.Event()
        self._threads = [threading.Thread(target=self._work) for _ in range(CLIENTS)]
        self.failures = []

    def _work(self):
        client = self._cluster.client()
        while not self._ends.is_set():
            try:
                client.send("DELETE", f"/sessions/{client.session()}")
            except (sluice.Refused, OSError) as failure:
                self.failures.append(str(failure))

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        for thread in self._threads:
            thread.join()


def _signal_all(pids, number):
    for pid in pids:
        os.kill(pid, number)


def _hold_with_a_question_on_its_way(cluster):
    """PostgreSQL stops until the gateway must have asked it something, and goes on when the gateway is held up: the answer lies
    there unread. Returns whether all of that took less than makes PostgreSQL count as gone."""
    backends = [int(pid) for pid in cluster.ask(BACKENDS).split()]
    began = time.monotonic()
    _signal_all(backends, signal.SIGSTOP)
    try:
        time.sleep(QUESTION_SECONDS + 0.05)
        os.kill(cluster.gateway.pid, signal.SIGSTOP)
        was_quick = time.monotonic() - began < SILENT_SECONDS - SLACK_SECONDS
    finally:
        _signal_all(backends, signal.SIGCONT)
    time.sleep(HELD_SECONDS)
    os.kill(cluster.gateway.pid, signal.SIGCONT)
    time.sleep(2 * QUESTION_SECONDS)
    return was_quick


def requests_of_a_gateway_that_was_held_up_succeed():
    with sluice.Cluster(threads=(1,)) as cluster, Load(cluster) as load:
        held = 0
        for _ in range(TRIES):
            was_quick = _hold_with_a_question_on_its_way(cluster)
            assert not was_quick or not load.failures, load.failures
            load.failures.clear()
            held += was_quick
            if held == HOLDS:
                return
        if held == 0:
            raise Skipped("the machine is too slow to stop two programs within a second")


if __name__ == "__main__":
    run_group([requests_of_a_gateway_that_was_held_up_succeed])
