#!/usr/bin/env python3
"""Workers that join by themselves: they serve at once, leave without a failed step, and are taken off when they are killed; no
outage of a gateway or of PostgreSQL costs a worker its place."""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import Skipped, await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402

LEASE_SECONDS = 6
LONG_LEASE = ("--worker-lease", "10m")  # nothing in the test can be owed to its end
SERVES_SECONDS = 1  # and ten times what the program took to start, which tells how slow the machine is
CALLERS = 4
NEGATE = {"feeds": {"a": 1}, "fetches": ["negative"]}
REQUEST = {"feeds": {"x": 1.0}, "fetches": ["y"]}
GRAPH = {"node": [{"name": "x", "op": "Placeholder", "attr": {"dtype": {"type": "DT_FLOAT"}}},
                  {"name": "y", "op": "Neg", "input": ["x"], "attr": {"T": {"type": "DT_FLOAT"}}}]}

FLOAT, DTYPE, SCALAR = {"T": {"type": "DT_FLOAT"}}, {"dtype": {"type": "DT_FLOAT"}}, {"shape": {"shape": {}}}
COUNTER = {"node": [{"name": "x", "op": "Placeholder", "attr": {**DTYPE, **SCALAR}},
                    {"name": "a", "op": "Placeholder", "attr": {**DTYPE, **SCALAR}},
                    {"name": "counter", "op": "VarHandleOp", "attr": {**DTYPE, **SCALAR}},
                    {"name": "start", "op": "AssignVariableOp", "input": ["counter", "x"], "attr": DTYPE},
                    {"name": "negative", "op": "Neg", "input": ["a"], "attr": FLOAT}]}


class Pool:
    """`with Pool() as pool:` gateways of one database that know no worker, and the workers that join them."""

    def __init__(self, settings=(), gateway_count=1, auth="off"):
        self.database = sluice.Database()
        self.gateways = sluice.take_addresses(gateway_count)
        self._settings = settings
        self._auth = auth
        self._programs = contextlib.ExitStack()

    def __enter__(self):
        self.database.__enter__()
        try:
            self.running = {address: self.start_gateway(address) for address in self.gateways}
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._programs.close()
        self.database.__exit__()

    def start_gateway(self, address, log=None):
        return self._keep(sluice.Program("sluice-gateway", "--listen", address, "--auth", self._auth, "--database",
                                         f"dbname={self.database.name}", *self._settings, log=log))

    def start_worker(self, name, *arguments, gateways=None, listen="127.0.0.1:0", log=None):
        urls = ",".join(f"http://{address}" for address in gateways or self.gateways)
        return self._keep(sluice.Program("sluice-worker", "--listen", listen, "--name", name, "--threads", "1", "--gateway", urls,
                                         *arguments, log=log))

    def page(self, gateway=0):
        client = sluice.Client(self.gateways[gateway])
        try:
            return client.send("GET", "/workers")
        finally:
            client.close()

    def states(self, gateway=0):
        """The workers' states by their names."""
        return {worker["name"]: worker["state"] for worker in self.page(gateway)["workers"]}

    def await_serving(self, *names):
        for gateway in range(len(self.gateways)):
            await_that(lambda gateway=gateway: self.states(gateway) == {name: "serving" for name in names}, f"{names} serve")

    def _keep(self, program):
        self._programs.callback(lambda: program.is_running() and program.stop())
        return program


