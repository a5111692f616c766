#!/usr/bin/env python3
"""Programs of two neighbouring versions of the worker protocol side by side: steps, large tensors between workers and variables go
on while one release takes the place of the other, and programs without a common version say so at once. OLD_BUILD names a folder
with gateway and worker of an earlier release, which are then tried, too."""

import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import Skipped, await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from graph_builder import GraphBuilder, Type  # noqa: E402
from rolling_load import Load  # noqa: E402
from rolling_pool import THIS, Pool, Proxy, Release  # noqa: E402

OUT = os.environ.get("OUT", "build/release")
RATE = int(os.environ.get("RATE", "50"))
OLD_BUILD = os.environ.get("OLD_BUILD") or None
FIRST = Release(gateway_settings=("--protocols", "1"), worker_settings=("--protocols", "1"))
SECOND = Release(gateway_settings=("--protocols", "2"), worker_settings=("--protocols", "2"))
COUNT = 1 << 17  # of int64: 1 MiB, which is pulled by its receiver
TASKS = 3
TIMEOUT_MS = 120_000
QUICKLY_SECONDS = TIMEOUT_MS / 1000 / 2  # of what must not wait for a deadline


def _large_tensor_graph(sender, receiver):
    graph = GraphBuilder()
    near, far = (f"/job:worker/task:{task}" for task in (sender, receiver))
    x = graph.placeholder("x", "int64", [])
    bounds = [graph.constant("int64", [], [bound]) for bound in (0, COUNT, 1)]
    numbers = graph.add("Add", graph.add("Range", *bounds, Tidx=Type("int64")), x, T=Type("int64"), device=near)
    graph.add("Sum", numbers, graph.constant("int32", [], [0]), name="sum", device=far, T=Type("int64"), Tidx=Type("int32"))
    return graph.document()


class MigratedDatabase(sluice.Database):
    """Brought up to date by this build, which notes from which migration on older programs go on."""

    def __enter__(self):
        self._execute(f"create database {self.name}")
        subprocess.run([os.path.join(OUT, "sluice-gateway"), "migrate", "--database", f"dbname={self.name}"], check=True,
                       stdout=subprocess.DEVNULL)
        return self


class Transfers:
    """A session in which each worker sends each other a large tensor."""

    def __init__(self, address):
        self._client = sluice.Client(address)
        self._session = self._client.session()
        self._graphs = [self._client.graph(self._session, _large_tensor_graph(sender, receiver))
                        for sender in range(TASKS) for receiver in range(TASKS) if sender != receiver]

    def check(self):
        for graph in self._graphs:
            answer = self._client.step(self._session, {"graph": graph, "feeds": {"x": 5}, "fetches": ["sum"],
                                                       "options": {"timeout_ms": TIMEOUT_MS}})
            assert int(answer["outputs"]["sum"]["data"][0]) == COUNT * (COUNT - 1) // 2 + 5 * COUNT, answer

    def close(self):
        self._client.close()


def replace_one_by_one(old, new, first):
    """All programs are of the old release; the new one takes their places, workers first or gateways first, and goes again."""
    with MigratedDatabase() as database, Pool(database.name, gateway_release=old, worker_release=old) as pool:
        with Proxy("haproxy", pool.gateways) as front:
            with Load(front.address, database, RATE, may_break=old.folder is not None) as load:
                transfers = Transfers(front.address)
                transfers.check()
                order = pool.workers + pool.gateways if first == "workers" else pool.gateways + pool.workers
                for release, addresses in ((new, order), (old, order[:1])):
                    for address in addresses:
                        front.await_use_of_all()
                        pool.replace(address, release)
                        transfers.check()
                transfers.close()
            print(f"{first} first: {load.assert_kept()}")


def the_next_version_takes_the_place_of_the_first_workers_first():
    replace_one_by_one(FIRST, THIS, "workers")


def the_next_version_takes_the_place_of_the_first_gateways_first():
    replace_one_by_one(FIRST, THIS, "gateways")


def _old_release():
    if OLD_BUILD is None:
        raise Skipped("OLD_BUILD names no folder with an earlier build")
    return Release(folder=OLD_BUILD)


def this_build_takes_the_place_of_an_earlier_one_workers_first():
    replace_one_by_one(_old_release(), THIS, "workers")


def this_build_takes_the_place_of_an_earlier_one_gateways_first():
    replace_one_by_one(_old_release(), THIS, "gateways")


def a_worker_without_a_common_version_is_listed_as_refused_and_both_logs_say_so():
    with sluice.Database() as database, Pool(database.name, gateways=1, workers=2, worker_release=FIRST) as pool:
        [gateway], [worker, other] = pool.gateways, pool.workers
        assert pool.workers_of(gateway)[worker]["protocol"] == 1
        pool.replace(gateway, THIS)
        assert pool.workers_of(gateway)[worker]["protocol"] == 1
        for one in (worker, other):
            pool.begin_end(one)
            pool.await_end(one)
        pool.start(worker, SECOND)
        pool.await_back(worker)
        assert pool.workers_of(gateway)[worker]["protocol"] == 2
        pool.begin_end(gateway)
        pool.await_end(gateway)
        pool.start(gateway, FIRST)
        await_that(lambda: pool.workers_of(gateway).get(worker, {}).get("state") == "refused", "the worker is refused")
        assert pool.workers_of(gateway)[worker]["refusal"] == (
            "it speaks versions 2 to 2 of the worker protocol, and none of this gateway's: upgrade by one release at a time")
        _expect_a_quick_refusal(gateway)
        await_that(lambda: "speaks other versions of the worker protocol" in pool.log(gateway), "the gateway's log says so")
        await_that(lambda: "speaks other versions of the worker protocol" in pool.log(worker), "the worker's log says so")


