#!/usr/bin/env python3
"""deploy/kubernetes and deploy/helm: what one object names, another is; pods ask for no more than the standard 'restricted'
allows; settings are those of the programs; and where the tools are, every overlay and the chart render, the chart the same
objects as the overlay for production, and each object is valid, strictly."""

import difflib
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import kubernetes  # noqa: E402
from kubernetes import CHART, OVERLAYS, ROOT  # noqa: E402

VERSIONS = ("1.30.0", "1.37.0")  # the oldest that is meant, and the newest schema that kubernetes-validate carries
SECRETS = {"sluice-gateway": {"service.conf", "worker-token", "pepper"}, "sluice-worker": {"worker-token"},
           "sluice-migrate": {"service.conf"}}  # which deploy/README.md has an operator make
PROGRAMS = {"sluice-gateway": "sluice-gateway", "sluice-worker": "sluice-worker"}  # of a ConfigMap


def document(path):
    return json.loads(subprocess.run(["tools/yaml_to_json", path], check=True, stdout=subprocess.PIPE).stdout)


def objects():
    """Every object of the base and of the components, by path; kustomizations and patches are none."""
    found = {}
    for path in glob.glob(f"{ROOT}/base/**/kustomization.yaml", recursive=True) + \
            glob.glob(f"{ROOT}/components/**/kustomization.yaml", recursive=True):
        names = [name for name in document(path).get("resources", []) if name.endswith(".yaml")]
        found.update({one: document(one) for one in (os.path.join(os.path.dirname(path), name) for name in names)})
    assert len(found) >= 20, sorted(found)
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


def known_settings(name):
    """The settings of a program, as the environment has them."""
    program = os.path.join(os.environ.get("OUT", "build/release"), name)
    help_text = subprocess.run([program, "--help"], check=True, text=True, stdout=subprocess.PIPE).stdout
    return {"SLUICE_" + flag.upper().replace("-", "_") for flag in re.findall(r"^  --([a-z0-9-]+)", help_text, re.MULTILINE)}


def every_setting_is_one_of_the_program():
    for name, content in named(objects(), "ConfigMap").items():
        assert {setting for setting in content["data"] if setting.startswith("SLUICE_")} <= known_settings(PROGRAMS[name]), name


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


# In the chart the migration is a hook, which comes before the account that others have.
AS_IN_KUSTOMIZE = """
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: sluice
resources: [chart.yaml]
labels:
  - pairs: {app.kubernetes.io/part-of: sluice}
patches:
  - target: {kind: Job}
    patch: |
      - {op: remove, path: /metadata/annotations}
      - {op: add, path: /spec/template/spec/serviceAccountName, value: sluice}
"""


def as_in_kustomize(text):
    """The chart's objects as kustomize writes them, in the namespace of production."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (("chart.yaml", text), ("kustomization.yaml", AS_IN_KUSTOMIZE)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(content)
        return kubernetes.kustomize(folder)


def expect_same(wanted, got, what):
    """The same objects, in whatever order. Namespaces are made before a chart is installed."""
    wanted, got = (sorted(one for one in text.split("---\n") if "\nkind: Namespace\n" not in one) for text in (wanted, got))
    assert got == wanted, "\n".join(difflib.unified_diff("---\n".join(wanted).splitlines(), "---\n".join(got).splitlines(),
                                                         "kustomize", f"chart: {what}", lineterm=""))


POOL_OF_CPUS = """
pools:
  - name: cpu
    image: sluice-worker
    replicas: 2
    resources: {requests: {cpu: "2", memory: 4Gi}, limits: {memory: 8Gi}}
    autoscaling: {enabled: true, min: 2, max: 20, %s}
"""
POOL_OF_GPUS = POOL_OF_CPUS % "cpu: 80" + """
  - name: gpu
    image: sluice-worker-cuda
    replicas: 1
    gpu: nvidia
    settings: {SLUICE_CUDA: required}
    resources: {requests: {cpu: "4", memory: 16Gi}, limits: {memory: 32Gi, %s: 1}}
    tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
