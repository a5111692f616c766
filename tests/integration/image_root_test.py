#!/usr/bin/env python3
"""tools/image_root: gateway and worker run from the roots of their images as Kubernetes starts them: process 1 on a read-only
root, a user without capabilities who can gain none; SIGTERM drains them."""

import atexit
import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import Skipped, await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
from long_step import counting, counting_to  # noqa: E402
from sluice import Client, Database, Refused, take_addresses  # noqa: E402
from worker_page import metric  # noqa: E402

OUT = os.environ.get("OUT", "build/release")
USER = 65532
SIZE_MAX = 80 << 20  # compressed, of one image
TOKEN = "a token that nobody guesses"
END_SECONDS = 60
STEP_TURNS = 500_000  # of a loop; half a second on a free core

# Runs as root in name spaces of mounts and processes of its own: mounts what an engine mounts, then becomes the program.
# 24: PR_CAPBSET_DROP, 38: PR_SET_NO_NEW_PRIVS.
BECOME = """
import ctypes, os, subprocess, sys
root, given, user = sys.argv[1], sys.argv[2], int(sys.argv[3])
mount = lambda *arguments: subprocess.run(["mount", *arguments], check=True)
mount("--bind", root, root)
mount("-o", "remount,bind,ro", root)
mount("-t", "proc", "proc", root + "/proc")
mount("-t", "tmpfs", "tmpfs", root + "/tmp")
os.mkdir(root + "/tmp/given")
mount("--bind", given, root + "/tmp/given")
database = "/.s.PGSQL.5432"
open(root + "/tmp" + database, "x").close()
mount("--bind", os.environ["PGHOST"] + database, root + "/tmp" + database)
os.chroot(root)
os.chdir("/")
prctl = ctypes.CDLL(None).prctl
for capability in range(64):
    prctl(24, capability, 0, 0, 0)
os.setgroups([])
os.setgid(user)
os.setuid(user)
prctl(38, 1, 0, 0, 0)
os.execve(sys.argv[4], sys.argv[4:], {"PGSERVICEFILE": "/tmp/given/service.conf"})
"""


@functools.cache
def root_of(program, with_cuda=False):
    folder = tempfile.mkdtemp(prefix="sluice-image.")
    atexit.register(shutil.rmtree, folder, True)
    os.chmod(folder, 0o755)
    path = os.path.join(folder, "root")
    subprocess.run(["tools/image_root", program, path], check=True, env={**os.environ, "BIN": OUT, "CUDA": "1" if with_cuda else ""})
    return path


@contextlib.contextmanager
def given():
    """A folder that the containers see as /tmp/given, with the token and the pepper."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        for name, content in (("token", TOKEN), ("pepper", "a pepper")):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(content + "\n")
        yield folder


def may_contain():
    """Mounts are made in a name space of their own only by root, and where / is a mount: not so in a plain chroot."""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        has_root = any(line.split()[4] == "/" for line in file)
    if os.geteuid() != 0 or not has_root:
        raise Skipped("no right to mount, or / is no mount")


class Container:
    """A program as process 1 of its image's root."""

    def __init__(self, program, folder, *arguments, with_cuda=False):
        may_contain()
        errors = None if os.environ.get("TEST_VERBOSE") else subprocess.DEVNULL
        self._process = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", sys.executable, "-c", BECOME, root_of(program, with_cuda), folder,
             str(USER), f"/usr/bin/{program}", *arguments], stdout=subprocess.PIPE, stderr=errors, text=True)
        line = self._process.stdout.readline()
        assert line.startswith("listening on "), line
        self.address = line.removeprefix("listening on ").strip()
        with open(f"/proc/{self._process.pid}/task/{self._process.pid}/children", encoding="ascii") as file:
            self.pid = int(file.read())

    def status(self, name):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            return next(line.split()[1:] for line in file if line.startswith(name + ":"))

    def run(self, *command):
        """The exit code of a command in the container, as an engine's `exec` runs it."""
        return subprocess.run(["nsenter", "--mount", "--pid", f"--root=/proc/{self.pid}/root", "-t", str(self.pid),
                               f"--setuid={USER}", f"--setgid={USER}", *command], timeout=END_SECONDS,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode

    def terminate(self):
        os.kill(self.pid, 15)

    def end_code(self):
        return self._process.wait(END_SECONDS)

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, 9)  # with process 1 all of its name space ends
        self._process.wait()
        self._process.stdout.close()


def worker(folder):
    return Container("sluice-worker", folder, "--listen", take_addresses(1)[0], "--name", "contained", "--token-file", "/tmp/given/token",
                     "--grace", f"{END_SECONDS}s")


