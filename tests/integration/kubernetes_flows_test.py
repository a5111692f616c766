#!/usr/bin/env python3
"""deploy's network policies let pass what the programs need, as their rendered settings tell, and nothing else: every pair of pods, and
of a pod with what lies outside, is asked for every port, as Kubernetes would be."""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import kubernetes  # noqa: E402

# What is outside the pods of Sluice: one of each kind that a policy could tell apart.
OUTSIDE = ("anybody", "resolver", "database", "api")
DNS = {("UDP", 53), ("TCP", 53)}
DATABASE = ("TCP", 5432)  # libpq's default; service.conf may name another
KUBERNETES_API = {("TCP", 443), ("TCP", 6443)}  # of the Service, and of the servers behind it on common installations
OBJECT_STORE = ("TCP", 443)
PORTS = DNS | KUBERNETES_API | {DATABASE, ("TCP", 8470), ("TCP", 8471), ("TCP", 80), ("TCP", 22), ("TCP", 8472), ("UDP", 8471)}


class Pod:
    """The pods of one workload."""

    def __init__(self, found, workload):
        template = workload["spec"]["template"]
        self.name = workload["metadata"]["name"]
        self.labels = template["metadata"]["labels"]
        self.program = self.labels["app.kubernetes.io/name"]
        self.ports = {port["name"]: (port.get("protocol", "TCP"), port["containerPort"])
                      for container in template["spec"]["containers"] for port in container.get("ports", [])}
        self.settings = kubernetes.environment(found, workload)

    def __repr__(self):
        return self.name


def pods_of(found):
    return [Pod(found, workload) for workload in kubernetes.workloads(found)]


def port_of(address):
    return "TCP", int(address.rsplit(":", 1)[1])


def behind_service(found, pods, url):
    """The pods, and their port, that a URL with a Service's name leads to."""
    host, port = re.fullmatch(r"http://([a-z-]+):([0-9]+)", url).groups()
    service = kubernetes.named(found, "Service", host)["spec"]
    [target] = [one["targetPort"] for one in service["ports"] if one["port"] == int(port)]
    chosen = [pod for pod in pods if kubernetes.selects({"matchLabels": service["selector"]}, pod.labels)]
    assert chosen and all(pod.ports[target][1] == int(port) or service.get("clusterIP") != "None" for pod in chosen), url
    return [(pod, pod.ports[target]) for pod in chosen]


def flows_of_gateway(pod, pods):
    workers = [one for one in pods if one.program == "sluice-worker"]
    flows = {(outside, pod, port_of(pod.settings["SLUICE_LISTEN"])) for outside in OUTSIDE}
    flows |= {(pod, one, port_of(one.settings["SLUICE_ADVERTISE"])) for one in workers}
    if pod.settings.get("SLUICE_WORKERS", "").startswith("kubernetes:"):
        flows |= {(pod, "api", port) for port in KUBERNETES_API}
    if pod.settings.get("SLUICE_BLOB_STORE", "").startswith("s3:"):
        flows.add((pod, "anybody", OBJECT_STORE))
    return flows


def flows_of_worker(found, pod, pods):
    flows = {(pod, other, port_of(other.settings["SLUICE_ADVERTISE"])) for other in pods if other.program == "sluice-worker"}
    for url in filter(None, pod.settings.get("SLUICE_GATEWAY", "").split(",")):
        flows |= {(pod, gateway, port) for gateway, port in behind_service(found, pods, url)}
    return flows


def asks_a_resolver(pod):
    """Whether a setting names something by its name: all do, but a pod would not that has addresses only."""
    named = [pod.settings.get(name, "") for name in ("SLUICE_GATEWAY", "SLUICE_WORKERS", "SLUICE_DATABASE")]
    return any(re.search("[a-z]", one) for one in named)


def needed_flows(found, pods):
    """Who must reach whom: (from, to, (protocol, port))."""
    flows = set()
    for pod in pods:
        if asks_a_resolver(pod):
            flows |= {(pod, "resolver", port) for port in DNS}
        if "SLUICE_DATABASE" in pod.settings:
            flows.add((pod, "database", DATABASE))
        if pod.program == "sluice-gateway":
            flows |= flows_of_gateway(pod, pods)
        if pod.program == "sluice-worker":
            flows |= flows_of_worker(found, pod, pods)
    return flows


def peer_matches(peer, other):
    """Whether a policy's peer is this pod, or this outside party, which has no labels and is in no namespace of ours."""
    assert set(peer) == {"podSelector"}, "the evaluator knows no other kind of peer"
    return isinstance(other, Pod) and kubernetes.selects(peer["podSelector"], other.labels)


