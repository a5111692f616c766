#!/usr/bin/env python3
"""Workers found by the EndpointSlices of a Service: real workers, a real gateway, and an API of the test's own that lists, watches, forgets,
breaks off and refuses as Kubernetes' own does."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from kubernetes_api import Api, endpoint, endpoint_slice, status  # noqa: E402

REQUEST = {"feeds": {"x": 1.0}, "fetches": ["y"]}
GRAPH = {"node": [{"name": "x", "op": "Placeholder", "attr": {"dtype": {"type": "DT_FLOAT"}}},
                  {"name": "y", "op": "Neg", "input": ["x"], "attr": {"T": {"type": "DT_FLOAT"}}}]}
QUIET_SECONDS = 4  # longer than three polls that are missed
WATCH_SECONDS = 20  # a watch is ended by the API in a shorter time, and given up in a longer one, below half a minute


class Site:
    """`with Site(api) as site:` a gateway that watches the Service, and workers."""

    def __init__(self, api, entry="kubernetes:sluice-worker:h2c", settings=()):
        self.api = api
        self._arguments = ("--auth", "off", "--workers", entry, "--kubernetes-api", api.url, "--kubernetes-account", api.account, *settings)
        self.database = sluice.Database()
        self._programs = contextlib.ExitStack()
        self.log = tempfile.TemporaryFile("w+")

    def __enter__(self):
        self.database.__enter__()
        self.gateway = self._keep(sluice.Program("sluice-gateway", "--listen", "127.0.0.1:0", "--database",
                                                 f"dbname={self.database.name}", *self._arguments, log=self.log))
        return self

    def __exit__(self, *_):
        self._programs.close()
        self.database.__exit__()
        self.log.close()

    def worker(self, name):
        return self._keep(sluice.Program("sluice-worker", "--listen", "127.0.0.1:0", "--name", name, "--threads", "1"))

    def states(self):
        client = sluice.Client(self.gateway.address)
        try:
            return {one["name"]: one["state"] for one in client.send("GET", "/workers")["workers"]}
        finally:
            client.close()

    def await_states(self, **states):
        await_that(lambda: self.states() == states, f"the workers are {states}")

    def said(self, words):
        self.log.seek(0)
        return words in self.log.read()

    def _keep(self, program):
        self._programs.callback(lambda: program.is_running() and program.stop())
        return program


def slice_of(name, worker, **conditions):
    return endpoint_slice(name, int(worker.address.rsplit(":", 1)[1]), endpoint(worker.address, **conditions))


READY = {"ready": True, "serving": True, "terminating": False}
ENDING = {"ready": False, "serving": True, "terminating": True}


def workers_of_a_service_serve_as_its_slices_come_and_go():
    with Api(page_size=1) as api, Site(api) as site:
        first, second, third = site.worker("w0"), site.worker("w1"), site.worker("w2")
        assert site.states() == {}
        api.put(slice_of("a", first, **READY))
        site.await_states(w0="serving")
        api.put(slice_of("b", second))  # conditions that are not said: ready
        api.put(endpoint_slice("c", 1))
        api.put(slice_of("d", third, ready=None))
        site.await_states(w0="serving", w1="serving", w2="serving")
        api.delete("b")
        site.await_states(w0="serving", w2="serving")
        assert second.is_running() and api.counted("list") == 1, api.requests


def all_pages_of_a_list_are_read_and_a_gateway_that_starts_finds_what_is_there():
    with Api(page_size=1) as api, contextlib.ExitStack() as workers:
        for name in ("w0", "w1", "w2"):
            worker = sluice.Program("sluice-worker", "--listen", "127.0.0.1:0", "--name", name, "--threads", "1")
            workers.callback(worker.stop)
            api.put(slice_of(name, worker, **READY))
        with Site(api, entry="kubernetes:models/sluice-worker:h2c") as site:
            site.await_states(w0="serving", w1="serving", w2="serving")
            assert [query.get("continue") for verb, query, _ in api.requests if verb == "list"] == [None, "w0", "w1"], api.requests


def a_worker_that_is_being_ended_gets_no_steps_and_is_not_lost():
    with Api() as api, Site(api) as site:
        ending, staying = site.worker("ending"), site.worker("staying")
        api.put(slice_of("a", ending, **READY))
        api.put(slice_of("b", staying, **READY))
        site.await_states(ending="serving", staying="serving")
        api.put(slice_of("a", ending, **ENDING))
        site.await_states(ending="draining", staying="serving")
        time.sleep(QUIET_SECONDS)
        assert site.states() == {"ending": "draining", "staying": "serving"}
        client = sluice.Client(site.gateway.address)
        session = client.session()
        client.graph(session, GRAPH)
        assert client.step(session, REQUEST)["outputs"]["y"]["data"] == [-1]
        api.delete("b")
        site.await_states(ending="draining")
        try:
            client.step(session, REQUEST)
        except sluice.Refused as refusal:
            assert refusal.code == "UNAVAILABLE", refusal
        else:
            raise AssertionError("a worker that is being ended got a step")
        api.put(slice_of("a", ending, **READY))
        site.await_states(ending="serving")
        assert client.step(session, REQUEST)["outputs"]["y"]["data"] == [-1]
        client.close()


def a_worker_that_is_not_ready_gets_no_steps_until_it_is():
    with Api() as api, Site(api) as site:
        worker = site.worker("w0")
        api.put(slice_of("a", worker, ready=False, serving=False, terminating=False))
        site.await_states(w0="draining")
        api.put(slice_of("a", worker, **READY))
        site.await_states(w0="serving")
        api.put(slice_of("b", worker, **ENDING))  # it is being moved: one slice of two says that it is ready
        api.bookmark()
        time.sleep(1)
        assert site.states() == {"w0": "serving"}


def versions_that_are_gone_have_the_slices_listed_anew():
    for gone_as_status in (False, True):
        with Api() as api, Site(api) as site:
            api.gone_as_status = gone_as_status
            first, second = site.worker("w0"), site.worker("w1")
            api.put(slice_of("a", first, **READY))
            site.await_states(w0="serving")
            lists = api.counted("list")
            api.failure = status(500, "InternalError", "etcdserver: leader changed")
            api.end_watches()
            await_that(lambda: api.requests[-1][2] == 500, "the watch is refused")
            api.delete("a")
            api.put(slice_of("b", second, **READY))
            api.forget()
            api.failure = None
            site.await_states(w1="serving")
            assert api.counted("list") == lists + 1, api.requests


def a_watch_that_breaks_off_goes_on_where_it_was():
    with Api() as api, Site(api) as site:
        first, second = site.worker("w0"), site.worker("w1")
        api.put(slice_of("a", first, **READY))
        site.await_states(w0="serving")
        version, watches = api.version, api.counted("watch")
        api.end_watches(breaks_off=True)
        await_that(lambda: api.counted("watch") > watches, "it watches again")
        assert api.requests[-1][1]["resourceVersion"] == str(version), api.requests
        api.put(slice_of("b", second, **READY))
        site.await_states(w0="serving", w1="serving")
        assert api.counted("list") == 1, api.requests


def bookmarks_move_a_watch_on_while_nothing_happens():
    with Api() as api, Site(api) as site:
        api.put(slice_of("a", site.worker("w0"), **READY))
        site.await_states(w0="serving")
        for _ in range(3):
            api.bookmark()
        version, watches = api.version, api.counted("watch")
        api.end_watches()
        await_that(lambda: api.counted("watch") > watches, "it watches again")
        assert api.requests[-1][1]["resourceVersion"] == str(version), api.requests
        assert api.requests[-1][1]["allowWatchBookmarks"] == "true" and api.counted("list") == 1, api.requests


def a_token_that_is_renewed_is_shown_without_a_restart():
    with Api() as api, Site(api) as site:
        first, second = site.worker("w0"), site.worker("w1")
        api.put(slice_of("a", first, **READY))
        site.await_states(w0="serving")
        api.token = "the-second-token"
        api.end_watches()
        await_that(lambda: api.requests[-1][2] == 401, "the first token is refused")
        assert site.states() == {"w0": "serving"}
        await_that(lambda: site.said("the API answers 401: Unauthorized"), "the log says why")
        api.write_account("token", api.token)
        api.put(slice_of("b", second, **READY))
        site.await_states(w0="serving", w1="serving")
        assert api.counted("list") == 1, api.requests


def the_api_is_trusted_by_its_authority_only_and_a_renewed_one_is_read():
    with Api(has_tls=True) as api:
        with open(os.path.join(api.account, "ca.crt"), encoding="ascii") as file:
            own = file.read()
        api.write_account("ca.crt", api.make_authority()[2])
        with Site(api) as site:
            api.put(slice_of("a", site.worker("w0"), **READY))
            await_that(lambda: site.said("is not trusted"), "the log says that the API is not trusted")
            assert site.states() == {} and not api.requests
            api.write_account("ca.crt", own)
            site.await_states(w0="serving")
            assert site.said("Kubernetes tells the endpoints of workers again")


def an_outage_of_the_api_costs_no_worker_its_place():
    with Api() as api, Site(api) as site:
        first, second = site.worker("w0"), site.worker("w1")
        api.put(slice_of("a", first, **READY))
        site.await_states(w0="serving")
        api.stop()
        time.sleep(QUIET_SECONDS)
        assert site.states() == {"w0": "serving"}
        api.put(slice_of("b", second, **READY))
        api.start()
        site.await_states(w0="serving", w1="serving")


def an_api_that_fails_is_asked_ever_more_rarely():
    with Api() as api:
        api.failure = status(503, "ServiceUnavailable", "apiserver is shutting down")
        begun = time.monotonic()
        with Site(api) as site:
            await_that(lambda: api.counted("list") > 0, "the API is asked")
            time.sleep(6)
            # Pauses of at least 250, 500, 1000, 2000 and 4000 ms: the sixth request comes after 7.75 s at the earliest.
            assert api.counted("list") <= 5 or time.monotonic() - begun > 7.75, api.requests
            assert site.gateway.is_running()


def a_gateway_that_ends_waits_for_no_watch():
    with Api() as api, Site(api, settings=("--drain-delay", "0s", "--grace", "1s")) as site:
        api.put(slice_of("a", site.worker("w0"), **READY))
        site.await_states(w0="serving")
        api.silence_watches()
        watches = api.counted("watch")
        site.gateway._process.terminate()  # pylint: disable=protected-access
        assert site.gateway.end_code(WATCH_SECONDS) == 0, "it waited for its watch"
        assert api.counted("watch") == watches, api.requests


def a_watch_that_falls_silent_is_given_up_for_another_in_less_than_half_a_minute():
    with Api() as api, Site(api) as site:
        first, second = site.worker("w0"), site.worker("w1")
        api.put(slice_of("a", first, **READY))
        site.await_states(w0="serving")
        api.silence_watches()
        watches = api.counted("watch")
        api.put(slice_of("b", second, **READY))
        site.await_states(w0="serving", w1="serving")
        assert api.counted("watch") > watches and api.counted("list") == 1, api.requests
        assert site.said("did not answer in time")
        assert int(api.requests[-1][1]["timeoutSeconds"]) <= WATCH_SECONDS, api.requests


def an_entry_that_names_no_service_is_refused():
    program = os.path.join(os.environ.get("OUT", "build/release"), "sluice-gateway")
    with sluice.Database() as database:
        for entry in ("kubernetes:", "kubernetes:a/b/c:h2c", "kubernetes:/b", "kubernetes:Upper", "kubernetes:a:", "kubernetes:a?b=c"):
            done = subprocess.run([program, "--listen", "127.0.0.1:0", "--auth", "off", "--database", f"dbname={database.name}", "--workers", entry],
                                  stderr=subprocess.PIPE, text=True, check=False, timeout=60)
            assert done.returncode != 0 and f"'{entry}' names no Service" in done.stderr, (entry, done.stderr)


if __name__ == "__main__":
    run_group([workers_of_a_service_serve_as_its_slices_come_and_go,
               all_pages_of_a_list_are_read_and_a_gateway_that_starts_finds_what_is_there,
               a_worker_that_is_being_ended_gets_no_steps_and_is_not_lost, a_worker_that_is_not_ready_gets_no_steps_until_it_is,
               versions_that_are_gone_have_the_slices_listed_anew, a_watch_that_breaks_off_goes_on_where_it_was,
               bookmarks_move_a_watch_on_while_nothing_happens, a_token_that_is_renewed_is_shown_without_a_restart,
               the_api_is_trusted_by_its_authority_only_and_a_renewed_one_is_read, an_outage_of_the_api_costs_no_worker_its_place,
               an_api_that_fails_is_asked_ever_more_rarely, a_gateway_that_ends_waits_for_no_watch,
               a_watch_that_falls_silent_is_given_up_for_another_in_less_than_half_a_minute,
               an_entry_that_names_no_service_is_refused])
