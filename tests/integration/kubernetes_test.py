#!/usr/bin/env python3
"""deploy/kubernetes and deploy/helm: what one object names, another is; pods ask for no more than the standard 'restricted'
allows; settings are those of the programs; and where the tools are, every overlay and the chart render, the chart the same
objects as the overlay for production, and each object is valid, strictly."""

import difflib
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import Skipped, run_group  # noqa: E402  (before all else: it keeps Python from writing files)

ROOT = "deploy/kubernetes"
CHART = "deploy/helm/sluice"
OVERLAYS = ("dev", "prod", "gpu")
VERSIONS = ("1.30.0", "1.37.0")  # the oldest that is meant, and the newest schema that kubernetes-validate carries
SECRETS = {"sluice-gateway": {"service.conf", "worker-token", "pepper"}, "sluice-worker": {"worker-token"},
           "sluice-migrate": {"service.conf"}}  # which deploy/README.md has an operator make
PROGRAMS = {"sluice-gateway": "sluice-gateway", "sluice-worker": "sluice-worker"}  # of a ConfigMap


def document(path):
    return json.loads(subprocess.run(["tools/yaml_to_json", path], check=True, stdout=subprocess.PIPE).stdout)


def objects():
    """Every object of the base and of the components, by path; kustomizations and patches are none."""
    found = {}
    for path in glob.glob(f"{ROOT}/base/**/*.yaml", recursive=True) + glob.glob(f"{ROOT}/components/**/*.yaml", recursive=True):
        content = document(path)
        if isinstance(content, dict) and content["kind"] not in ("Kustomization", "Component"):
            found[path] = content
    assert len(found) >= 15, sorted(found)
    return found


def pod(content):
    return content["spec"]["template"]["spec"]


def workloads(found):
    return {path: content for path, content in found.items() if content["kind"] in ("Deployment", "StatefulSet", "Job")}


def named(found, kind):
    return {content["metadata"]["name"]: content for content in found.values() if content["kind"] == kind}


def matches(selector, content):
    labels = content["spec"]["template"]["metadata"]["labels"]
    return all(labels.get(key) == value for key, value in selector.items())


def every_pod_is_restricted():
    for path, content in workloads(objects()).items():
        spec = pod(content)
        assert spec["securityContext"]["runAsNonRoot"] is True, path
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, path
        assert spec["automountServiceAccountToken"] is False, path
        for container in spec["containers"]:
            context = container["securityContext"]
            assert context == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                               "capabilities": {"drop": ["ALL"]}}, path
            assert "memory" in container["resources"]["limits"] and "cpu" in container["resources"]["requests"], path


def what_is_named_is_there():
    found = objects()
    settings = named(found, "ConfigMap")
    for path, content in workloads(found).items():
        spec = pod(content)
        volumes = {volume["name"]: volume for volume in spec["volumes"]}
        for volume in volumes.values():
            assert "secret" not in volume or volume["secret"]["secretName"] in SECRETS, path
        for container in spec["containers"]:
            for source in container.get("envFrom", []):
                assert source["configMapRef"]["name"] in settings, path
            assert {mount["name"] for mount in container["volumeMounts"]} == set(volumes), path
            ports = {port["name"] for port in container.get("ports", [])}
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                assert container.get(probe, {}).get("httpGet", {}).get("port", "") in ports | {""}, (path, probe)
        assert spec["serviceAccountName"] in named(found, "ServiceAccount"), path
        if content["kind"] == "StatefulSet":
            assert named(found, "Service")[content["spec"]["serviceName"]]["spec"]["clusterIP"] == "None", path
        if content["kind"] != "Job":
            assert matches(content["spec"]["selector"]["matchLabels"], content), path


