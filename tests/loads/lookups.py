#!/usr/bin/env python3
"""What a quiet tenant notices while another client floods the gateway with look-ups that find nothing.

    tools/with_postgres tests/loads/lookups.py [--length minute|short|full]

One gateway at default settings. The quiet tenant lists its sessions, one request after the other: alone; while another tenant
asks on 16 connections for steps that were never made, about 60 a second; the same as fast as the connections go; while 16
connections show keys that were never made, as fast as they go. `answered` are requests of the flood; `statements` are the
transactions that PostgreSQL committed.
"""

import http.client
import os
import secrets
import sys
import time
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import measures  # noqa: E402
from measures import Aside, Asker, sluice  # noqa: E402

CONNECTIONS = 16
# PostgreSQL's backends report what they did within a second or two once they are idle; a minute's rows say less than that.
STATISTICS_SECONDS = {"minute": 0, "short": 2, "full": 2}
SECONDS = {"minute": 1, "short": 15, "full": 120}
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


def _flood(address, request, status, pause=0):
    """Asks without end, on CONNECTIONS connections, and counts answers of this status. Any other ends its connection's part."""
    def ask(add):
        connection = http.client.HTTPConnection(address, timeout=sluice.REPLY_SECONDS)
        while True:
            path, key = request()
            connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
            reply = connection.getresponse()
            reply.read()
            if reply.status != status:
                break
            add()
            time.sleep(pause)
    return Aside(ask, copies=CONNECTIONS)


class Load:
    """A cluster of one worker, and what its database and a quiet tenant tell."""

    def __init__(self, cluster, statistics_seconds):
        self.cluster = cluster
        self._statistics_seconds = statistics_seconds
        self._asker = Asker(cluster.address, cluster.keys["quiet"])

    def commits(self):
        """Transactions so far. The reader's own connection counts too."""
        time.sleep(self._statistics_seconds)
        return int(self.cluster.ask("select xact_commit from pg_stat_database where datname = current_database()"))

    def latencies(self, seconds):
        return self._asker.ask_all({"list": ("GET", "/api/v1/sessions")}, seconds)["list"]


def _measure(report, load, case, seconds, flood=None):
    commits, since = load.commits(), time.monotonic()
    if flood is not None:
        flood.start()
        time.sleep(1)
    times = load.latencies(seconds)
    passed = time.monotonic() - since
    report.add_times(case, "quiet tenant's list", times)
    if flood is not None:
        report.add(case, "connections with another answer", CONNECTIONS - flood.going.value, "", 0, sure=True)
        flood.stop()
        report.add(case, "answered", flood.count.value / passed, "1/s")
    report.add(case, "statements", (load.commits() - commits) / passed, "1/s")


def run(report, length):
    seconds = SECONDS[length]
    with sluice.Cluster(threads=(1,), tenants={"quiet": {}, "noisy": {}}) as cluster:
        load = Load(cluster, STATISTICS_SECONDS[length])

        def step():
            return _unknown_step(), cluster.keys["noisy"]

        def key():
            return "/api/v1/sessions", _unknown_key()

        _measure(report, load, "nobody else", seconds)
        slow = _flood(cluster.address, step, 404, CONNECTIONS / 60)
        _measure(report, load, "60 unknown steps a second", seconds, slow)
        _measure(report, load, "unknown steps", seconds, _flood(cluster.address, step, 404))
        _measure(report, load, "unknown keys", seconds, _flood(cluster.address, key, 401))


if __name__ == "__main__":
    measures.main(run, __doc__)
