#!/usr/bin/env python3
"""systemd as a supervisor: the units are well formed and well sealed, and the programs tell it when they serve and when they end."""

import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import Skipped, run_group  # noqa: E402  (before all else: it keeps Python from writing files)

OUT = os.path.abspath(os.environ.get("OUT", "build/release"))
UNITS = sorted(glob.glob("deploy/systemd/*.service"))
NEWS_SECONDS = 60
EXPOSURE_MAX = 25  # tenths, as systemd-analyze counts; a unit without any protection has 96


def analyze(*arguments):
    if shutil.which("systemd-analyze") is None:
        raise Skipped("no systemd-analyze")
    done = subprocess.run(["systemd-analyze", *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    assert done.returncode == 0, done.stdout
    return done.stdout


def units_are_well_formed():
    assert len(UNITS) == 2, UNITS
    with tempfile.TemporaryDirectory() as folder:
        for path in UNITS:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            copy = os.path.join(folder, os.path.basename(path))
            with open(copy, "w", encoding="utf-8") as file:
                file.write(text.replace("/usr/bin/sluice", os.path.join(OUT, "sluice")))
            assert text.count("/usr/bin/sluice") == 1, path
            assert analyze("--man=no", "verify", copy) == "", path


def units_are_well_sealed():
    for path in UNITS:
        analyze("security", "--offline=true", f"--threshold={EXPOSURE_MAX}", path)


def files_of_root_come_as_credentials():
    """A unit with a user of its own cannot read them where they lie. The worker's user is not the gateway's, whose secrets it could read."""
    users = {"deploy/systemd/sluice-gateway.service": "User=sluice", "deploy/systemd/sluice-worker.service": "DynamicUser=yes"}
    for path in UNITS:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        names = sorted(re.findall(r"%d/([\w.-]+)", "\n".join(lines)))
        loaded = sorted(line for line in lines if "/etc/" in line and not line.startswith("#"))
        assert users[path] in lines and loaded == [f"LoadCredential={name}:/etc/sluice/{name}" for name in names], path


def a_worker_reaches_its_card():
    """Settings that restrict devices without a word about it: systemd.exec(5) says it of both."""
    with open("deploy/systemd/sluice-worker.service", encoding="utf-8") as file:
        settings = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line and not line.startswith("#"))
    assert not settings.keys() & {"PrivateDevices", "ProtectClock", "DeviceAllow", "DevicePolicy"}, settings


def every_setting_is_one_of_the_program():
    for path in UNITS:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        program = os.path.join(OUT, re.search(r"ExecStart=/usr/bin/(\S+)", text).group(1))
        said = subprocess.run([program, "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout
        for name in re.findall(r"\bSLUICE_(\w+)=", text):
            assert f"--{name.lower().replace('_', '-')} " in said, (path, name)


def hears_of_a_worker(path):
    """The news that a worker sends to the socket of this path while it starts and ends."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind("\0" + path[1:] if path.startswith("@") else path)
        supervisor.settimeout(NEWS_SECONDS)
        with subprocess.Popen([os.path.join(OUT, "sluice-worker"), "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, env={**os.environ, "NOTIFY_SOCKET": path}) as worker:
            assert worker.stdout.readline().startswith(b"listening on ")
            news = [supervisor.recv(256).splitlines()[0]]
            worker.send_signal(signal.SIGTERM)
            news.append(supervisor.recv(256).splitlines()[0])
            assert worker.wait(NEWS_SECONDS) == 0
    return news


def a_supervisor_hears_when_a_program_serves_and_when_it_ends():
    with tempfile.TemporaryDirectory() as folder:
        for path in (os.path.join(folder, "notify"), f"@sluice-test-{os.getpid()}"):
            assert hears_of_a_worker(path) == [b"READY=1", b"STOPPING=1"], path


def a_supervisor_that_does_not_hear_hinders_nobody():
    for path in ("/nowhere/at/all", "@nobody-listens-there", "relative", "", "/" + "x" * 200):
        with subprocess.Popen([os.path.join(OUT, "sluice-worker"), "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, env={**os.environ, "NOTIFY_SOCKET": path}) as worker:
            assert worker.stdout.readline().startswith(b"listening on "), path
            worker.terminate()
            assert worker.wait(NEWS_SECONDS) == 0, path


if __name__ == "__main__":
    run_group([units_are_well_formed, units_are_well_sealed, files_of_root_come_as_credentials,
               a_worker_reaches_its_card, every_setting_is_one_of_the_program,
               a_supervisor_hears_when_a_program_serves_and_when_it_ends, a_supervisor_that_does_not_hear_hinders_nobody])
