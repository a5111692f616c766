"""Tests written in Python, printed as cmocka prints its own, so that tools/run_tests counts them."""

import signal
import sys
import time
import traceback

PATIENCE_SECONDS = 60

sys.dont_write_bytecode = True


class Skipped(Exception):
    """What a test raises when the machine lacks what it needs; says what."""


def run_group(tests):
    """Runs each function; its name is the sentence. Ends the program. A test that is broken off by SIGTERM, as tools/run_tests does
    when its time is over, still ends its `with` blocks: servers, folders, file systems."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    failed = 0
    for test in tests:
        name = test.__name__
        print(f"[ RUN      ] {name}", flush=True)
        try:
            test()
            print(f"[       OK ] {name}", flush=True)
        except Skipped as reason:
            print(f"skipped: {reason}\n[       OK ] {name}", flush=True)
        except Exception:  # pylint: disable=broad-except
            traceback.print_exc(file=sys.stdout)
            print(f"[  FAILED  ] {name}", flush=True)
            failed += 1
    raise SystemExit(1 if failed else 0)


def await_that(function, what, seconds=PATIENCE_SECONDS):
    """Asks again and again until the answer is true, and returns it."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = function()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s: {what}")


def expect_raises(kind, text, function, *arguments):
    """The function raises an exception of this kind whose message is `text`."""
    try:
        function(*arguments)
    except kind as error:
        assert str(error) == text, f"said '{error}', expected '{text}'"
        return
    raise AssertionError(f"did not raise {kind.__name__}: {text}")
