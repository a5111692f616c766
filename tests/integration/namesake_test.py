#!/usr/bin/env python3
"""Two workers of one name: the second gets no steps, which its own log says and the gateway's."""

import contextlib
import json
import os
import signal
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402


def _find_line(log, message):
    """The log's line with this message; None when it is not there yet."""
    with open(log.name, encoding="utf-8") as file:
        lines = (json.loads(line) for line in file if line.endswith("}\n"))
        return next((line for line in lines if line["message"] == message), None)


def _list_addresses(gateway):
    client = sluice.Client(gateway.address)
    addresses = [worker["address"] for worker in client.send("GET", "/workers")["workers"]]
    client.close()
    return addresses


def both_logs_say_that_a_name_is_taken():
    with contextlib.ExitStack() as stack:
        of_gateway, of_second = (stack.enter_context(tempfile.NamedTemporaryFile("w")) for _ in range(2))
        cluster = stack.enter_context(sluice.Cluster(threads=(1,)))
        first = cluster.workers[0].address
        second = sluice.Program("sluice-worker", "--listen", "127.0.0.1:0", "--name", "w0", "--threads", "1", log=of_second)
        stack.callback(second.stop)
        os.kill(second.pid, signal.SIGSTOP)  # it answers second
        gateway = sluice.Program("sluice-gateway", "--listen", "127.0.0.1:0", "--auth", "off", "--database",
                                 f"dbname={cluster.database.name}", "--workers", f"{first},{second.address}", log=of_gateway)
        stack.callback(gateway.stop)
        await_that(lambda: _list_addresses(gateway) == [first], "the gateway knows the first worker")
        os.kill(second.pid, signal.SIGCONT)
        told = await_that(lambda: _find_line(of_gateway, "two workers have one name, the second gets no steps"), "the gateway's log says it")
        assert (told["level"], told["name"], told["first"], told["second"]) == ("error", "w0", first, second.address), told
        told = await_that(lambda: _find_line(of_second, "another worker has the name of this one, which gets no steps"), "its own log says it")
        assert (told["level"], told["name"], told["other"]) == ("error", "w0", first), told
        assert _list_addresses(gateway) == [first]


if __name__ == "__main__":
    run_group([both_logs_say_that_a_name_is_taken])