def selectors_select_something():
    found = objects()
    targets = list(workloads(found).values())
    for path, content in found.items():
        spec = content.get("spec", {})
        selectors = [spec.get("selector") if content["kind"] == "Service" else None,
                     spec.get("selector", {}).get("matchLabels") if content["kind"] == "PodDisruptionBudget" else None,
                     spec.get("podSelector", {}).get("matchLabels")]
        selectors += [peer["podSelector"]["matchLabels"] for way, side in (("ingress", "from"), ("egress", "to"))
                      for rule in spec.get(way, []) for peer in rule.get(side, [])]
        for selector in filter(None, selectors):
            assert any(matches(selector, target) for target in targets), (path, selector)
        if content["kind"] == "HorizontalPodAutoscaler":
            assert any(target["kind"] == spec["scaleTargetRef"]["kind"] and
                       target["metadata"]["name"] == spec["scaleTargetRef"]["name"] for target in targets), path


def files_that_settings_name_are_in_the_secrets():
    found = objects()
    for name, content in named(found, "ConfigMap").items():
        for setting, value in content["data"].items():
            if value.startswith("/etc/sluice/"):
                assert value.removeprefix("/etc/sluice/") in SECRETS[name], (name, setting)


def every_setting_is_one_of_the_program():
    for name, content in named(objects(), "ConfigMap").items():
        program = os.path.join(os.environ.get("OUT", "build/release"), PROGRAMS[name])
        flags = re.findall(r"^  --([a-z0-9-]+)", subprocess.run([program, "--help"], check=True, text=True,
                                                               stdout=subprocess.PIPE).stdout, re.MULTILINE)
        known = {"SLUICE_" + flag.upper().replace("-", "_") for flag in flags}
        assert {setting for setting in content["data"] if setting.startswith("SLUICE_")} <= known, name


def images_are_of_this_version():
    with open("VERSION", encoding="ascii") as file:
        version = file.read().strip()
    chart = document(f"{CHART}/Chart.yaml")
    assert (chart["version"], chart["appVersion"]) == (version, version), chart
    for path in glob.glob(f"{ROOT}/overlays/**/kustomization.yaml", recursive=True):
        assert all(image["newTag"] == version for image in document(path).get("images", [])), path


def time_to_end_is_enough():
    """A pod is killed after its time: what the program takes at most, with ten seconds to close, must fit in."""
    found = objects()
    seconds = {name: sum(int(data.get(f"SLUICE_{part}", "0s").removesuffix("s")) for part in ("DRAIN_DELAY", "GRACE"))
               for name, data in ((name, content["data"]) for name, content in named(found, "ConfigMap").items())}
    for kind, name in (("Deployment", "sluice-gateway"), ("StatefulSet", "sluice-worker")):
        assert pod(named(found, kind)[name])["terminationGracePeriodSeconds"] >= seconds[name] + 10, name


def rendered(overlay):
    if shutil.which("kubectl") is None:
        raise Skipped("no kubectl")
    return subprocess.run(["kubectl", "kustomize", f"{ROOT}/overlays/{overlay}"], check=True, text=True, stdout=subprocess.PIPE,
                          timeout=120).stdout


def charted(*arguments):
    """What helm makes of the chart."""
    if shutil.which("helm") is None:
        raise Skipped("no helm")
    return subprocess.run(["helm", "template", "sluice", CHART, "--namespace", "sluice", "--kube-version", VERSIONS[0], *arguments],
                          check=True, text=True, stdout=subprocess.PIPE, timeout=120).stdout


# In the chart the migration is a hook, which comes before the account that others have.
AS_IN_KUSTOMIZE = """
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: sluice
resources: [chart.yaml, namespace.yaml]
labels:
  - pairs: {app.kubernetes.io/part-of: sluice}
patches:
  - target: {kind: Job}
    patch: |
      - {op: remove, path: /metadata/annotations}
      - {op: add, path: /spec/template/spec/serviceAccountName, value: sluice}
"""


