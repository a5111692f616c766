#!/usr/bin/env python3
"""Things break while an operator restarts others in good order: PostgreSQL goes, a program is killed beside one that drains, somebody is
impatient, a worker's lease ends under its step. Every step that was accepted ends once, and nothing stays behind. ROUNDS says how often
(1; `make deploy-test`: 5)."""

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from long_step import FOR_EVER, counting, counting_to  # noqa: E402
from relay import Relay  # noqa: E402
from rolling_load import WATCH_ENDS  # noqa: E402
from rolling_pool import GRACE, Pool, Release  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", "1"))
CALLERS = 4
PAUSE_SECONDS = 0.02
MORE_STEPS = 40
LEASE_SECONDS = 3
STEP_SECONDS = 600
REQUEST = {"feeds": {"x": [[1, 2, 3, 4]]}, "fetches": ["probabilities"]}
FAST = Release(gateway_settings=("--drain-delay", "0s"))


class Persistent:
    """`with Persistent(pool, database) as load:` clients that queue steps, each with a key by which it is sent again, to any gateway,
    until it is accepted; assert_kept() behind the block."""

    def __init__(self, pool, database):
        self._gateways, self._database = pool.gateways, database
        self._is_over, self._has_failed = threading.Event(), False
        self._lock = threading.Lock()
        self.accepted, self.again, self.surprises = set(), 0, []
        database.ask(WATCH_ENDS)
        client = sluice.Client(self._gateways[0])
        self._session = client.session()
        with open("deploy/examples/two_layers.json", "rb") as file:
            client.graph(self._session, file.read())
        client.step(self._session, REQUEST)
        client.close()
        self._threads = [threading.Thread(target=self._call, args=(number,)) for number in range(CALLERS)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *reason):
        self._has_failed = reason[0] is not None  # nobody may be there any more to accept a step
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _send(self, key, turn):
        """The step; None when it was not accepted, and is to be sent again."""
        client = sluice.Client(self._gateways[turn % len(self._gateways)])
        try:
            return client.step(self._session, REQUEST, prefer="respond-async", once=key)["id"]
        except sluice.Refused as refused:
            if refused.status not in (409, 429, 500, 502, 503, 504):
                raise
        except OSError:
            pass
        except Exception as error:  # pylint: disable=broad-except  (http.client: the answer was cut)
            if type(error).__module__ != "http.client":
                raise
        finally:
            client.close()
        return None

    def _accept(self, first):
        key = uuid.uuid4()
        for turn in itertools.count(first):
            step = self._send(key, turn)
            if step is not None:
                with self._lock:
                    self.accepted.add(step)
                return
            with self._lock:
                self.again += 1
            time.sleep(0.2)
            if self._has_failed:
                return

    def _call(self, number):
        while not self._is_over.wait(PAUSE_SECONDS):
            try:
                self._accept(number)
            except Exception as error:  # pylint: disable=broad-except
                with self._lock:
                    self.surprises.append(repr(error))

    def await_more(self):
        """Steps are accepted, at both gateways or what is left of them: what breaks now breaks under load."""
        wanted = len(self.accepted) + MORE_STEPS
        await_that(lambda: len(self.accepted) >= wanted, f"{MORE_STEPS} more steps are accepted")

    def assert_kept(self, what):
        assert not self.surprises, self.surprises[:3]
        assert self.accepted, "nothing was accepted"
        wanted = sorted(step.removeprefix("stp_") for step in self.accepted)

        def ended():
            rows = self._database.ask("select replace(step_id::text, '-', '') || state from test_ends").splitlines()
            return rows if len(rows) >= len(wanted) else None
        rows = sorted(await_that(ended, f"{len(wanted)} steps have ended"))
        assert rows == [step + "succeeded" for step in wanted], set(rows) ^ {step + "succeeded" for step in wanted}
        print(f"{what}: {len(wanted)} steps accepted, {self.again} requests sent again, each step succeeded once")


def control_postgres(verb):
    subprocess.run(["tools/postgres_control", verb], check=True)


def postgresql_may_restart_in_the_middle_of_a_rolling_restart():
    with sluice.Database() as database, Pool(database.name, gateway_release=FAST) as pool:
        with Persistent(pool, database) as load:
            for _ in range(ROUNDS):
                for address in (pool.workers[0], pool.gateways[0]):
                    load.await_more()
                    pool.begin_end(address)
                    control_postgres("stop")
                    code = pool.await_end(address)
                    assert code == 0, f"{address} ended with {code} while PostgreSQL was gone"
                    control_postgres("start")
                    pool.start(address)
                    pool.await_back(address)
            load.await_more()
        load.assert_kept("PostgreSQL restarted")


def a_worker_may_be_killed_beside_one_that_drains():
    with sluice.Database() as database, Pool(database.name) as pool:
        with Persistent(pool, database) as load:
            for _ in range(ROUNDS):
                load.await_more()
                pool.begin_end(pool.workers[0])
                pool.kill(pool.workers[1])
                assert pool.await_end(pool.workers[0]) == 0
                for worker in pool.workers[:2]:
                    pool.start(worker)
                for worker in pool.workers[:2]:
                    pool.await_back(worker)
            load.await_more()
        load.assert_kept("a worker killed beside one that drains")