"""


def the_chart_has_the_objects_of_kustomize():
    """With the values that say the same as an overlay, or as production with other components."""
    tagged = "registry: registry.example\n"
    for what, values, wanted in (
            ("prod", "", lambda: kubernetes.overlay("prod")),
            ("gpu", POOL_OF_GPUS % "nvidia.com/gpu", lambda: kubernetes.overlay("gpu")),
            ("gpu-mig", POOL_OF_GPUS % "nvidia.com/mig-1g.10gb", lambda: kubernetes.overlay("gpu-mig")),
            ("endpointslices", "endpointSlices: true\n",
             lambda: kubernetes.combination("endpointslices", "endpointslices-isolation", resource="overlays/prod"))):
        expect_same(wanted(), as_in_kustomize(kubernetes.chart(tagged + values)), what)


def a_pool_that_scales_by_steps_is_that_of_the_component():
    wanted = kubernetes.objects(kubernetes.combination("keda"))
    got = kubernetes.objects(as_in_kustomize(kubernetes.chart(POOL_OF_CPUS % "slots: 4")))
    for kind in ("ScaledObject", "TriggerAuthentication"):
        assert kubernetes.named(got, kind, "sluice-worker") == kubernetes.named(wanted, kind, "sluice-worker"), kind
    scaled = [one["spec"]["scaleTargetRef"]["name"] for one in wanted if one["kind"] in ("ScaledObject", "HorizontalPodAutoscaler")]
    assert sorted(scaled) == ["sluice-gateway", "sluice-worker"], "one scaler each"


# Values that people will give: no autoscaling, no isolation, a pool with GPUs beside the first.
EVERYTHING = """
imagePullSecrets: [{name: registry}]
endpointSlices: true
gateway:
  workersWanted: 3
  service: {type: LoadBalancer, port: 8080, annotations: {example.com/internal: "true"}}
  extraEnv: [{name: PGSSLROOTCERT, value: /etc/sluice/ca.crt}, {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
  podAnnotations: {prometheus.io/scrape: "true"}
  nodeSelector: {pool: front}
  tolerations: [{key: front, operator: Exists}]
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
    {matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]}]}}}
  priorityClassName: high
worker:
  settings: {SLUICE_THREADS: "4", SLUICE_LISTEN: "[::]:8471"}
  blobs: {gibibytes: 200, storageClass: fast}
pools:
  - name: gpu
    image: sluice-worker-cuda
    replicas: 1
    gpu: H100
    zone: eu-1a
    settings: {SLUICE_CUDA: required}
    extraEnv: [{name: MALLOC_ARENA_MAX, value: "2"}]
    podAnnotations: {example.com/team: models}
    resources: {requests: {cpu: "4", memory: 16Gi}, limits: {memory: 32Gi, nvidia.com/gpu: 1}}
    nodeSelector: {topology.kubernetes.io/zone: eu-1a}
    tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
    affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [
      {weight: 1, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {sluice.dev/pool: gpu}}}}]}}
    priorityClassName: high
    runtimeClassName: nvidia
    autoscaling: {enabled: true, min: 1, max: 4, slots: 8}
