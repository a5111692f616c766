#!/usr/bin/env python3
"""What a quiet tenant notices while another client floods the gateway with look-ups that find nothing.

    tools/with_postgres tests/loads/lookups.py [SECONDS]

One gateway at default settings. The quiet tenant lists its sessions, one request after the other, for SECONDS (8) in each
case: alone; while another tenant asks on 16 connections for steps that were never made, about 60 a second; the same
as fast as the connections go; while 16 connections show keys that were never made, as fast as they go.

Prints rows: case, what, number, unit. `asked` is how many requests of the flood were answered, `statements` how many
transactions PostgreSQL committed, both a second.
"""

import http.client
import multiprocessing
import os
import secrets
import subprocess
import sys
import threading
import time
import zlib
from urllib.parse import urlsplit

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import sluice  # noqa: E402

CONNECTIONS = 16
STATISTICS_SECONDS = 2  # PostgreSQL's backends report what they did at least so often once they are idle
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _base62(count):
    return "".join(secrets.choice(DIGITS) for _ in range(count))


def _unknown_key():
    """A key of the right form (gateway/domain/api_key.h)."""
    text = f"slk_{_base62(12)}_{_base62(43)}_"
    check = zlib.crc32(text[:-1].encode())
    digits = ""
    for _ in range(6):
        digits = DIGITS[check % 62] + digits
        check //= 62
    return text + digits


def _unknown_step():
    """A step's id as if it had just been made: version 7, the time first."""
    number = int(time.time() * 1000) << 80 | 0x7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62)
    return f"/api/v1/sessions/ses_{0x0190 << 112 | 0x7 << 76 | 2 << 62:032x}/steps/stp_{number:032x}"


class Flood(multiprocessing.Process):
    """Requests of one kind on many connections, from a process of their own; `pause` is between two on each."""

    def __init__(self, address, request, pause):
        super().__init__()
        self.answers = multiprocessing.Value("L", 0)
        self._address, self._request, self._pause = address, request, pause
        self._end = multiprocessing.Event()

    def run(self):
        threads = [threading.Thread(target=self._ask, daemon=True) for _ in range(CONNECTIONS)]
        for thread in threads:
            thread.start()
        self._end.wait()
        os._exit(0)

    def _ask(self):
        connection = http.client.HTTPConnection(self._address, timeout=sluice.REPLY_SECONDS)
        while True:
            path, key = self._request()
            connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
            connection.getresponse().read()
            with self.answers.get_lock():
                self.answers.value += 1
            time.sleep(self._pause)

    def stop(self):
        self._end.set()
        self.join()


class Load:
    """`with Load() as load:` a database, a worker, a gateway, and two tenants."""

    def __enter__(self):
        if "PGHOST" not in os.environ:
            raise SystemExit("run under tools/with_postgres")
        self._database = f"lookups_{os.getpid()}"
        self._programs = []
        self.ask("postgres", f"create database {self._database} template template_app")
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for program in reversed(self._programs):
            program.stop()
        self.ask("postgres", f"drop database {self._database} with (force)")

    def ask(self, database, sql):
        command = ["psql", "-qXAt", "-d", database, "-c", sql]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def _start(self):
        place = ["--database", f"dbname={self._database}"]
        gateway = os.path.join(os.environ.get("OUT", "build/release"), "sluice-gateway")
        self.keys = {
            name: subprocess.run([gateway, "key", "create", *place, name], check=True, capture_output=True,
                                 text=True).stdout.strip()
            for name in ("quiet", "noisy")
        }
        self._programs.append(sluice.Program("sluice-worker", "--listen", "127.0.0.1:0", "--name", "w0"))
        worker = self._programs[0].address
        self._programs.append(sluice.Program("sluice-gateway", "--listen", "127.0.0.1:0", *place, "--workers", worker))
        self.address = urlsplit("//" + self._programs[-1].address).netloc

    def commits(self):
        """Transactions so far. The reader's own connection counts too."""
        time.sleep(STATISTICS_SECONDS)
        return int(self.ask("postgres", f"select xact_commit from pg_stat_database where datname = '{self._database}'"))

    def latencies(self, seconds):
        """Milliseconds of the quiet tenant's requests, sorted."""
        connection = http.client.HTTPConnection(self.address, timeout=sluice.REPLY_SECONDS)
        headers = {"Authorization": f"Bearer {self.keys['quiet']}"}
        taken = []
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            since = time.monotonic()
            connection.request("GET", "/api/v1/sessions", headers=headers)
            reply = connection.getresponse()
            reply.read()
            if reply.status != 200:
                raise SystemExit(f"the quiet tenant got {reply.status}")
            taken.append(1000 * (time.monotonic() - since))
            time.sleep(0.005)
        connection.close()
        return sorted(taken)


def _measure(load, case, seconds, flood):
    commits, since = load.commits(), time.monotonic()
    if flood is not None:
        flood.start()
        time.sleep(1)
    taken = load.latencies(seconds)
    if flood is not None:
        flood.stop()
    passed = time.monotonic() - since
    rows = [
        ("p50", taken[len(taken) // 2], "ms"),
        ("p99", taken[len(taken) * 99 // 100], "ms"),
        ("asked", flood.answers.value / passed if flood is not None else 0, "1/s"),
        ("statements", (load.commits() - commits) / passed, "1/s"),
    ]
    for what, number, unit in rows:
        print(f"{case}\t{what}\t{number:.1f}\t{unit}", flush=True)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 8
    with Load() as load:
        def step():
            return _unknown_step(), load.keys["noisy"]

        def key():
            return "/api/v1/sessions", _unknown_key()

        _measure(load, "nobody else", seconds, None)
        _measure(load, "60 unknown steps a second", seconds, Flood(load.address, step, CONNECTIONS / 60))
        _measure(load, "unknown steps", seconds, Flood(load.address, step, 0))
        _measure(load, "unknown keys", seconds, Flood(load.address, key, 0))


if __name__ == "__main__":
    main()