def a_worker_is_process_1_and_can_gain_nothing():
    with given() as folder, worker(folder) as one:
        assert one.status("NSpid")[-1] == "1"
        assert set(one.status("Uid") + one.status("Gid")) == {str(USER)}
        for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            assert int(one.status(kind)[0], 16) == 0, kind
        assert one.status("NoNewPrivs") == ["1"]


def its_probe_tells_that_it_serves():
    probe = ("/usr/bin/sluice-worker", "probe", "--token-file", "/tmp/given/token")
    with given() as folder, worker(folder) as one:
        assert one.run(*probe, "--listen", one.address) == 0
        assert one.run(*probe[:2], "--listen", one.address) == 1, "it answers without a token"
        assert one.run(*probe, "--listen", take_addresses(1)[0]) == 1, "it answers where nobody listens"


def a_worker_with_the_plugin_serves_where_no_card_is():
    if not os.path.exists(os.path.join(OUT, "sluice-cuda.so")):
        raise Skipped("no CUDA toolkit")
    assert os.path.exists(os.path.join(root_of("sluice-worker", True), "usr/lib/sluice/sluice-cuda.so"))
    with given() as folder, Container("sluice-worker", folder, "--listen", take_addresses(1)[0], "--name", "contained", "--token-file",
                                      "/tmp/given/token", with_cuda=True) as one:
        assert one.run("/usr/bin/sluice-worker", "probe", "--token-file", "/tmp/given/token", "--listen", one.address) == 0
        one.terminate()
        assert one.end_code() == 0


def an_image_is_small_and_says_what_is_in_it():
    for program, library in (("sluice-gateway", "libpq5"), ("sluice-worker", "libdnnl2")):
        root = root_of(program)
        packed = subprocess.run(["sh", "-c", 'tar -C "$0" -c . | gzip -1 | wc -c', root], check=True, stdout=subprocess.PIPE).stdout
        assert int(packed) < SIZE_MAX, (program, packed)
        with open(os.path.join(root, "usr/share/doc/sluice/sbom.spdx.json"), encoding="utf-8") as file:
            names = {package["name"] for package in json.load(file)["packages"]}
        assert {program, library, "libc6", "ca-certificates"} <= names, names
        for name in names - {program}:
            assert os.path.getsize(os.path.join(root, "usr/share/doc", name, "copyright")) > 0


def gateway(folder, name, workers):
    with open(os.path.join(folder, "service.conf"), "w", encoding="utf-8") as file:
        file.write(f"[sluice]\nhost=/tmp\ndbname={name}\n")
    return Container("sluice-gateway", folder, "--listen", "127.0.0.1:0", "--auth", "off", "--database", "service=sluice",
                     "--workers", workers, "--worker-token-file", "/tmp/given/token", "--pepper-file", "/tmp/given/pepper",
                     "--drain-delay", "0s", "--grace", f"{END_SECONDS}s")


def step(address, session, count, answers):
    client = Client(address)
    try:
        answers.append(client.step(session, counting_to(count)))
    except Refused as refused:
        answers.append(refused)
    client.close()


def begin_step(address, session, worker_of_it):
    """A step that runs: its thread, its answers to come, and what it counts to; longer ones until one is seen to run."""
    count = STEP_TURNS
    while True:
        answers = []
        thread = threading.Thread(target=step, args=(address, session, count, answers))
        thread.start()
        while thread.is_alive():
            if metric(worker_of_it, "sluice_worker_running", TOKEN) > 0:
                return thread, answers, count
        count *= 2


def sigterm_drains_both():
    """A step that runs when both are told to end is answered; then both end in good order."""
    with given() as folder, Database() as database, worker(folder) as one, gateway(folder, database.name, one.address) as door:
        client = Client(door.address)
        await_that(lambda: [each for each in client.send("GET", "/workers")["workers"] if each["state"] == "serving"], "a worker serves")
        session = client.session(slots=1)
        client.graph(session, counting())
        running, answers, count = begin_step(door.address, session, one)
        client.close()
        one.terminate()
        door.terminate()
        running.join(END_SECONDS)
        assert [answer["outputs"]["reached"]["data"] for answer in answers] == [[count]], answers
        assert (one.end_code(), door.end_code()) == (0, 0)


if __name__ == "__main__":
    run_group([a_worker_is_process_1_and_can_gain_nothing, its_probe_tells_that_it_serves, sigterm_drains_both,
               a_worker_with_the_plugin_serves_where_no_card_is, an_image_is_small_and_says_what_is_in_it])
