#!/usr/bin/env python3
"""The exchanges that README.md and docs/guide.md show are run as they stand, and are answered as they stand there. What pages
name is there: files, folders, operations.

A line `    $ command` is given to a shell; the indented lines below it are its answer, in which `…` stands for anything. Ids in
the answers are learnt: the first `ses_…` that a page shows is the first that the gateway gave out, and so on."""

import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402

ID = re.compile(r"\b(?:ses|grf|stp|prt)_[0-9a-f]{32}\b")
COMMAND_SECONDS = 300


def _exchanges(path):
    """The page's commands, each with the answer that is shown ('' when none is)."""
    exchanges = []
    is_open = False
    for line in open(path, encoding="utf-8").read().split("\n"):
        if line.startswith("    $ "):
            exchanges.append([line[6:], ""])
            is_open = True
        elif not line.startswith("    "):
            is_open = False
        elif is_open and exchanges[-1][0].endswith("\\"):
            exchanges[-1][0] = exchanges[-1][0][:-1] + line.strip()
        elif is_open:
            exchanges[-1][1] += line.strip()
    return exchanges


class Shell:
    """One shell for a page: variables that a line sets are there for the next."""

    def __init__(self, address):
        self._settings = f"SLUICE_URL=http://{address}"
        self._address = address
        self._lines = []
        self._ids = {}

    def _translate(self, text):
        out = os.environ.get("OUT", "build/release")
        text = text.replace("localhost:8470", self._address).replace("build/release/", out + "/")
        return ID.sub(lambda match: self._ids.get(match.group(), match.group()), text)

    def run(self, command):
        """The command's output. Assignments are kept, and made again before every later command."""
        command = self._translate(command)
        if re.fullmatch(r"(\w+=('[^']*'|\S+)\s*)+", command):
            self._lines.append(command)
            return ""
        script = "\n".join([f"export {self._settings}", *self._lines, command])
        done = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
        assert done.returncode == 0, f"{command}\nended with {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout

    def learn(self, shown, given):
        for wanted, actual in zip(ID.findall(shown), ID.findall(given)):
            self._ids.setdefault(wanted, actual)

    def check(self, shown, given):
        """The parts of the shown answer between its `…` stand in the given one, in this order."""
        at = 0
        for part in (self._translate(part).strip() for part in shown.split("…")):
            part = part.removeprefix("{ ").removesuffix(" }")
            found = given.find(part, at)
            assert found >= 0, f"the answer lacks '{part}':\n{given}"
            at = found + len(part)


def _run_page(path):
    with sluice.Cluster() as cluster:
        shell = Shell(cluster.address)
        exchanges = _exchanges(path)
        assert exchanges, f"{path} shows no command"
        for command, shown in exchanges:
            given = shell.run(command)
            shell.learn(shown, given)
            if shown:
                shell.check(shown, given)


def the_exchange_of_the_readme_is_answered_as_it_stands_there():
    _run_page("README.md")


def the_exchanges_of_the_guide_are_answered_as_they_stand_there():
    _run_page("docs/guide.md")


def _files():
    """The tree's files, without what builds and runs leave in it."""
    for folder, folders, names in os.walk("."):
        folders[:] = [name for name in folders if name not in ("build", "var") and (not name.startswith(".") or name == ".ci")]
        yield from (os.path.relpath(os.path.join(folder, name), ".") for name in names)


def every_file_and_folder_that_a_page_names_is_there():
    """`steps/step_call.c` may be told from any folder; a link is followed from the page that has it."""
    files = list(_files())
    pages = [name for name in files if name.endswith(".md") and "/data/" not in name]
    assert "README.md" in pages
    missing = []
    for page in pages:
        text = open(page, encoding="utf-8").read()
        for name in re.findall(r"`([\w./]+\.(?:c|h|py|sql|md|mk))`", text):
            if not any(file == name or file.endswith("/" + name) for file in files):
                missing.append(f"{page}: `{name}`")
        for link in re.findall(r"\]\((?!https?:)([^)#]+)", text):
            if not os.path.exists(os.path.join(os.path.dirname(page), link)):
                missing.append(f"{page}: ({link})")
    assert not missing, "\n".join(missing)


def every_operation_that_a_page_names_is_in_the_contract():
    """As `GET /api/v1/limits`, or `POST …/graphs/{graph}:plan` with the beginning of the path left out."""
    paths = json.load(open("openapi/openapi.json", encoding="utf-8"))["paths"]
    operations = [(method.upper(), path) for path, methods in paths.items() for method in methods]
    named = [(page, *match) for page in _files() if page.endswith(".md")
             for match in re.findall(r"`(GET|PUT|POST|DELETE|HEAD|PATCH) (…?/[^`? ]*)`", open(page, encoding="utf-8").read())]
    assert len(named) > 10, named
    missing = [f"{page}: `{method} {path}`" for page, method, path in named
               if not any(method == known and (whole == path or path[0] == "…" and whole.endswith(path[1:])) for known, whole in operations)]
    assert not missing, "\n".join(missing)


run_group([
    every_operation_that_a_page_names_is_in_the_contract,
    every_file_and_folder_that_a_page_names_is_there,
    the_exchange_of_the_readme_is_answered_as_it_stands_there,
    the_exchanges_of_the_guide_are_answered_as_they_stand_there,
])