def port_matches(rule_port, pod, port):
    wanted = rule_port["port"]
    if isinstance(wanted, str):
        return isinstance(pod, Pod) and pod.ports.get(wanted) == port
    return (rule_port.get("protocol", "TCP"), wanted) == port


def side_allows(policies, pod, way, other, target, port):
    """Whether one end lets it pass: no policy of that way selects the pod, or a rule of one that does allows it."""
    if not isinstance(pod, Pod):
        return True
    chosen = [one["spec"] for one in policies if way in one["spec"]["policyTypes"] and
              kubernetes.selects(one["spec"]["podSelector"], pod.labels)]
    rules = [rule for spec in chosen for rule in spec.get(way.lower(), [])]
    peers = "from" if way == "Ingress" else "to"
    return not chosen or any((peers not in rule or any(peer_matches(peer, other) for peer in rule[peers])) and
                             ("ports" not in rule or any(port_matches(one, target, port) for one in rule["ports"])) for rule in rules)


def allowed_flows(found, pods):
    policies = [one for one in found if one["kind"] == "NetworkPolicy"]
    parties = [*pods, *OUTSIDE]
    return {(source, target, port) for source in parties for target in parties for port in PORTS
            if (isinstance(source, Pod) or isinstance(target, Pod)) and
            side_allows(policies, source, "Egress", target, target, port) and
            side_allows(policies, target, "Ingress", source, target, port)}


def widened(flows):
    """The needed flows, with those to outside parties by port alone: policies name no address of a database or a resolver."""
    outward = {(source, port) for source, target, port in flows if target in OUTSIDE}
    wide = {(source, other, port) for source, port in outward for other in OUTSIDE}
    return flows | wide


def check(text):
    found = kubernetes.objects(text)
    pods = pods_of(found)
    needed = needed_flows(found, pods)
    allowed = allowed_flows(found, pods)
    missing, idle = needed - allowed, allowed - widened(needed)
    assert not missing, f"needed, but not let pass: {sorted(map(str, missing))}"
    assert not idle, f"let pass, but not needed: {sorted(map(str, idle))}"
    return needed


def production_lets_pass_what_is_needed_and_nothing_else():
    for overlay in ("prod", "gpu", "gpu-mig"):
        needed = check(kubernetes.overlay(overlay))
        names = {(str(source), str(target)) for source, target, _ in needed}
        for one in (("sluice-worker", "sluice-gateway"), ("sluice-gateway", "sluice-worker"), ("sluice-worker", "sluice-worker"),
                    ("sluice-worker", "resolver"), ("sluice-gateway", "resolver"), ("sluice-gateway", "database"),
                    ("anybody", "sluice-gateway"), ("sluice-migrate", "database")):
            assert one in names, (overlay, one)


def gateways_that_ask_kubernetes_may_reach_it_and_workers_may_not():
    needed = check(kubernetes.combination("isolation", "endpointslices", "endpointslices-isolation"))
    assert {str(source) for source, target, _ in needed if target == "api"} == {"sluice-gateway"}


def the_chart_lets_pass_what_is_needed_and_nothing_else():
    for values in ("", "endpointSlices: true\n"):
        check(kubernetes.chart(values))


def a_policy_too_few_or_too_many_is_found():
    """The check itself can fail: each rule of each policy is taken away, and one that is not needed is given."""
    found = kubernetes.objects(kubernetes.overlay("prod"))
    pods = pods_of(found)
    needed = needed_flows(found, pods)
    rules = [(policy["spec"][way], rule) for policy in found if policy["kind"] == "NetworkPolicy"
             for way in ("ingress", "egress") for rule in policy["spec"].get(way, [])]
    assert len(rules) >= 9, rules
    for place, rule in rules:
        place.remove(rule)
        assert needed - allowed_flows(found, pods), f"nobody misses {rule}"
        place.append(rule)
    worker = kubernetes.named(found, "NetworkPolicy", "sluice-worker")["spec"]
    for way in ("ingress", "egress"):
        worker[way].append({"ports": [{"port": 22}]})
        assert allowed_flows(found, pods) - widened(needed), way
        worker[way].pop()


if __name__ == "__main__":
    run_group([production_lets_pass_what_is_needed_and_nothing_else, gateways_that_ask_kubernetes_may_reach_it_and_workers_may_not,
               the_chart_lets_pass_what_is_needed_and_nothing_else, a_policy_too_few_or_too_many_is_found])
