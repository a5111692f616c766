#!/usr/bin/env python3
"""tests/DEFECTS.md names tests that exist."""

import os
import re
import sys
from pathlib import Path

TESTS = Path(os.path.abspath(__file__)).parent.parent
sys.path.insert(0, str(TESTS / "support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)

DEFINITION = re.compile(r"^(?:def )?([a-z0-9_]+)\((?:void \*\*state)?\)", re.MULTILINE)


def _defined():
    files = [*TESTS.rglob("*_test.c"), *TESTS.rglob("*_test.py")]
    return {name for file in files for name in DEFINITION.findall(file.read_text())}


def _named():
    rows = [line for line in (TESTS / "DEFECTS.md").read_text().splitlines() if line.startswith("| ")]
    return [name for row in rows for name in re.findall(r"`([a-z0-9_]+)`", row.split("|")[3])]


def every_test_that_is_named_exists():
    named = _named()
    missing = sorted(set(named) - _defined())
    assert len(named) >= 20 and not missing, missing


if __name__ == "__main__":
    run_group([every_test_that_is_named_exists])