"""
VALUES = (EVERYTHING, POOL_OF_GPUS % "nvidia.com/gpu", POOL_OF_CPUS % "slots: 4",
          "isolation: false\ngateway: {replicas: 1, autoscaling: {enabled: false}}\n", "tag: \"1.2.3\"\ngrace: 300\n",
          "gateway: {settings: {SLUICE_BLOB_STORE: s3://bucket}}\nworker: {settings: {SLUICE_THREADS: \"4\"}}\n")
REFUSED = ("grace: soon\n", "replicas: 3\n", "gateway: {settings: {database: elsewhere}}\n", "pools: []\n",
           "worker: {settings: {SLUICE_GRACE: 60s}}\n", POOL_OF_GPUS % "nvidia.com/gpu" + "    autoscaling: {enabled: true}\n",
           POOL_OF_CPUS % "slots: 4, cpu: 80", "gateway: {autoscaling: {enabled: true, min: 2, max: 3, slots: 4}}\n",
           "imagePullSecrets: [registry]\n", "gateway: {service: {type: ExternalName}}\n", "worker: {blobs: {gibibytes: 20Gi}}\n",
           "gateway: {extraEnv: {A: b}}\n", "endpointSlices: maybe\n", "gateway: {workersWanted: 0}\n")


def what_values_say_is_in_the_objects():
    found = kubernetes.objects(kubernetes.chart(EVERYTHING))
    gateway, worker = pod(kubernetes.named(found, "Deployment", "sluice-gateway")), pod(kubernetes.named(found, "StatefulSet", "sluice-worker"))
    for spec in (gateway, worker, pod(kubernetes.named(found, "Job", "sluice-migrate"))):
        assert spec["imagePullSecrets"] == [{"name": "registry"}]
    for spec in (gateway, worker):
        assert spec["priorityClassName"] == "high" and spec["nodeSelector"] and spec["tolerations"] and spec["affinity"]
    assert worker["runtimeClassName"] == "nvidia" and "runtimeClassName" not in gateway
    assert {one["name"] for one in gateway["containers"][0]["env"]} == {"PGSSLROOTCERT", "NODE"}
    [blobs] = [volume for volume in worker["volumes"] if volume["name"] == "blobs"]
    claim = blobs["ephemeral"]["volumeClaimTemplate"]["spec"]
    assert (claim["storageClassName"], claim["resources"]) == ("fast", {"requests": {"storage": "200Gi"}})
    settings = kubernetes.environment(found, kubernetes.named(found, "StatefulSet", "sluice-worker"))
    assert settings["SLUICE_BLOB_FOLDER_SIZE"] == "160GiB" and settings["MALLOC_ARENA_MAX"] == "2", settings
    assert (settings["SLUICE_THREADS"], settings["SLUICE_LISTEN"]) == ("4", "[::]:8471"), settings
    service = kubernetes.named(found, "Service", "sluice-gateway")
    assert service["metadata"]["annotations"] == {"example.com/internal": "true"}
    assert (service["spec"]["type"], service["spec"]["ports"][0]["port"]) == ("LoadBalancer", 8080)


def the_chart_refuses_values_that_it_does_not_know():
    kubernetes.chart("grace: 20\n")
    for text in REFUSED:
        try:
            kubernetes.chart(text)
        except subprocess.CalledProcessError:
            continue
        raise AssertionError(f"it takes {text}")


def in_order(text):
    return sorted(kubernetes.objects(text), key=lambda one: (one["kind"], one["metadata"]["name"]))


def the_command_helm_renders_and_refuses_what_its_engine_does():
    kubernetes.run_tool(kubernetes.find_tool("helm"), "lint", "--strict", CHART)
    for values in ("", *VALUES):
        assert in_order(kubernetes.helm(values)) == in_order(kubernetes.chart(values)), values
    for values in REFUSED:
        try:
            kubernetes.helm(values)
        except subprocess.CalledProcessError as refused:
            assert "don't meet the specifications of the schema" in refused.stderr, (values, refused.stderr)
            continue
        raise AssertionError(f"it takes {values}")


def everything_rendered():
    """(what, text) of each overlay, each component on the base, and the chart with each set of values."""
    combinations = [[component] for component in kubernetes.COMPONENTS if component != "mig"]  # which is for a pool with GPUs
    return [(overlay, kubernetes.overlay(overlay)) for overlay in OVERLAYS] + \
        [("+".join(names), kubernetes.combination(*names)) for names in combinations] + \
        [(f"chart with {values}", kubernetes.chart(values)) for values in ("", *VALUES)]


def every_overlay_renders():
    for overlay in OVERLAYS:
        kinds = re.findall(r"^kind: (\w+)$", kubernetes.overlay(overlay), re.MULTILINE)
        assert kinds.count("StatefulSet") == (2 if overlay.startswith("gpu") else 1), (overlay, kinds)
        assert kinds.count("NetworkPolicy") == (0 if overlay == "dev" else 4), (overlay, kinds)


def every_rendered_setting_is_one_of_its_program():
    for what, text in everything_rendered():
        found = kubernetes.objects(text)
        for workload in kubernetes.workloads(found):
            program = workload["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/name"].replace("migrate", "gateway")
            if program in PROGRAMS:
                settings = {name for name in kubernetes.environment(found, workload) if name.startswith("SLUICE_")}
                assert settings <= known_settings(program), (what, settings - known_settings(program))


def every_worker_tells_a_gateway_where_it_is():
    for what, text in everything_rendered():
        found = kubernetes.objects(text)
        for worker in [one for one in found if one["kind"] == "StatefulSet"]:
            settings = kubernetes.environment(found, worker)
            assert settings["SLUICE_GATEWAY"] == "http://sluice-gateway-headless:8470", what
            assert settings["SLUICE_ADVERTISE"] == "<status.podIP>:8471" and settings["SLUICE_NAME"] == "<metadata.name>", what
            assert settings["SLUICE_LABELS"] == "zone=<metadata.labels['topology.kubernetes.io/zone']>," \
                "pool=<metadata.labels['sluice.dev/pool']>,gpu=<metadata.labels['sluice.dev/gpu']>", what
        headless = kubernetes.named(found, "Service", "sluice-gateway-headless")["spec"]
        assert headless["publishNotReadyAddresses"] and headless["clusterIP"] == "None", "a gateway is not ready before workers join"


SAFE_VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}


def seconds_of(setting):
    return int(re.fullmatch("([0-9]+)s", setting).group(1))


def every_rendered_pod_has_time_to_end():
    """As time_to_end_is_enough(), with whatever values set the grace."""
    graces = set()
    for what, text in everything_rendered():
        found = kubernetes.objects(text)
        for workload in kubernetes.workloads(found):
            settings = kubernetes.environment(found, workload)
            if "SLUICE_GRACE" in settings:
                graces.add(settings["SLUICE_GRACE"])
                seconds = seconds_of(settings["SLUICE_GRACE"]) + seconds_of(settings.get("SLUICE_DRAIN_DELAY", "0s"))
                assert pod(workload)["terminationGracePeriodSeconds"] >= seconds + 10, (what, workload["metadata"]["name"])
    assert len(graces) >= 2, graces


def restriction_faults(spec):
    """What the Pod Security standard 'restricted' (and 'baseline', which it includes) refuses in a pod, rule by rule, as
    https://kubernetes.io/docs/concepts/security/pod-security-standards/ has them."""
    own, containers = spec.get("securityContext", {}), spec["containers"] + spec.get("initContainers", [])
    either = lambda context, name: context.get(name, own.get(name))  # noqa: E731
    faults = [name for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    faults += [f"volume {volume['name']}" for volume in spec.get("volumes", []) if not SAFE_VOLUMES & set(volume)]
    faults += [name for name in ("sysctls", "seLinuxOptions", "windowsOptions", "appArmorProfile") if own.get(name)]
    for container in containers:
        context = container.get("securityContext", {})
        rules = {"privileged": not context.get("privileged"), "procMount": context.get("procMount", "Default") == "Default",
                 "allowPrivilegeEscalation": context.get("allowPrivilegeEscalation") is False,
                 "runAsNonRoot": either(context, "runAsNonRoot") is True, "runAsUser": either(context, "runAsUser") != 0,
                 "seccompProfile": (either(context, "seccompProfile") or {}).get("type") in ("RuntimeDefault", "Localhost"),
                 "drop": "ALL" in context.get("capabilities", {}).get("drop", []),
                 "add": set(context.get("capabilities", {}).get("add", [])) <= {"NET_BIND_SERVICE"},
                 "hostPort": not any(port.get("hostPort") for port in container.get("ports", []))}
        faults += [f"{container['name']}: {rule}" for rule, is_kept in rules.items() if not is_kept]
    return faults


def every_rendered_pod_is_restricted():
    count = 0
    for what, text in everything_rendered():
        for workload in kubernetes.workloads(kubernetes.objects(text)):
            assert restriction_faults(pod(workload)) == [], (what, workload["metadata"]["name"])
            assert pod(workload)["automountServiceAccountToken"] is False, what
            count += 1
    assert count >= 40, count
    assert len(restriction_faults({"hostPID": True, "volumes": [{"name": "v", "hostPath": {}}], "containers": [{"name": "c"}]})) == 6


# Of KEDA, which no schema at hand describes: what its reference names (https://keda.sh/docs/2.17/reference/scaledobject-spec/). A
# release that does not know a member drops it without a word: `behavior` of a fallback is as old as 2.17.
KEDA_RELEASE = "2.17"
KEDA = {"ScaledObject": {"scaleTargetRef", "pollingInterval", "cooldownPeriod", "initialCooldownPeriod", "idleReplicaCount",
                         "minReplicaCount", "maxReplicaCount", "fallback", "advanced", "triggers"},
        "TriggerAuthentication": {"podIdentity", "secretTargetRef", "env", "configMapTargetRef"}}
KEDA_PARTS = {"scaleTargetRef": {"apiVersion", "kind", "name", "envSourceContainerName"},
              "fallback": {"failureThreshold", "replicas", "behavior"},
              "advanced": {"restoreToOriginalReplicaCount", "horizontalPodAutoscalerConfig", "scalingModifiers"}}
KEDA_TRIGGER = {"type", "name", "useCachedMetrics", "metadata", "metricType", "authenticationRef"}


def assert_of_keda(one):
    spec = one["spec"]
    assert set(spec) <= KEDA[one["kind"]], one
    assert all(set(spec.get(part, {})) <= known for part, known in KEDA_PARTS.items()), one
    assert all(set(trigger) <= KEDA_TRIGGER for trigger in spec.get("triggers", [])), one


def the_release_of_keda_that_is_asked_for_knows_all_that_is_asked_of_it():
    for path in ("deploy/README.md", f"{ROOT}/components/keda/kustomization.yaml", f"{CHART}/values.yaml"):
        with open(path, encoding="utf-8") as file:
            assert re.findall(r"KEDA\s+([0-9.]+)\s+or[\s#]+newer", file.read()) == [KEDA_RELEASE], path


def validate(text):
    """Every object of the text is one that the oldest and the newest Kubernetes know, with no member that they do not know."""
    tool = kubernetes.find_tool("kubernetes-validate")
    parts = [part for part in text.split("---\n") if part.strip()]
    for one in kubernetes.objects(text):
        if one["apiVersion"].startswith("keda.sh/"):
            assert_of_keda(one)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write("---\n".join(part for part in parts if "apiVersion: keda.sh/" not in part))
        file.flush()
        for version in VERSIONS:
            done = subprocess.run([tool, "--strict", "-k", version, file.name], text=True, timeout=300, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            assert done.returncode == 0, (version, done.stdout)


def everything_rendered_is_valid():
    for what, text in everything_rendered():
        try:
            validate(text)
        except AssertionError as error:
            raise AssertionError(what) from error


if __name__ == "__main__":
    run_group([every_pod_is_restricted, what_is_named_is_there, selectors_select_something,
               files_that_settings_name_are_in_the_secrets, every_setting_is_one_of_the_program, images_are_of_this_version, time_to_end_is_enough,
               every_overlay_renders, every_rendered_setting_is_one_of_its_program, every_worker_tells_a_gateway_where_it_is,
               every_rendered_pod_has_time_to_end,
               every_rendered_pod_is_restricted, everything_rendered_is_valid,
               the_release_of_keda_that_is_asked_for_knows_all_that_is_asked_of_it, the_chart_has_the_objects_of_kustomize,
               a_pool_that_scales_by_steps_is_that_of_the_component, what_values_say_is_in_the_objects,
               the_chart_refuses_values_that_it_does_not_know, the_command_helm_renders_and_refuses_what_its_engine_does])
