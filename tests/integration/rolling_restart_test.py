#!/usr/bin/env python3
"""Everything is restarted, one program after the other, under load, behind a proxy that tries nothing twice: no request fails and
every queued step ends once, succeeded. ROLLS says how often everything is restarted (1; `make deploy-test`: 10)."""

import contextlib
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import Skipped, await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402

ROLLS = int(os.environ.get("ROLLS", "1"))
RATE = int(os.environ.get("RATE", "50"))  # requests a second
CALLERS = 8
GATEWAYS, WORKERS = 2, 3
GRACE = "30s"
REQUEST = {"feeds": {"x": [[1, 2, 3, 4]]}, "fetches": ["probabilities"]}
SETTLE_SECONDS = 60
QUEUED_EVERY = 10  # of the requests
PAUSE_SECONDS = {"haproxy": 0, "nginx": 11}  # behind a gateway's restart, until the proxy uses it again

HAPROXY = """
defaults
    mode http
    retries 0
    timeout connect 2s
    timeout client 120s
    timeout server 120s
listen sluice
    bind {listen}
    option httpchk GET /readyz
    default-server check inter 500ms fall 1 rise 1
{servers}
"""

# nginx's defaults: a server that refuses a connection is tried no more for ten seconds, and the next gets the request.
NGINX = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream sluice {{
{servers}
    }}
    server {{
        listen {listen};
        location / {{ proxy_pass http://sluice; }}
    }}
}}
"""


class Pool:
    """Gateways and workers at fixed addresses, beside one database; each can be replaced by a new process."""

    def __init__(self, database):
        addresses = sluice.take_addresses(GATEWAYS + WORKERS)
        self.gateways, self.workers = addresses[:GATEWAYS], addresses[GATEWAYS:]
        self._database = database
        self._programs = {}
        for address in self.workers + self.gateways:
            self._start(address)
        for address in self.gateways:
            self._await_ready(address)

    def _start(self, address):
        if address in self.workers:
            arguments = ["sluice-worker", "--listen", address, "--name", f"w{self.workers.index(address)}"]
        else:
            arguments = ["sluice-gateway", "--listen", address, "--auth", "off", "--database", f"dbname={self._database}",
                         "--workers", ",".join(self.workers), "--drain-delay", "3s"]
        self._programs[address] = sluice.Program(*arguments, "--grace", GRACE)

    @staticmethod
    def _is_ready(address):
        try:
            with urllib.request.urlopen(f"http://{address}/readyz", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def _await_ready(self, address):
        await_that(lambda: self._is_ready(address), f"the gateway at {address} is ready")

    def _await_serving(self, address):
        """Every gateway has the worker: an operator, too, waits for that before the next one goes."""
        for gateway in self.gateways:
            client = sluice.Client(gateway)
            await_that(lambda: any(worker["address"] == address and worker["state"] == "serving"
                                   for worker in client.send("GET", "/workers")["workers"]), f"{address} serves")
            client.close()

    def replace(self, address):
        program = self._programs[address]
        os.kill(program.pid, 15)
        assert program.end_code(SETTLE_SECONDS) == 0, f"{address} did not end in good order"
        self._start(address)
        if address in self.workers:
            self._await_serving(address)
        else:
            self._await_ready(address)

    def close(self):
        for program in self._programs.values():
            program.stop()


@contextlib.contextmanager
def proxy(kind, gateways):
    """The address of a proxy in front of the gateways."""
    if shutil.which(kind) is None:
        raise Skipped(f"no {kind}")
    [listen] = sluice.take_addresses(1)
    with tempfile.TemporaryDirectory() as folder:
        if kind == "haproxy":
            servers = "\n".join(f"    server g{index} {address}" for index, address in enumerate(gateways))
            text, command = HAPROXY, ["haproxy", "-q", "-db", "-f"]
        else:
            servers = "\n".join(f"        server {address};" for address in gateways)
            text, command = NGINX, ["nginx", "-p", folder, "-e", f"{folder}/error.log", "-c"]
        path = os.path.join(folder, "config")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.format(listen=listen, servers=servers, folder=folder))
        running = subprocess.Popen([*command, path], stderr=subprocess.DEVNULL)
        try:
            await_that(lambda: Pool._is_ready(listen), f"{kind} has a gateway")
            yield listen
        finally:
            running.terminate()
            running.wait()


class Load:
    """Callers that send steps at a rate, until they are stopped: most are waited for, some are queued."""

    def __init__(self, address, session):
        self._address, self._session = address, session
        self._turns = itertools.count()
        self._begun = time.monotonic()
        self._is_over = threading.Event()
        self.sent, self.failures, self.queued = 0, [], []
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._call) for _ in range(CALLERS)]
        for thread in self._threads:
            thread.start()

    def _send(self, client, turn):
        is_queued = turn % QUEUED_EVERY == 0
        try:
            step = client.step(self._session, REQUEST, prefer="respond-async" if is_queued else None)
            failure = None if is_queued or step["state"] == "succeeded" else step
        except Exception as error:  # pylint: disable=broad-except
            step, failure = None, repr(error)
        with self._lock:
            self.sent += 1
            if failure is not None:
                self.failures.append((round(time.monotonic() - self._begun, 2), failure))
            elif is_queued:
                self.queued.append(step["id"])

    def _call(self):
        client = sluice.Client(self._address)
        while not self._is_over.is_set():
            turn = next(self._turns)
            self._is_over.wait(max(0, self._begun + turn / RATE - time.monotonic()))
            self._send(client, turn)
        client.close()

    def stop(self):
        self._is_over.set()
        for thread in self._threads:
            thread.join()


def restart_everything_behind(kind):
    with sluice.Database() as database:
        pool = Pool(database.name)
        try:
            with proxy(kind, pool.gateways) as address:
                client = sluice.Client(address)
                session = client.session()
                with open("deploy/examples/two_layers.json", "rb") as file:
                    client.graph(session, file.read())
                client.step(session, REQUEST)
                load = Load(address, session)
                try:
                    for _ in range(ROLLS):
                        for one in pool.workers + pool.gateways:
                            pool.replace(one)
                            time.sleep(PAUSE_SECONDS[kind] if one in pool.gateways else 0)
                finally:
                    load.stop()
                assert not load.failures, f"{len(load.failures)} of {load.sent} failed: {load.failures[:5]}"
                for step in load.queued:
                    await_that(lambda: client.send("GET", f"/sessions/{session}/steps/{step}")["state"] == "succeeded", f"{step} has succeeded")
                print(f"{kind}: {load.sent} requests, {len(load.queued)} of them queued, {ROLLS * (GATEWAYS + WORKERS)} restarts, 0 failed")
                client.close()
        finally:
            pool.close()


def nothing_fails_behind_haproxy_without_retries():
    restart_everything_behind("haproxy")


def nothing_fails_behind_nginx_as_it_comes():
    restart_everything_behind("nginx")


if __name__ == "__main__":
    run_group([nothing_fails_behind_haproxy_without_retries, nothing_fails_behind_nginx_as_it_comes])