def _expect_a_quick_refusal(gateway):
    client = sluice.Client(gateway)
    session = client.session()
    client.graph(session, {"node": [{"name": "x", "op": "Const", "attr": {"dtype": {"type": "DT_INT32"}, "value": {
        "tensor": {"dtype": "DT_INT32", "tensorShape": {}, "intVal": [1]}}}}]})
    begun = time.monotonic()
    try:
        client.step(session, {"fetches": ["x:0"], "options": {"timeout_ms": TIMEOUT_MS}})
        raise AssertionError("a step ran without a worker")
    except sluice.Refused as refused:
        assert (refused.status, refused.code) == (503, "UNAVAILABLE"), refused
        assert refused.detail == "no worker is serving (1 known, 1 of them without a version of this gateway's protocol)", refused.detail
    assert time.monotonic() - begun < QUICKLY_SECONDS
    client.close()


def _put(pool, address, release):
    """Puts a program of this release in the place of the one at this address, whoever may refuse it."""
    pool.begin_end(address)
    assert pool.await_end(address) == 0
    pool.start(address, release)


def _await_protocols(pool, worker, *protocols):
    """Each gateway uses this version with the worker; None: it refuses it."""
    def used():
        listed = [pool.workers_of(gateway).get(worker, {}) for gateway in pool.gateways]
        return [one.get("protocol") if one.get("state") == "serving" else one.get("state") for one in listed]
    wanted = [protocol or "refused" for protocol in protocols]
    await_that(lambda: used() == wanted, f"{pool.name(worker)} is used by {wanted}")


def gateways_of_three_releases_share_workers_that_joined_and_return_as_others():
    """A gateway of the first version, one of the second, one of both; a worker goes from both to the first, to the second, each time
    with its name and address. A worker joins by the gateways that take it, and is refused by the other."""
    quick = ("--drain-delay", "0s")
    with sluice.Database() as database, Pool(database.name, gateways=3, joins=True) as pool:
        for gateway, release in zip(pool.gateways, (FIRST, SECOND)):
            pool.replace(gateway, Release(gateway_settings=(*release.gateway_settings, *quick)))
        old, new, both = transfers = [Transfers(gateway) for gateway in pool.gateways]
        changed = pool.workers[0]
        for release, protocols, able in ((THIS, (1, 2, 2), transfers), (FIRST, (1, None, 1), (old, both)), (SECOND, (None, 2, 2), (new, both))):
            if release is not THIS:
                _put(pool, changed, release)
            _await_protocols(pool, changed, *protocols)
            for one in able:
                one.check()
        _put(pool, pool.workers[1], FIRST)  # which has no version in common with the first worker
        _await_protocols(pool, pool.workers[1], 1, None, 1)
        _expect_a_quick_failure_between_workers(both)
        for one in transfers:
            one.close()


def _expect_a_quick_failure_between_workers(transfers):
    begun = time.monotonic()
    try:
        transfers.check()
        raise AssertionError("two workers without a common version exchanged a tensor")
    except sluice.Refused as refused:
        assert "upgrade by one release at a time" in refused.detail, refused
        print(f"between two workers without a common version: {refused}")
    assert time.monotonic() - begun < QUICKLY_SECONDS


def a_worker_without_a_common_version_may_not_join_and_says_why():
    with sluice.Database() as database, tempfile.NamedTemporaryFile("w+", encoding="utf-8") as log:
        gateway = sluice.Program("sluice-gateway", "--listen", "127.0.0.1:0", "--auth", "off", "--database",
                                 f"dbname={database.name}", "--protocols", "1")
        worker = sluice.Program("sluice-worker", "--listen", "127.0.0.1:0", "--name", "stranger", "--gateway",
                                f"http://{gateway.address}", "--protocols", "2", log=log)

        def said():
            with open(log.name, encoding="utf-8") as file:
                return "the worker speaks versions 2 to 2 of the worker protocol, this gateway 1 to 1" in file.read()
        try:
            await_that(said, "the worker's log says why")
            client = sluice.Client(gateway.address)
            assert client.send("GET", "/workers")["workers"] == []
            client.close()
        finally:
            worker.stop()
            gateway.stop()


if __name__ == "__main__":
    run_group([
        a_worker_without_a_common_version_is_listed_as_refused_and_both_logs_say_so,
        a_worker_without_a_common_version_may_not_join_and_says_why,
        gateways_of_three_releases_share_workers_that_joined_and_return_as_others,
        the_next_version_takes_the_place_of_the_first_workers_first,
        the_next_version_takes_the_place_of_the_first_gateways_first,
        this_build_takes_the_place_of_an_earlier_one_workers_first,
        this_build_takes_the_place_of_an_earlier_one_gateways_first,
    ])
