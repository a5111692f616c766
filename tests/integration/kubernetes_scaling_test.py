#!/usr/bin/env python3
"""What the autoscalers of deploy/ ask for is there: KEDA's statement tells the work that waits, and the processors that the others go by
are asked for by the pods."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import kubernetes  # noqa: E402
import sluice  # noqa: E402

STEP_COUNT = 7
GRAPH = {"node": [{"name": "x", "op": "Placeholder", "attr": {"dtype": {"type": "DT_FLOAT"}}},
                  {"name": "y", "op": "Neg", "input": ["x"], "attr": {"T": {"type": "DT_FLOAT"}}}]}
REQUEST = {"feeds": {"x": 1.0}, "fetches": ["y"]}
SCALED_CHART = """
pools:
  - name: cpu
    image: sluice-worker
    replicas: 1
    resources: {requests: {cpu: "2", memory: 4Gi}, limits: {memory: 8Gi}}
    autoscaling: {enabled: true, min: 1, max: 9, slots: 4}
"""


def rendered():
    return [kubernetes.objects(text) for text in (kubernetes.combination("keda"), kubernetes.chart(SCALED_CHART))]


def triggers(found):
    return [trigger for one in found if one["kind"] == "ScaledObject" for trigger in one["spec"]["triggers"]]


def the_statement_of_the_scaler_tells_the_work_that_waits():
    statements = {trigger["metadata"]["query"] for found in rendered() for trigger in triggers(found)}
    assert len(statements) == 1, statements
    [statement] = statements
    with sluice.Cluster(threads=(1,), has_late_workers=True) as cluster:
        def ask():
            answer = cluster.database.ask(f"set role sluice_queue; {statement}")
            assert "\n" not in answer, "KEDA takes one row of one number"
            return float(answer)
        assert ask() == 0
        client = cluster.client()
        session = client.session()
        client.graph(session, GRAPH)
        for _ in range(STEP_COUNT):
            client.step(session, REQUEST, prefer="respond-async")
        assert ask() == STEP_COUNT
        cluster.start_workers()
        await_that(lambda: ask() == 0, "the work is done")
        client.close()


def each_scaler_has_what_it_scales_and_what_it_asks_with():
    for found in (*rendered(), kubernetes.objects(kubernetes.overlay("prod"))):
        scalers = [one for one in found if one["kind"] in ("ScaledObject", "HorizontalPodAutoscaler")]
        assert scalers
        for scaler in scalers:
            target = scaler["spec"]["scaleTargetRef"]
            workload = kubernetes.named(found, target["kind"], target["name"])
            assert "replicas" not in workload["spec"], "the scaler owns the number"
            [container] = workload["spec"]["template"]["spec"]["containers"]
            for metric in scaler["spec"].get("metrics", []):
                assert metric["resource"]["name"] in container["resources"]["requests"], "utilisation is a share of what is requested"
        for trigger in triggers(found):
            assert kubernetes.named(found, "TriggerAuthentication", trigger["authenticationRef"]["name"])
            assert float(trigger["metadata"]["targetQueryValue"]) > 0
        for one in found:
            assert one["kind"] != "ScaledObject" or one["spec"]["minReplicaCount"] >= 1, "a gateway without workers takes no step"


if __name__ == "__main__":
    run_group([the_statement_of_the_scaler_tells_the_work_that_waits, each_scaler_has_what_it_scales_and_what_it_asks_with])
