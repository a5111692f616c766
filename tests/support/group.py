"""Tests written in Python, printed as cmocka prints its own, so that tools/run_tests counts them."""

import sys
import traceback

sys.dont_write_bytecode = True


class Skipped(Exception):
    """What a test raises when the machine lacks what it needs; says what."""


def run_group(tests):
    """Runs each function; its name is the sentence. Ends the program."""
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


def expect_raises(kind, text, function, *arguments):
    """The function raises an exception of this kind whose message is `text`."""
    try:
        function(*arguments)
    except kind as error:
        assert str(error) == text, f"said '{error}', expected '{text}'"
        return
    raise AssertionError(f"did not raise {kind.__name__}: {text}")
