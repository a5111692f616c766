#!/usr/bin/env python3
"""The tests that docs/tensorflow_defects.md names exist, and are run."""

import os
import re
import sys
from pathlib import Path

TESTS = Path(os.path.abspath(__file__)).parent.parent
sys.path.insert(0, str(TESTS / "support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)

DEFINITION = re.compile(r"^(?:def )?([a-z0-9_]+)\((?:void \*\*state)?\)", re.MULTILINE)


def _run_by(text):
    """The tests that this file defines and mentions once more: in the list that is run."""
    words = re.findall(r"\w+", text)
    return {name for name in DEFINITION.findall(text) if words.count(name) >= 2}


def _run():
    files = [*TESTS.rglob("*_test.c"), *TESTS.rglob("*_test.py")]
    return set().union(*(_run_by(file.read_text()) for file in files))


def _named():
    rows = [line for line in (TESTS.parent / "docs/tensorflow_defects.md").read_text().splitlines() if line.startswith("| ")]
    return [name for row in rows for name in re.findall(r"`([a-z0-9_]+)`", row.split("|")[3])]


def every_test_that_is_named_is_run():
    named = _named()
    missing = sorted(set(named) - _run())
    assert len(named) >= 20 and not missing, missing


if __name__ == "__main__":
    run_group([every_test_that_is_named_is_run])
