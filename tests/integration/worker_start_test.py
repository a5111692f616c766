#!/usr/bin/env python3
"""Where a worker starts: one that asks nobody for a token listens on loopback addresses alone, since whoever reaches it
may run anything, and drop the variables of all sessions."""

import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)

WORKER = os.path.join(os.environ.get("OUT", "build/release"), "sluice-worker")
END_SECONDS = 60


def refusal(*arguments):
    """What a worker says that ends by itself; None for one that listens, which is ended."""
    with subprocess.Popen([WORKER, *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as worker:
        if worker.stdout.readline().startswith("listening on "):
            worker.terminate()
            worker.communicate(timeout=END_SECONDS)
            return None
        _, errors = worker.communicate(timeout=END_SECONDS)
        assert worker.returncode != 0
        return errors


def a_worker_without_a_token_listens_on_loopback_alone():
    for address in ("0.0.0.0:0", "[::]:0", "example.test:0"):
        said = refusal("--listen", address)
        assert said is not None, f"it listens on {address}"
        assert f"a worker without --token-file is refused on '{address}': it is no loopback address" in said, said
    assert refusal("--listen", "127.0.0.1:0") is None


def with_a_token_it_listens_anywhere():
    with tempfile.NamedTemporaryFile("w") as token:
        token.write("a token that nobody guesses\n")
        token.flush()
        assert refusal("--listen", "0.0.0.0:0", "--token-file", token.name) is None


def probe(*arguments):
    """The exit code of `sluice-worker probe` and what it says."""
    done = subprocess.run([WORKER, "probe", *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=END_SECONDS)
    return done.returncode, done.stdout


def a_probe_tells_whether_a_worker_serves():
    with tempfile.NamedTemporaryFile("w") as token:
        token.write("a token that nobody guesses\n")
        token.flush()
        told = ("--token-file", token.name)
        with subprocess.Popen([WORKER, "--listen", "0.0.0.0:0", "--name", "probed", *told], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as worker:
            address = worker.stdout.readline().removeprefix("listening on ").strip()
            assert probe("--listen", address, *told) == (0, "worker 'probed' is serving\n")
            code, said = probe("--listen", address)
            assert code == 1 and "answers 401: it wants another token" in said, said
            os.kill(worker.pid, signal.SIGSTOP)
            code, said = probe("--listen", address, *told)
            assert code == 1 and "did not answer in time" in said, said
            os.kill(worker.pid, signal.SIGCONT)
            worker.terminate()
        code, said = probe("--listen", address, *told)
        assert code == 1 and address in said, said
    code, said = probe("--listen", "127.0.0.1:0")
    assert code == 78 and "the port of a worker on '127.0.0.1:0' is not known" in said, said


if __name__ == "__main__":
    run_group([a_worker_without_a_token_listens_on_loopback_alone, with_a_token_it_listens_anywhere,
               a_probe_tells_whether_a_worker_serves])