class Load:
    """`with Load(address) as load:` callers that send steps without a pause; `load.failures` when it is over."""

    def __init__(self, address):
        self._address = address
        client = sluice.Client(address)
        self._session = client.session()
        client.graph(self._session, GRAPH)
        client.step(self._session, REQUEST)
        client.close()
        self._is_over = threading.Event()
        self.sent, self.failures = 0, []
        self._threads = [threading.Thread(target=self._call) for _ in range(CALLERS)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _call(self):
        client = sluice.Client(self._address)
        while not self._is_over.is_set():
            try:
                step = client.step(self._session, REQUEST)
                failure = None if step["outputs"]["y"]["data"] == [-1] else step
            except Exception as error:  # pylint: disable=broad-except
                failure = repr(error)
            self.sent += 1
            if failure is not None:
                self.failures.append(failure)
        client.close()


def ready(address):
    """The status and the text of /readyz."""
    connection = http.client.HTTPConnection(address, timeout=sluice.REPLY_SECONDS)
    connection.request("GET", "/readyz")
    reply = connection.getresponse()
    text = reply.read().decode()
    connection.close()
    return reply.status, text


def control_postgres(verb):
    subprocess.run(["tools/postgres_control", verb], check=True)


def a_worker_that_joins_serves_within_a_second_at_every_gateway():
    with Pool(gateway_count=2) as pool:
        times = []
        for index in range(5):
            begun = time.monotonic()
            pool.start_worker(f"w{index}", gateways=[pool.gateways[0]])
            start = time.monotonic() - begun
            for gateway in (0, 1):
                await_that(lambda gateway=gateway, index=index: pool.states(gateway).get(f"w{index}") == "serving", f"w{index} serves")
            times.append((start, time.monotonic() - begun))
        print("from start to serving at both gateways: " + ", ".join(f"{1000 * one:.0f} ms" for _, one in times))
        assert any(one < SERVES_SECONDS + 10 * start for start, one in times), times


def a_worker_leaves_on_sigterm_under_load_with_no_failed_step():
    with Pool(LONG_LEASE) as pool:
        workers = [pool.start_worker(f"w{index}") for index in range(3)]
        pool.await_serving("w0", "w1", "w2")
        with Load(pool.gateways[0]) as load:
            for index in (0, 1):
                time.sleep(1)
                workers[index].stop()
                await_that(lambda index=index: f"w{index}" not in pool.states(), f"w{index}, which has ended, is off the list")
            time.sleep(1)
        print(f"{load.sent} steps, {len(load.failures)} failed")
        assert load.sent > 0 and not load.failures, load.failures[:3]


def a_worker_that_has_joined_and_is_configured_by_another_address_is_listed_once():
    [listen] = sluice.take_addresses(1)
    with Pool(("--workers", listen.replace("127.0.0.1", "localhost"), *LONG_LEASE)) as pool:
        worker = pool.start_worker("w0", listen=listen)
        pool.await_serving("w0")
        begun = time.monotonic()
        while time.monotonic() - begun < 3:  # some polls of both addresses
            assert [one["name"] for one in pool.page()["workers"]] == ["w0"], pool.page()
            time.sleep(0.05)
        worker.stop()
        await_that(lambda: pool.states().get("w0") != "serving", "it has left")
        pool.start_worker("w0", listen=listen)
        pool.await_serving("w0")


def a_killed_worker_is_off_the_list_within_its_lease():
    with Pool(("--worker-lease", f"{LEASE_SECONDS}s")) as pool:
        kept, killed = pool.start_worker("kept"), pool.start_worker("killed")
        pool.await_serving("kept", "killed")
        time.sleep(2 * LEASE_SECONDS)  # both have renewed their leases since
        assert set(pool.states()) == {"kept", "killed"}, pool.states()
        epoch = pool.page()["epoch"]
        killed.kill()
        begun = time.monotonic()
        await_that(lambda: set(pool.states()) == {"kept"}, "the killed worker is off the list")
        seconds = time.monotonic() - begun
        print(f"off the list after {seconds:.1f} s, of a lease of {LEASE_SECONDS} s")
        assert seconds < 4 * LEASE_SECONDS, seconds
        assert pool.page()["epoch"] == epoch + 1
        assert kept.is_running() and pool.states() == {"kept": "serving"}


def sixteen_workers_join_at_once():
    names = [f"w{index}" for index in range(16)]
    with Pool(gateway_count=2) as pool:
        threads = [threading.Thread(target=pool.start_worker, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        pool.await_serving(*names)
        await_that(lambda: all(sorted(worker["task"] for worker in pool.page(gateway)["workers"]) == list(range(16)) for gateway in (0, 1)),
                   "each has a task number of its own")
        for gateway in (0, 1):
            page = pool.page(gateway)
            assert page["epoch"] == 16, page["epoch"]
            assert all(worker["joined"] for worker in page["workers"])


def a_gateway_is_ready_when_as_many_workers_serve_as_are_wanted():
    with Pool((*LONG_LEASE, "--workers-wanted", "3")) as pool:
        [address] = pool.gateways
        pool.start_worker("w0")
        second = pool.start_worker("w1")
        pool.await_serving("w0", "w1")
        status, text = ready(address)
        assert status == 503 and "[-]workers waits for 3 workers, 2 are there\n" in text, (status, text)
        pool.start_worker("w2")
        await_that(lambda: ready(address)[0] == 200, "the gateway is ready")
        second.stop()
        pool.await_serving("w0", "w2")
        assert ready(address)[0] == 200, ready(address)


def a_gateway_that_comes_back_has_the_workers_before_they_are_heard_of():
    with Pool(LONG_LEASE) as pool:
        pool.start_worker("w0")
        pool.await_serving("w0")
        [address] = pool.gateways
        pool.running[address].stop()
        pool.start_gateway(address)
        pool.await_serving("w0")
        assert pool.database.ask("select beats from worker_leases") == "1", "a heartbeat has come"


def a_worker_that_starts_before_its_gateway_joins_when_that_comes():
    with Pool() as pool:
        [address] = pool.gateways
        pool.running[address].stop()
        pool.start_worker("w0")
        time.sleep(2)
        pool.start_gateway(address)
        pool.await_serving("w0")


def a_worker_joins_by_the_next_gateway_when_the_first_is_gone():
    with Pool() as pool:
        nobody = sluice.take_addresses(1)
        pool.start_worker("w0", gateways=nobody + pool.gateways)
        pool.await_serving("w0")


def an_outage_of_postgresql_costs_no_worker_its_place():
    with Pool(("--worker-lease", f"{LEASE_SECONDS}s", "--database-outage", "ready")) as pool:
        pool.start_worker("w0")
        pool.await_serving("w0")
        with Load(pool.gateways[0]) as load:
            control_postgres("stop")
            try:
                time.sleep(2 * LEASE_SECONDS)
                assert pool.states() == {"w0": "serving"}, pool.states()
            finally:
                control_postgres("start")
            begun = time.monotonic()
            while time.monotonic() - begun < 2 * LEASE_SECONDS:
                assert pool.states() == {"w0": "serving"}, pool.states()
                time.sleep(0.1)
        assert load.sent > 0 and not load.failures, load.failures[:3]
        assert pool.page()["epoch"] == 1, "it has joined anew"


def of_two_workers_with_one_name_the_second_is_refused_and_both_logs_say_so():
    with Pool() as pool, tempfile.TemporaryFile("w+") as of_gateway, tempfile.TemporaryFile("w+") as of_worker:
        [address] = pool.gateways
        pool.running[address].stop()
        pool.start_gateway(address, log=of_gateway)
        first = pool.start_worker("same")
        pool.await_serving("same")
        second = pool.start_worker("same", log=of_worker)
        words = f"another worker named 'same' has joined from {first.address}, and is not lost"
        await_that(lambda: words in read_whole(of_worker), "the worker says that it is refused")
        assert "two workers have one name, the second may not join" in read_whole(of_gateway)
        assert [worker["address"] for worker in pool.page()["workers"]] == [first.address]
        first.stop()
        await_that(lambda: [worker["address"] for worker in pool.page()["workers"]] == [second.address], "the second takes its place")


def read_whole(file):
    return os.pread(file.fileno(), 1 << 20, 0).decode()


def a_worker_that_starts_anew_at_its_address_takes_its_own_place():
    with Pool(LONG_LEASE) as pool:
        [listen] = sluice.take_addresses(1)
        first = pool.start_worker("w0", listen=listen)
        pool.await_serving("w0")
        before = pool.page()["workers"][0]["incarnation"]
        first.kill()
        pool.start_worker("w0", listen=listen)
        await_that(lambda: [(worker["state"], worker["incarnation"] != before) for worker in pool.page()["workers"]] == [("serving", True)],
                   "the new life serves")
        assert pool.page()["epoch"] == 2, pool.page()


def steps_and_variables_stay_with_workers_that_have_the_labels_of_their_session():
    with Pool(LONG_LEASE) as pool:
        near = pool.start_worker("near", "--labels", "zone=a,gpu=none")
        pool.start_worker("far", "--labels", "zone=b,gpu=,pool=")
        pool.start_worker("plain")
        pool.await_serving("near", "far", "plain")
        assert {worker["name"]: worker["labels"] for worker in pool.page()["workers"]} == {
            "near": {"zone": "a", "gpu": "none"}, "far": {"zone": "b"}, "plain": {}}
        client = sluice.Client(pool.gateways[0])
        sessions = {labels: client.session(worker_labels=dict([labels])) for labels in (("zone", "a"), ("zone", "b"), ("zone", "c"))}
        both = client.session(worker_labels={"gpu": "none", "zone": "b"})
        for session in (*sessions.values(), both):
            client.graph(session, COUNTER)
        for value in range(5):
            for zone, name in (("a", "near"), ("b", "far")):
                session = sessions["zone", zone]
                client.step(session, {"feeds": {"x": value}, "targets": ["start"]})
                [place] = client.send("GET", f"/sessions/{session}")["state"]["places"]
                assert place["worker"] == name, place
                client.step(session, NEGATE)
        for session, words in ((sessions["zone", "c"], "zone=c"), (both, "gpu=none,zone=b")):
            for request in (NEGATE, {"feeds": {"x": 1}, "targets": ["start"]}):
                expect_refused(client, session, request, "FAILED_PRECONDITION",
                               f"the session asks for workers with the labels '{words}', and none has them (3 known)")
        near.stop()
        await_that(lambda: "near" not in pool.states(), "the worker has left")
        expect_refused(client, sessions["zone", "a"], NEGATE, "FAILED_PRECONDITION",
                       "the session asks for workers with the labels 'zone=a', and none has them (2 known)")
        client.step(sessions["zone", "b"], NEGATE)
        client.close()


def a_worker_tells_what_passed_between_it_and_each_peer():
    size = 1 << 20  # of a tensor that the second worker pulls
    with Pool(LONG_LEASE) as pool:
        workers = [pool.start_worker(f"w{index}") for index in range(2)]
        pool.await_serving("w0", "w1")
        await_that(lambda: sorted(worker["task"] for worker in pool.page()["workers"]) == [0, 1], "both have task numbers")
        client = sluice.Client(pool.gateways[0])
        session = client.session(slots=2, placement="spread", passes_off=["*"])
        client.graph(session, {"node": [
            {"name": "n", "op": "Placeholder", "attr": {"dtype": {"type": "DT_INT32"}, "shape": {"shape": {"dim": [{"size": 1}]}}}},
            {"name": "v", "op": "Placeholder", "attr": {**DTYPE, **SCALAR}},
            {"name": "large", "op": "Fill", "input": ["n", "v"], "attr": {**FLOAT, "index_type": {"type": "DT_INT32"}},
             "device": "/job:worker/task:0"},
            {"name": "there", "op": "Neg", "input": ["large"], "attr": FLOAT, "device": "/job:worker/task:1"},
            {"name": "index", "op": "Const", "attr": {"dtype": {"type": "DT_INT32"}, "value": {"tensor": {
                "dtype": "DT_INT32", "tensorShape": {"dim": [{"size": 1}]}, "intVal": [0]}}}, "device": "/job:worker/task:1"},
            {"name": "sum", "op": "Sum", "input": ["there", "index"], "attr": {**FLOAT, "Tidx": {"type": "DT_INT32"}},
             "device": "/job:worker/task:1"}]})
        step = client.step(session, {"feeds": {"n": [size // 4], "v": 1}, "fetches": ["sum"]})
        assert step["outputs"]["sum"]["data"] == [-size / 4], step
        passed = {name: client.send("GET", f"/workers/{name}/peers")["peers"] for name in ("w0", "w1")}
        by_task = {worker["task"]: worker["name"] for worker in pool.page()["workers"]}
        [announced], [pulled] = passed[by_task[0]], passed[by_task[1]]
        print(f"announced: {announced}; pulled: {pulled}")
        assert announced["worker"] == by_task[1] and pulled["worker"] == by_task[0]
        assert {announced["address"], pulled["address"]} == {worker.address for worker in workers}
        assert announced["calls"] >= 1 and announced["sent_bytes"] > 0 and announced["errors"] == 0
        assert pulled["calls"] >= 1 and pulled["received_bytes"] >= size and pulled["errors"] == 0
        assert announced["round_trip_us"] > 0 and pulled["round_trip_us"] > 0
        client.close()


def expect_refused(client, session, request, code, detail):
    try:
        client.step(session, request)
    except sluice.Refused as refusal:
        assert (refusal.code, refusal.detail) == (code, detail), refusal
        return
    raise AssertionError(f"{request} was not refused")


def a_worker_on_ipv6_may_leave_the_brackets_out():
    """A template that puts a port behind a pod's address knows none."""
    with Pool() as pool, socket.socket(socket.AF_INET6) as asking:
        try:
            asking.bind(("::1", 0))
        except OSError as error:
            raise Skipped("no IPv6") from error
        port = asking.getsockname()[1]
        asking.close()
        pool.start_worker("w0", "--advertise", f"::1:{port}", listen=f"[::1]:{port}")
        pool.await_serving("w0")
        assert [worker["address"] for worker in pool.page()["workers"]] == [f"[::1]:{port}"]


def a_worker_whose_labels_are_none_does_not_start():
    program = os.path.join(os.environ.get("OUT", "build/release"), "sluice-worker")
    refused = subprocess.run([program, "--listen", "127.0.0.1:0", "--labels", "zone"], stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert refused.returncode != 0 and "'zone=' is no label: key=value is, of letters, digits and '._/-'" in refused.stderr, refused


def only_who_has_the_workers_token_may_join():
    body = {"address": "127.0.0.1:9", "incarnation": "0123456789abcdef"}
    with tempfile.NamedTemporaryFile("w") as token, tempfile.NamedTemporaryFile("w") as wrong:
        for file, text in ((token, "of-workers"), (wrong, "of-nobody")):
            file.write(text)
            file.flush()
        with Pool(("--worker-token-file", token.name), auth="keys") as pool, tempfile.TemporaryFile("w+") as log:
            command = [os.path.join(os.environ.get("OUT", "build/release"), "sluice-gateway"), "key", "create", "ops", "--database",
                       f"dbname={pool.database.name}"]
            keys = [subprocess.run([*command, *more], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
                    for more in ((), ("operator",))]
            for key in [None, "of-nobody", *keys]:
                for method, path in (("PUT", "/workers/w9"), ("DELETE", "/workers/w9?incarnation=0123456789abcdef")):
                    client = sluice.Client(pool.gateways[0], key)
                    try:
                        client.send(method, path, body if method == "PUT" else None)
                        raise AssertionError(f"{method} with '{key}' was let in")
                    except sluice.Refused as refusal:
                        assert refusal.status == 401, refusal
                    client.close()
            pool.start_worker("wrong", "--token-file", wrong.name, log=log)
            pool.start_worker("right", "--token-file", token.name)
            client = sluice.Client(pool.gateways[0], keys[0])
            await_that(lambda: [worker["name"] for worker in client.send("GET", "/workers")["workers"]] == ["right"], "one may join")
            await_that(lambda: "it answers 401: workers join with the token of --worker-token-file" in read_whole(log), "the other says so")
            client.close()


def a_worker_that_listens_everywhere_must_say_where_it_is():
    with Pool() as pool, tempfile.NamedTemporaryFile("w") as token:
        token.write("secret")
        token.flush()
        program = os.path.join(os.environ.get("OUT", "build/release"), "sluice-worker")
        refused = subprocess.run([program, "--listen", "0.0.0.0:0", "--gateway", f"http://{pool.gateways[0]}", "--token-file", token.name],
                                 stderr=subprocess.PIPE, text=True, check=False, timeout=60)
        assert refused.returncode != 0 and "is no address that others can connect to, --advertise names one" in refused.stderr, refused
        [address] = sluice.take_addresses(1)
        pool.start_worker("w0", "--advertise", address, listen=address)
        pool.await_serving("w0")


def takes(client, method, path, body=None):
    """Whether the gateway has done it. On a busy machine PostgreSQL may not answer within a second, which counts as gone: asked again."""
    try:
        client.send(method, path, body)
    except sluice.Refused as refused:
        assert refused.status == 503, refused
        return False
    return True


def a_worker_joins_under_a_name_of_letters_and_digits_alone():
    with Pool() as pool:
        client = sluice.Client(pool.gateways[0])
        life = "5d3c0a6e91f24b78"
        body = {"address": "127.0.0.1:1", "incarnation": life}
        for name in ("%C2%84", "-w", "a" * 64):
            for send in (lambda path: client.send("PUT", path, body), lambda path: client.send("DELETE", f"{path}?incarnation={life}")):
                try:
                    send(f"/workers/{name}")
                    raise AssertionError(f"'{name}' was taken")
                except sluice.Refused as refused:
                    assert refused.status == 400, refused
        longest = "/workers/" + "a" * 63
        await_that(lambda: takes(client, "PUT", longest, body), "it joins")
        await_that(lambda: takes(client, "DELETE", f"{longest}?incarnation={life}"), "it leaves")


def a_worker_joins_with_a_version_that_the_gateway_speaks():
    with Pool() as pool:
        connection = http.client.HTTPConnection(pool.gateways[0], timeout=60)
        body = json.dumps({"address": "127.0.0.1:1", "incarnation": "5d3c0a6e91f24b78"})

        def ask(versions):
            headers = {"Content-Type": "application/json", "Sluice-Protocols": versions}
            connection.request("PUT", "/api/v1/workers/w", body, headers)
            reply = connection.getresponse()
            reply.read()
            return reply.status if reply.status != 503 else None  # PostgreSQL has not answered within a second
        answers = {versions: await_that(lambda versions=versions: ask(versions), "an answer")
                   for versions in ("", "x", "0", "2-1", "860", "1", "1-860")}
        connection.close()
        assert answers == {"": 400, "x": 400, "0": 400, "2-1": 400, "860": 400, "1": 200, "1-860": 200}, answers


if __name__ == "__main__":
    # The outage is one of a PostgreSQL that no other test uses.
    if "MEMBERSHIP_TEST_OWN_POSTGRES" not in os.environ:
        os.environ["MEMBERSHIP_TEST_OWN_POSTGRES"] = "1"
        os.execv("tools/with_postgres", ["with_postgres", os.path.abspath(__file__)])
    run_group([
        a_worker_that_joins_serves_within_a_second_at_every_gateway,
        a_worker_leaves_on_sigterm_under_load_with_no_failed_step,
        a_worker_that_has_joined_and_is_configured_by_another_address_is_listed_once,
        a_killed_worker_is_off_the_list_within_its_lease,
        sixteen_workers_join_at_once,
        a_gateway_is_ready_when_as_many_workers_serve_as_are_wanted,
        a_gateway_that_comes_back_has_the_workers_before_they_are_heard_of,
        a_worker_that_starts_before_its_gateway_joins_when_that_comes,
        a_worker_joins_by_the_next_gateway_when_the_first_is_gone,
        an_outage_of_postgresql_costs_no_worker_its_place,
        of_two_workers_with_one_name_the_second_is_refused_and_both_logs_say_so,
        a_worker_that_starts_anew_at_its_address_takes_its_own_place,
        steps_and_variables_stay_with_workers_that_have_the_labels_of_their_session,
        a_worker_on_ipv6_may_leave_the_brackets_out, a_worker_whose_labels_are_none_does_not_start,
        a_worker_tells_what_passed_between_it_and_each_peer,
        only_who_has_the_workers_token_may_join,
        a_worker_that_listens_everywhere_must_say_where_it_is,
        a_worker_joins_under_a_name_of_letters_and_digits_alone,
        a_worker_joins_with_a_version_that_the_gateway_speaks,
    ])
