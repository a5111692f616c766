#!/usr/bin/env python3
"""Synchronous steps that run are in the lists of every gateway, of their tenant alone, and can be cancelled by who finds them there."""

import http.client
import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402

# Nobody enqueues: the step waits for ever.
ENDLESS = {"node": [
    {"name": "queue", "op": "FIFOQueueV2", "attr": {"component_types": {"list": {"type": ["DT_FLOAT"]}}}},
    {"name": "out", "op": "QueueDequeueV2", "input": ["queue"], "attr": {"component_types": {"list": {"type": ["DT_FLOAT"]}}}}]}
REQUEST = {"fetches": ["out"], "options": {"timeout_ms": 600000}}


class _Runner(threading.Thread):
    """Runs a step without end at the first gateway; `error` is how it ended."""

    def __init__(self, cluster, session):
        super().__init__()
        self._client = cluster.client("ours")
        self._session = session
        self.error = None
        self.start()

    def run(self):
        try:
            self._client.step(self._session, REQUEST)
        except (sluice.Refused, OSError, http.client.HTTPException) as error:
            self.error = error


def _begin(cluster):
    client = cluster.client("ours")
    session = client.session()
    client.graph(session, ENDLESS)
    return session, _Runner(cluster, session)


def _running(client, path):
    return client.send("GET", path)["steps"]


def a_running_step_is_listed_and_cancelled_at_another_gateway():
    with sluice.Cluster(threads=(1,), tenants={"ours": {}, "theirs": {}}) as cluster:
        second = cluster.add_gateway()
        other = sluice.Client(second.address, cluster.keys["ours"])
        session, runner = _begin(cluster)
        [step] = await_that(lambda: _running(other, f"/sessions/{session}/steps?state=running"), "the step is listed")
        assert step["session"] == session and step["async"] is False and step["state"] == "running", step
        assert [found["id"] for found in _running(other, "/steps")] == [step["id"]]
        assert _running(other, "/steps?state=succeeded") == []
        assert _running(sluice.Client(second.address, cluster.keys["theirs"]), "/steps") == [], "another tenant sees it"
        other.send("POST", f"/sessions/{session}/steps/{step['id']}:cancel")
        runner.join()
        assert isinstance(runner.error, sluice.Refused) and runner.error.code == "CANCELLED", runner.error
        await_that(lambda: [found["state"] for found in _running(other, "/steps")] == ["cancelled"], "it is listed once, as it ended")


def steps_of_a_gateway_that_died_leave_the_list():
    with sluice.Cluster(threads=(1,), tenants={"ours": {}}) as cluster:
        other = sluice.Client(cluster.add_gateway().address, cluster.keys["ours"])
        _, runner = _begin(cluster)
        await_that(lambda: _running(other, "/steps"), "the step is listed")
        cluster.gateway.kill()
        runner.join()
        await_that(lambda: _running(other, "/steps") == [], "nobody reports it any more")


def short_steps_are_not_reported():
    graph = {"node": [{"name": "c", "op": "Const", "attr": {"dtype": {"type": "DT_FLOAT"}, "value": {
        "tensor": {"dtype": "DT_FLOAT", "tensorShape": {}, "floatVal": [1.0]}}}}]}
    with sluice.Cluster(threads=(1,), tenants={"ours": {}}) as cluster:
        client = cluster.client("ours")
        session = client.session()
        client.graph(session, graph)
        steps = [client.step(session, {"fetches": ["c"]}) for _ in range(200)]
        reported = int(cluster.ask("select count(*) from running_steps"))
        slow = sum(step["elapsed_us"] > 200000 for step in steps)
        assert reported <= slow, json.dumps({"reported": reported, "slow": slow})


if __name__ == "__main__":
    run_group([a_running_step_is_listed_and_cancelled_at_another_gateway, steps_of_a_gateway_that_died_leave_the_list,
               short_steps_are_not_reported])