def the_chart_has_the_objects_of_production():
    wanted = rendered("prod")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("chart.yaml", charted()), ("kustomization.yaml", AS_IN_KUSTOMIZE)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        shutil.copy(f"{ROOT}/overlays/prod/namespace.yaml", folder)
        got = subprocess.run(["kubectl", "kustomize", folder], check=True, text=True, stdout=subprocess.PIPE, timeout=120).stdout
    assert sorted(got.split("---\n")) == sorted(wanted.split("---\n")), "\n".join(difflib.unified_diff(
        wanted.splitlines(), got.splitlines(), "overlays/prod", "chart", lineterm=""))


# Values that people will give: no autoscaling, no isolation, a pool with GPUs beside the first.
GPU_POOL = """
pools:
  - {name: cpu, image: sluice-worker, replicas: 3, resources: {requests: {cpu: "2", memory: 4Gi}, limits: {memory: 8Gi}}}
  - name: gpu
    image: sluice-worker-cuda
    replicas: 1
    settings: {SLUICE_CUDA: required}
    resources: {requests: {cpu: "4", memory: 16Gi}, limits: {memory: 32Gi, nvidia.com/gpu: 1}}
    tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
    nodeSelector: {pool: gpu}
"""
VALUES = (GPU_POOL, "isolation: false\ngateway: {replicas: 1, autoscaling: {enabled: false}}\n", "tag: \"1.2.3\"\ngrace: 300\n",
          "gateway: {settings: {SLUICE_BLOB_STORE: s3://bucket}}\nworker: {settings: {SLUICE_THREADS: \"4\"}}\n")
REFUSED = ("grace: soon\n", "replicas: 3\n", "gateway: {settings: {database: elsewhere}}\n", "pools: []\n",
           "worker: {settings: {SLUICE_GRACE: 60s}}\n", GPU_POOL + "    autoscaling: {enabled: true}\n")


def the_chart_is_valid_with_many_values():
    with tempfile.TemporaryDirectory() as folder:
        values, path = os.path.join(folder, "values.yaml"), os.path.join(folder, "objects.yaml")
        for text in VALUES:
            with open(values, "w", encoding="utf-8") as file:
                file.write(text)
            with open(path, "w", encoding="utf-8") as file:
                file.write(charted("--values", values))
            validate(path)


def the_chart_refuses_values_that_it_does_not_know():
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        for text in REFUSED:
            file.seek(0)
            file.truncate()
            file.write(text)
            file.flush()
            try:
                charted("--values", file.name)
            except subprocess.CalledProcessError:
                continue
            raise AssertionError(f"it takes {text}")


def every_overlay_renders():
    for overlay in OVERLAYS:
        kinds = re.findall(r"^kind: (\w+)$", rendered(overlay), re.MULTILINE)
        assert kinds.count("StatefulSet") == (2 if overlay == "gpu" else 1), (overlay, kinds)
        assert kinds.count("NetworkPolicy") == (0 if overlay == "dev" else 4), (overlay, kinds)


def validate(path):
    """Every object of the file is one that the oldest and the newest Kubernetes know, with no member that they do not know."""
    if shutil.which("kubernetes-validate") is None:
        raise Skipped("no kubernetes-validate")
    for version in VERSIONS:
        done = subprocess.run(["kubernetes-validate", "--strict", "-k", version, path], text=True, timeout=300,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, (path, version, done.stdout)


def every_overlay_is_valid():
    with tempfile.TemporaryDirectory() as folder:
        for overlay in OVERLAYS:
            path = os.path.join(folder, f"{overlay}.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(rendered(overlay))
            validate(path)


if __name__ == "__main__":
    run_group([every_pod_is_restricted, what_is_named_is_there, selectors_select_something,
               files_that_settings_name_are_in_the_secrets, every_setting_is_one_of_the_program, images_are_of_this_version, time_to_end_is_enough,
               every_overlay_renders, every_overlay_is_valid, the_chart_has_the_objects_of_production,
               the_chart_is_valid_with_many_values, the_chart_refuses_values_that_it_does_not_know])
