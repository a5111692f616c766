"""What deploy/kubernetes and deploy/helm render to, by the tools that a user has: kubectl, and Helm or its engine. `make
kubernetes-tools` installs all of them into var/kubernetes; a test without one is skipped."""

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile

from group import Skipped

ROOT = "deploy/kubernetes"
CHART = "deploy/helm/sluice"
OVERLAYS = sorted(os.listdir(f"{ROOT}/overlays"))
COMPONENTS = sorted(os.listdir(f"{ROOT}/components"))
TOOLS = os.environ.get("KUBERNETES_TOOLS", "var/kubernetes/bin")
KUBE_VERSION = "1.30.0"
TOOL_SECONDS = 120


def find_tool(name):
    path = os.path.join(TOOLS, name)
    found = path if os.access(path, os.X_OK) else shutil.which(name)
    if found is None:
        raise Skipped(f"no {name}, which `make kubernetes-tools` installs")
    return found


@functools.lru_cache(maxsize=None)
def find_python(module):
    """A Python that has this module: the tools' own, or the one that runs the test."""
    for python in (os.path.join(TOOLS, "python"), sys.executable):
        if shutil.which(python) is not None and \
                subprocess.run([python, "-c", f"import {module}"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return python
    raise Skipped(f"no Python with {module}, which `make kubernetes-tools` installs")


def run_tool(*command, text=None):
    """What a command prints; `text`: what it reads."""
    return subprocess.run(command, check=True, text=True, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=TOOL_SECONDS).stdout


def kustomize(folder):
    """The text that a folder with a kustomization renders to."""
    return run_tool(find_tool("kubectl"), "kustomize", folder)


@functools.lru_cache(maxsize=None)
def overlay(name):
    return kustomize(f"{ROOT}/overlays/{name}")


@functools.lru_cache(maxsize=None)
def combination(*components, resource="base", namespace="sluice"):
    """What the base, or an overlay, with these components renders to."""
    with tempfile.TemporaryDirectory() as folder:
        deploy = os.path.relpath(os.path.realpath(ROOT), os.path.realpath(folder))
        lines = ["apiVersion: kustomize.config.k8s.io/v1beta1", "kind: Kustomization", f"namespace: {namespace}",
                 "labels:", "  - pairs: {app.kubernetes.io/part-of: sluice}", "resources:", f"  - {deploy}/{resource}"]
        lines += ["components:"] + [f"  - {deploy}/components/{name}" for name in components] if components else []
        with open(os.path.join(folder, "kustomization.yaml"), "w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")
        return kustomize(folder)


@functools.lru_cache(maxsize=None)
def chart(values="", namespace="sluice"):
    """What the chart renders to with these values, by Helm's engine, or by Helm where only that is; a text.
    subprocess.CalledProcessError when it refuses them."""
    try:
        python = find_python("helm_python")
    except Skipped:
        return helm(values, namespace)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(values or "{}\n")
        file.flush()
        return run_tool(python, "tests/support/helm_template.py", CHART, namespace, file.name)


@functools.lru_cache(maxsize=None)
def helm(values="", namespace="sluice"):
    """The same by the command `helm template`."""
    return run_tool(find_tool("helm"), "template", "sluice", CHART, "--namespace", namespace, "--kube-version", KUBE_VERSION,
                    "--values", "-", text=values or "{}\n")


READ_YAML = "import json, sys, yaml; print(json.dumps([one for one in yaml.safe_load_all(sys.stdin) if one]))"


def objects(text):
    """The objects of a rendered text."""
    done = subprocess.run([find_python("yaml"), "-c", READ_YAML], input=text, check=True, text=True, stdout=subprocess.PIPE,
                          timeout=TOOL_SECONDS)
    return json.loads(done.stdout)


WORKLOADS = ("Deployment", "StatefulSet", "Job")


def workloads(found):
    return [one for one in found if one["kind"] in WORKLOADS]


def named(found, kind, name):
    [one] = [one for one in found if one["kind"] == kind and one["metadata"]["name"] == name]
    return one


def environment(found, workload):
    """The environment of a workload's first container, where what only a pod knows is '<its path>'."""
    container = workload["spec"]["template"]["spec"]["containers"][0]
    values = {}
    for source in container.get("envFrom", []):
        values.update(named(found, "ConfigMap", source["configMapRef"]["name"])["data"])
    for one in container.get("env", []):
        value = one["value"] if "value" in one else f"<{one['valueFrom']['fieldRef']['fieldPath']}>"
        for name, known in values.items():
            value = value.replace(f"$({name})", known)
        values[one["name"]] = value
    return values


def selects(selector, labels):
    """Whether a label selector has these labels. An empty one has all."""
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items()) and \
        not selector.get("matchExpressions")