def a_gateway_may_be_killed_while_workers_drain():
    with sluice.Database() as database, Pool(database.name) as pool:
        with Persistent(pool, database) as load:
            for _ in range(ROUNDS):
                load.await_more()
                for worker in pool.workers[:2]:
                    pool.begin_end(worker)
                pool.kill(pool.gateways[0])
                assert [pool.await_end(worker) for worker in pool.workers[:2]] == [0, 0]
                for address in (*pool.workers[:2], pool.gateways[0]):
                    pool.start(address)
                for address in (pool.gateways[0], *pool.workers[:2]):
                    pool.await_back(address)
            load.await_more()
        load.assert_kept("a gateway killed while workers drain")


def run_long_step(gateway, answers, count=FOR_EVER):
    """Runs one on a thread of its own, which is returned when it runs on a worker, or has run: gateways hear of that once a second."""
    client = sluice.Client(gateway)
    session = client.session(slots=1)
    client.graph(session, counting())

    def run():
        try:
            answers.append(client.step(session, counting_to(count, options={"timeout_ms": 1000 * STEP_SECONDS})))
        except Exception as error:  # pylint: disable=broad-except
            answers.append(error)
        client.close()
    thread = threading.Thread(target=run)
    thread.start()
    other = sluice.Client(gateway)
    await_that(lambda: answers or any(worker["running"] for worker in other.send("GET", "/workers")["workers"]), "the step runs")
    other.close()
    return thread


def a_second_sigterm_ends_a_program_that_would_drain_for_long():
    for kind in ("worker", "gateway"):
        with sluice.Database() as database, Pool(database.name, gateways=1, workers=1, gateway_release=FAST) as pool:
            answers = []
            thread = run_long_step(pool.gateways[0], answers)
            [address] = pool.workers if kind == "worker" else pool.gateways
            begun = time.monotonic()
            os.kill(pool.pid(address), signal.SIGTERM)
            time.sleep(2)
            assert pool.is_running(address) and not answers, f"the {kind} did not drain: {answers}"
            os.kill(pool.pid(address), signal.SIGTERM)
            code = pool.await_end(address)
            took = time.monotonic() - begun
            assert took < float(GRACE.removesuffix("s")) - 5, f"the {kind} took {took:.0f} s"
            print(f"{kind}: ended with {code} after the second signal")
            for one in pool.gateways + pool.workers:
                if pool.is_running(one):
                    pool.kill(one)
            thread.join()
            assert not isinstance(answers[0], dict), answers


def a_step_goes_on_when_the_lease_of_its_worker_ends_and_the_worker_joins_again():
    lease = ("--worker-lease", f"{LEASE_SECONDS}s", "--auth", "off", "--drain-delay", "0s")
    with sluice.Database() as database, contextlib.ExitStack() as programs, tempfile.TemporaryFile("w+") as log:
        gateway = sluice.Program("sluice-gateway", "--listen", "127.0.0.1:0", "--database", f"dbname={database.name}", *lease)
        programs.callback(gateway.stop)
        relay = programs.enter_context(Relay(gateway.address))
        worker = sluice.Program("sluice-worker", "--listen", "127.0.0.1:0", "--name", "w0", "--gateway", f"http://{relay.address}", log=log)
        programs.callback(worker.stop)
        client = sluice.Client(gateway.address)
        programs.callback(client.close)

        def listed():
            return [(one["name"], one["state"]) for one in client.send("GET", "/workers")["workers"]]
        await_that(lambda: listed() == [("w0", "serving")], "it serves")
        answers, count = [], 1_000_000
        while True:  # until one takes longer than the lease
            thread = run_long_step(gateway.address, answers, count)
            relay.cut()
            await_that(lambda: listed() == [] or not thread.is_alive(), "its lease has ended")
            if thread.is_alive():
                break
            relay.mend()
            await_that(lambda: listed() == [("w0", "serving")], "it has joined again")
            answers.clear()
            count *= 4
        relay.mend()
        thread.join()
        assert isinstance(answers[0], dict) and answers[0]["outputs"]["reached"]["data"] == [count], answers
        await_that(lambda: listed() == [("w0", "serving")], "it has joined again")
        session = client.session()
        client.graph(session, counting())
        assert client.step(session, counting_to(7))["outputs"]["reached"]["data"] == [7]


if __name__ == "__main__":
    # PostgreSQL that is restarted is one that no other test uses.
    if "CHAOS_OWN_POSTGRES" not in os.environ:
        os.environ["CHAOS_OWN_POSTGRES"] = "1"
        os.execv("tools/with_postgres", ["with_postgres", os.path.abspath(__file__)])
    run_group([postgresql_may_restart_in_the_middle_of_a_rolling_restart, a_worker_may_be_killed_beside_one_that_drains,
               a_gateway_may_be_killed_while_workers_drain, a_second_sigterm_ends_a_program_that_would_drain_for_long,
               a_step_goes_on_when_the_lease_of_its_worker_ends_and_the_worker_joins_again])
