#!/usr/bin/env python3
"""The commands of deploy/README.md, as far as they go without a cluster: Secrets are made as the objects name them, folders and charts
render, and what a command names is among the objects."""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import kubernetes  # noqa: E402
import sluice  # noqa: E402

README = "deploy/README.md"
KINDS = {"deployment": "Deployment", "deploy": "Deployment", "statefulset": "StatefulSet", "job": "Job"}
KUBECTL = {"apply", "create", "delete", "exec", "rollout", "scale", "wait"}
FILES = ("service.conf", "worker-token", "pepper", "migrate.conf")


def commands(program):
    """The arguments of each command of this program that the README shows."""
    with open(README, encoding="utf-8") as file:
        lines = re.findall(rf"^    (?:\$ )?({program} .*)$", file.read(), re.MULTILINE)
    return [shlex.split(line, comments=True)[1:] for line in lines]


def made_secrets():
    """The keys of each Secret that the README has an operator make, by its name."""
    made = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in FILES:
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write("text\n")
        kubectl = os.path.abspath(kubernetes.find_tool("kubectl"))
        for arguments in commands("kubectl"):
            if "secret" in arguments:
                done = subprocess.run([kubectl, *arguments, "--dry-run=client", "--output=json"], cwd=folder, check=True, text=True,
                                      stdout=subprocess.PIPE, timeout=kubernetes.TOOL_SECONDS)
                secret = json.loads(done.stdout)
                assert secret["metadata"]["namespace"] == "sluice", arguments
                made[secret["metadata"]["name"]] = set(secret["data"])
    return made


def named_secrets(found):
    """The keys of each Secret that a workload's settings or a scaler read."""
    named = {}
    for workload in kubernetes.workloads(found):
        names = [volume["secret"]["secretName"] for volume in workload["spec"]["template"]["spec"]["volumes"] if "secret" in volume]
        for name in names:
            values = kubernetes.environment(found, workload).values()
            named.setdefault(name, set()).update(value.removeprefix("/etc/sluice/") for value in values if value.startswith("/etc/sluice/"))
    for one in found:
        for reference in one.get("spec", {}).get("secretTargetRef", []):
            named.setdefault(reference["name"], set()).add(reference["key"])
    return named


def the_secrets_that_are_made_are_those_that_are_read():
    assert made_secrets() == named_secrets(kubernetes.objects(kubernetes.combination("keda")))


def what_a_command_names_is_there():
    found = kubernetes.objects(kubernetes.overlay("prod"))
    seen = set()
    for arguments in commands("kubectl"):
        verb = next(word for word in arguments if word in KUBECTL)
        seen.add(verb)
        if "-k" in arguments:
            assert kubernetes.kustomize(arguments[arguments.index("-k") + 1])
        if "-f" in arguments:
            assert os.path.exists(arguments[arguments.index("-f") + 1]), arguments
        for kind, name in re.findall(r"\b(deployment|deploy|statefulset|job)[/ ](sluice-[a-z]+)", " ".join(arguments)):
            assert kubernetes.named(found, KINDS[kind], name)
    assert seen == KUBECTL, seen


def the_command_that_makes_a_key_makes_one():
    """As in the pod: the database is told by the environment."""
    [arguments] = [one for one in commands("kubectl") if "exec" in one]
    program, *words = arguments[arguments.index("--") + 1:]
    with sluice.Database() as database:
        path = os.path.join(os.environ.get("OUT", "build/release"), os.path.basename(program))
        done = subprocess.run([path, *words], env={**os.environ, "SLUICE_DATABASE": f"dbname={database.name}"}, check=True, text=True,
                              stdout=subprocess.PIPE, timeout=kubernetes.TOOL_SECONDS)
    assert re.fullmatch(r"slk_\S+\n", done.stdout), done.stdout


def the_chart_takes_what_a_command_sets():
    verbs = set()
    for arguments in commands("helm"):
        verbs.add(arguments[0])
        assert arguments[1:3] == ["sluice", kubernetes.CHART], arguments
        values = [arguments[place + 1].split("=") for place, word in enumerate(arguments) if word == "--set"]
        text = kubernetes.chart("".join(f"{name}: {json.dumps(value)}\n" for name, value in values))
        assert all(value in text for _, value in values), arguments
    assert verbs == {"install", "upgrade"}, verbs


if __name__ == "__main__":
    run_group([the_secrets_that_are_made_are_those_that_are_read, what_a_command_names_is_there,
               the_command_that_makes_a_key_makes_one, the_chart_takes_what_a_command_sets])
