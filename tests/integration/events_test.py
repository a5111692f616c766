#!/usr/bin/env python3
"""Streams of events: what happens is told once, in order, on any gateway, to whom it concerns, and to nobody else."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
from event_source import EventSource  # noqa: E402
import browser  # noqa: E402
import sluice  # noqa: E402

TENANTS = {"ours": {}, "theirs": {}}
GRAPH = {"node": [{"name": "x", "op": "Placeholder", "attr": {"dtype": {"type": "DT_FLOAT"}}},
                  {"name": "y", "op": "Neg", "input": ["x"], "attr": {"T": {"type": "DT_FLOAT"}}}]}
REQUEST = {"feeds": {"x": 1.0}, "fetches": ["y"]}
ALL = "/api/v1/events"


class _Pool(sluice.Cluster):
    def __init__(self, *settings, threads=(1,)):
        super().__init__(threads=threads, tenants=TENANTS, settings=settings)

    def watch(self, path, tenant="ours", since=None, gateway=None, **options):
        headers = {"Authorization": f"Bearer {self.keys[tenant]}"}
        if since is not None:
            headers["Last-Event-ID"] = since
        return EventSource((gateway or self.gateway).address, path, headers, **options)

    def send(self, method, path, body=None, key=None):
        """Status and document, without a client's opinion of either."""
        connection = http.client.HTTPConnection(self.address, timeout=60)
        headers = {"Content-Type": "application/json"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        reply = connection.getresponse()
        content = reply.read()
        connection.close()
        return reply.status, json.loads(content) if content else None

    def change(self, session, count):
        """Changes a session so often, one transaction after the other."""
        self.ask(f"do $$ begin for turn in 1..{count} loop update sessions set version = version + 1 "
                 f"where id = '{session.removeprefix('ses_')}'; commit; end loop; end $$")


def _begin(stream, client):
    """A stream tells of what happens from when it has begun: waits until it has, and returns a session that is told of by then."""
    done = threading.Event()

    def make_sessions():
        while not done.wait(0.1):
            client.send("POST", "/sessions", {"name": "begin"})
    maker = threading.Thread(target=make_sessions)
    maker.start()
    try:
        stream.next()
    finally:
        done.set()
        maker.join()
    last = client.send("POST", "/sessions", {"name": "last"})["id"]
    stream.until(lambda event: event.data["session"] == last)
    return last


def _names(events):
    return [event.name for event in events]


def a_step_is_told_of_from_its_first_state_to_its_end():
    with _Pool() as cluster:
        client = cluster.client("ours")
        session = client.session()
        client.graph(session, GRAPH)
        step = client.step(session, REQUEST, prefer="respond-async")["id"]
        path = f"/api/v1/sessions/{session}/steps/{step}/events"
        with cluster.watch(path) as stream:
            assert stream.status == 200 and stream.head["content-type"] == "text/event-stream", stream.head
            assert stream.head["cache-control"] == "no-store", stream.head
            events = stream.until(lambda event: event.name == "step.succeeded")
            assert _names(events) == ["step.queued", "step.running", "step.succeeded"], events
            assert events[-1].data["step"] == step and events[-1].data["session"] == session, events[-1]
            assert events[-1].data["state"] == "succeeded" and events[-1].data["attempts"] == 1, events[-1]
            assert stream.next() is None, "the stream goes on behind the step's end"
        with cluster.watch(path, since=events[0].id) as stream:
            assert _names([stream.next(), stream.next()]) == ["step.running", "step.succeeded"]
        with cluster.watch(path, since=events[-1].id) as stream:
            assert stream.status == 204, "a browser would come again and again"


def a_failed_step_tells_its_error():
    with _Pool() as cluster:
        client = cluster.client("ours")
        session = client.session()
        graph = {"node": [{"name": "x", "op": "Placeholder", "attr": {"dtype": {"type": "DT_INT32"}}},
                          {"name": "zero", "op": "Const", "attr": {"dtype": {"type": "DT_INT32"}, "value": {
                              "tensor": {"dtype": "DT_INT32", "tensorShape": {}, "intVal": [0]}}}},
                          {"name": "y", "op": "FloorDiv", "input": ["x", "zero"], "attr": {"T": {"type": "DT_INT32"}}}]}
        client.graph(session, graph)
        step = client.step(session, {"feeds": {"x": 1}, "fetches": ["y"]}, prefer="respond-async")["id"]
        with cluster.watch(f"/api/v1/sessions/{session}/steps/{step}/events") as stream:
            last = stream.until(lambda event: event.name == "step.failed")[-1]
            assert last.data["error"]["code"] == "INVALID_ARGUMENT" and last.data["error"]["node"] == "y", last


def synchronous_steps_are_told_of_when_they_end():
    with _Pool() as cluster:
        client = cluster.client("ours")
        session = client.session()
        client.graph(session, GRAPH)
        with cluster.watch(ALL) as stream:
            _begin(stream, client)
            step = client.step(session, REQUEST)["id"]
            event = stream.next()
            assert event.name == "step.succeeded" and event.data["step"] == step, event


def a_session_is_told_of_until_it_is_gone():
    with _Pool() as cluster:
        client = cluster.client("ours")
        session = client.session()
        other = client.session()
        with cluster.watch(f"/api/v1/sessions/{session}/events") as stream:
            cluster.change(other, 20)
            graph = await_that(lambda: client.graph(session, GRAPH), "a graph")
            client.send("DELETE", f"/sessions/{session}")
            events = stream.until(lambda event: event.name == "session.deleted")
            assert all(event.data["session"] == session for event in events), events
            assert stream.next() is None
            told = [event.data.get("graph") for event in events if event.name.startswith("graph.")]
            assert told in ([graph, graph], [graph], []), "the stream may have begun behind the graph"
        with cluster.watch(f"/api/v1/sessions/{session}/events", since=events[-1].id) as stream:
            assert stream.status == 404


def a_client_goes_on_at_another_gateway_without_gap_or_repeat():
    changes, cuts = 400, 7
    with _Pool() as cluster:
        client = cluster.client("ours")
        session = client.session()
        gateways = [cluster.gateway, cluster.add_gateway()]
        with cluster.watch(ALL) as stream:
            _begin(stream, client)
            since = stream.last_id
        writers = [threading.Thread(target=cluster.change, args=(session, changes)) for _ in range(4)]
        for writer in writers:
            writer.start()
        events = []
        for cut in range(cuts):
            with cluster.watch(ALL, since=since, gateway=gateways[cut % 2]) as stream:
                wanted = 4 * changes - len(events) if cut == cuts - 1 else 4 * changes // (cuts + 1)
                events += [stream.next() for _ in range(wanted)]
                since = stream.last_id
        for writer in writers:
            writer.join()
        last = client.send("POST", "/sessions", {"name": "last"})["id"]
        with cluster.watch(ALL, since=since) as stream:
            assert stream.next().data["session"] == last, "an event came twice, or late"
        assert len({event.id for event in events}) == 4 * changes, "an event came twice"
        assert all(event.name == "session.updated" for event in events)
        assert sorted(event.data["version"] for event in events) == list(range(2, 4 * changes + 2))


def nobody_hears_of_another_tenant():
    with _Pool() as cluster:
        ours, theirs = cluster.client("ours"), cluster.client("theirs")
        session = ours.session()
        ours.graph(session, GRAPH)
        step = ours.step(session, REQUEST, prefer="respond-async")["id"]
        for path in (f"/api/v1/sessions/{session}/events", f"/api/v1/sessions/{session}/steps/{step}/events"):
            with cluster.watch(path, tenant="theirs") as stream:
                assert stream.status == 404, (path, stream.status)
        with cluster.watch(ALL, tenant="theirs") as stream, cluster.watch(ALL, tenant="theirs", since="1-0") as early:
            ours.session()
            _begin(stream, theirs)
            ours.session()
            last = theirs.send("POST", "/sessions", {"name": "end"})["id"]
            for events in (stream.until(lambda event: event.data["session"] == last),
                           early.until(lambda event: event.data["session"] == last)):
                assert all(event.data.get("name", "begin") in ("begin", "last", "end") for event in events), events


def a_ticket_opens_one_stream_of_one_tenant():
    with _Pool() as cluster:
        session = cluster.client("ours").session()
        status, made = cluster.send("POST", "/api/v1/tickets", {"path": ALL}, cluster.keys["ours"])
        assert status == 201 and made["path"] == ALL, made
        ticket = made["ticket"]
        with EventSource(cluster.add_gateway().address, f"{ALL}?ticket={ticket}") as stream:
            assert stream.status == 200
            _begin(stream, cluster.client("ours"))
        for path in (f"/api/v1/sessions?ticket={ticket}", f"/api/v1/sessions/{session}/events?ticket={ticket}",
                     f"{ALL}?ticket={'0' * 64}", f"{ALL}?ticket=x"):
            assert cluster.send("GET", path)[0] == 401, path
        assert cluster.send("POST", f"/api/v1/tickets?ticket={ticket}", {"path": ALL})[0] == 401
        cluster.ask(f"update api_keys set revoked_at = now() where id = '{cluster.keys['ours'].split('_')[1]}'")
        assert cluster.send("GET", f"{ALL}?ticket={ticket}")[0] == 401, "the ticket outlived its key"


def a_ticket_is_over_after_its_time():
    with _Pool() as cluster:
        _, made = cluster.send("POST", "/api/v1/tickets", {"path": ALL}, cluster.keys["ours"])
        cluster.ask("update tickets set expires_at = now()")
        assert cluster.send("GET", f"{ALL}?ticket={made['ticket']}")[0] == 401


def streams_of_a_revoked_key_end():
    with _Pool() as cluster, cluster.watch(ALL) as ours, cluster.watch(ALL, tenant="theirs") as theirs:
        cluster.ask(f"update api_keys set revoked_at = now() where id = '{cluster.keys['ours'].split('_')[1]}'")
        assert ours.next() is None
        _begin(theirs, cluster.client("theirs"))


def streams_end_when_their_key_expires():
    with _Pool() as cluster:  # whose gateway has not seen this key yet: it would remember it as one that stays
        cluster.ask(f"update api_keys set expires_at = now() + interval '10 s' where id = '{cluster.keys['theirs'].split('_')[1]}'")
        _, ticket = cluster.send("POST", "/api/v1/tickets", {"path": ALL}, key=cluster.keys["theirs"])
        with cluster.watch(ALL, tenant="theirs") as by_key, EventSource(cluster.address, f"{ALL}?ticket={ticket['ticket']}") as by_ticket:
            assert (by_key.status, by_ticket.status) == (200, 200)
            assert by_key.next() is None
            assert by_ticket.next() is None


def who_comes_back_late_is_told_to_read_anew():
    with _Pool("--event-age", "1s") as cluster:
        client = cluster.client("ours")
        with cluster.watch(ALL) as stream:
            _begin(stream, client)
            since = stream.last_id
        client.session()
        await_that(lambda: cluster.ask("select count(*) from events") == "0", "old events are removed")
        with cluster.watch(ALL, since=since) as stream:
            assert stream.next().name == "reset"
            last = client.send("POST", "/sessions", {"name": "last"})["id"]
            assert stream.next().data["session"] == last


def a_transaction_that_outlasts_events_costs_one_reset():
    with _Pool("--event-age", "2s") as cluster, cluster.watch(ALL) as stream:
        client = cluster.client("ours")
        _begin(stream, client)
        with subprocess.Popen(["psql", "-qXAt", "-d", cluster.database.name], text=True, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as other:
            other.stdin.write("begin; select pg_current_xact_id() > '0';\n")
            other.stdin.flush()
            assert other.stdout.readline() == "t\n"
            client.session()
            await_that(lambda: cluster.ask("select count(*) from events") == "0", "events are removed before they are complete")
            time.sleep(1)  # five turns of the feed, of which none may tell of what went
        last = client.send("POST", "/sessions", {"name": "last"})["id"]
        events = stream.until(lambda event: event.name != "reset" and event.data["session"] == last)
        assert _names(events) == ["reset", "session.created"], events


def an_id_of_the_future_is_told_to_read_anew():
    with _Pool() as cluster, cluster.watch(ALL, since="99999999999999-1") as stream:
        assert stream.next().name == "reset"
        last = cluster.client("ours").send("POST", "/sessions", {"name": "last"})["id"]
        assert stream.next().data["session"] == last


def who_reads_slowly_is_bounded_and_misses_nothing():
    changes = 20000
    with _Pool() as cluster:
        client = cluster.client("ours")
        session = client.session()
        with cluster.watch(ALL, receive_buffer=4096) as stream:
            _begin(stream, client)
            before = _resident_size(cluster.gateway.pid)
            cluster.change(session, changes)
            grown = _resident_size(cluster.gateway.pid) - before
            assert grown < 32 << 20, f"{grown} bytes for a stream that nobody reads"
            versions = [stream.next().data["version"] for _ in range(changes)]
            assert versions == list(range(2, changes + 2))


def idle_streams_cost_little():
    count = 1000
    with _Pool("--limit", f"connections_per_address={2 * count}") as cluster:
        streams = []
        first = cluster.watch(ALL)
        try:
            _begin(first, cluster.client("ours"))
            before = _resident_size(cluster.gateway.pid)
            for _ in range(count):
                streams.append(cluster.watch(ALL))
            assert all(stream.status == 200 for stream in streams)
            each = (_resident_size(cluster.gateway.pid) - before) // count
            print(f"{each} bytes a stream", flush=True)
            assert each < 128 << 10, f"{each} bytes for an idle stream"
            last = cluster.client("ours").send("POST", "/sessions", {"name": "last"})["id"]
            for stream in [first, *streams]:  # open streams miss nothing, however busy the gateway is with others
                stream.until(lambda event: event.data["session"] == last)
        finally:
            for stream in [first, *streams]:
                stream.close()


def a_tenant_has_so_many_streams():
    with _Pool("--limit", "event_streams=2") as cluster:
        with cluster.watch(ALL), cluster.watch(ALL):
            with cluster.watch(ALL) as third, cluster.watch(ALL, tenant="theirs") as other:
                assert (third.status, other.status) == (429, 200), (third.status, other.status)

        def may_watch():
            with cluster.watch(ALL) as stream:
                return stream.status == 200
        await_that(may_watch, "streams that are closed do not count")


def streams_end_when_their_gateway_stops():
    with _Pool("--drain-delay", "0s", "--grace", "30s") as cluster:
        gateway = cluster.add_gateway()
        with cluster.watch(ALL, gateway=gateway) as stream:
            _begin(stream, cluster.client("ours"))
            os.kill(gateway.pid, signal.SIGTERM)
            assert stream.next() is None, "the stream was not ended as it should"
            assert gateway.end_code(20) == 0, "the gateway waited for a stream"
        with cluster.watch(ALL, since=stream.last_id) as stream:
            last = cluster.client("ours").send("POST", "/sessions", {"name": "last"})["id"]
            assert stream.next().data["session"] == last


def chromium_follows_events_over_a_restart():
    """The page is of another origin, has a ticket, and its EventSource comes back by itself with the last id that it read."""
    with browser.Origin() as origin, _Pool("--cors-origins", origin.name, "--drain-delay", "0s") as cluster:
        client = cluster.client("ours")
        session = client.session()
        gateway = cluster.add_gateway()
        host = f"http://{gateway.address}"
        script = """
          const host = "%s", key = "%s", versions = [];
          const made = await fetch(host + "/api/v1/tickets", {method: "POST", body: JSON.stringify({path: "/api/v1/events"}),
            headers: {"Authorization": "Bearer " + key, "Content-Type": "application/json"}});
          const events = new EventSource(host + "/api/v1/events?ticket=" + (await made.json()).ticket);
          events.addEventListener("session.created", event => {
            if (JSON.parse(event.data).name === "end") { events.close(); report(versions); }
          });
          events.addEventListener("session.updated", event => {
            if (versions.push(JSON.parse(event.data).version) === 1) { fetch("/heard"); }
          });
          events.addEventListener("open", () => fetch("/opened"));
        """ % (host, cluster.keys["ours"])

        def change_and_restart():
            await_that(lambda: cluster.change(session, 1) or origin.has_request("/heard"), "the page to hear of a change")
            changed.append(_highest_version(cluster))
            gateway.stop()
            cluster.change(session, 5)
            cluster.add_gateway(listen=gateway.address)
            origin.await_request("/opened", 2)
            cluster.change(session, 5)
            client.send("POST", "/sessions", {"name": "end"})

        changed = []
        versions = origin.run_page(script, change_and_restart)
        highest = _highest_version(cluster)
        assert versions == list(range(versions[0], highest + 1)), f"{versions} of {highest}"
        assert versions[0] <= changed[0], f"{versions}, of which {changed[0]} in front of the restart"


def _highest_version(cluster):
    return int(cluster.ask("select max(version) from sessions"))


def _resident_size(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    run_group([a_step_is_told_of_from_its_first_state_to_its_end, a_failed_step_tells_its_error,
               synchronous_steps_are_told_of_when_they_end, a_session_is_told_of_until_it_is_gone,
               a_client_goes_on_at_another_gateway_without_gap_or_repeat, nobody_hears_of_another_tenant,
               a_ticket_opens_one_stream_of_one_tenant, a_ticket_is_over_after_its_time, streams_of_a_revoked_key_end,
               streams_end_when_their_key_expires,
               who_comes_back_late_is_told_to_read_anew, a_transaction_that_outlasts_events_costs_one_reset,
               an_id_of_the_future_is_told_to_read_anew,
               who_reads_slowly_is_bounded_and_misses_nothing, idle_streams_cost_little, a_tenant_has_so_many_streams,
               streams_end_when_their_gateway_stops, chromium_follows_events_over_a_restart])
