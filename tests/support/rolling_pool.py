"""Gateways and workers at fixed addresses that an operator replaces one by one, and proxies in front of the gateways."""

import csv
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request

import sluice
from group import Skipped, await_that

GRACE = "30s"
END_SECONDS = 60  # of a program that was told to end
NGINX_PAUSE_SECONDS = 11  # behind a gateway's restart, until nginx uses it again

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
listen statistics
    bind {statistics}
    stats enable
    stats uri /
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


class Release:
    """A build of the programs: its folder (None: the one under test), and more settings of its gateways and workers."""

    def __init__(self, folder=None, gateway_settings=(), worker_settings=(), gateway_folder=None):
        self.folder = folder
        self.gateway_folder = gateway_folder or folder
        self.gateway_settings = gateway_settings
        self.worker_settings = worker_settings


THIS = Release()


def is_ready(address):
    try:
        with urllib.request.urlopen(f"http://{address}/readyz", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


class Pool:
    """`with Pool(database) as pool:` gateways and workers beside one database; each can be replaced by a new process."""

    def __init__(self, database, gateways=2, workers=3, gateway_release=THIS, worker_release=THIS, joins=False):
        """`joins`: workers join by themselves, and gateways are told of none."""
        addresses = sluice.take_addresses(gateways + workers)
        self.gateways, self.workers = addresses[:gateways], addresses[gateways:]
        self._database, self._joins = database, joins
        self._releases = {"gateway": gateway_release, "worker": worker_release}
        self._programs = {}
        self._ended = {}  # lives of workers that were told to end, by address
        self._logs = tempfile.TemporaryDirectory()

    def __enter__(self):
        try:
            for address in self.workers + self.gateways:
                self.start(address)
            for address in self.gateways:
                self.await_back(address)
            for address in self.workers:
                self.await_back(address)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for program in self._programs.values():
            if program.is_running():
                program.stop()
        self._logs.cleanup()

    def start(self, address, release=None):
        """Starts a program; without a release, that with which the pool began."""
        if address in self.workers:
            release = release or self._releases["worker"]
            urls = ",".join(f"http://{gateway}" for gateway in self.gateways)
            joins = ("--gateway", urls) if self._joins else ()
            name, folder, settings = "sluice-worker", release.folder, ("--name", self.name(address), *joins, *release.worker_settings)
        else:
            release = release or self._releases["gateway"]
            name, folder = "sluice-gateway", release.gateway_folder
            workers = () if self._joins else ("--workers", ",".join(self.workers))
            settings = ("--auth", "off", "--database", f"dbname={self._database}", *workers, "--drain-delay", "3s",
                        *release.gateway_settings)
        with open(self._log_path(address), "a", encoding="utf-8") as log:
            self._programs[address] = sluice.Program(name, "--listen", address, "--grace", GRACE, *settings, log=log, folder=folder)

    def name(self, worker):
        return f"w{self.workers.index(worker)}"

    def _log_path(self, address):
        return os.path.join(self._logs.name, address)

    def log(self, address):
        """What all processes at this address have logged."""
        with open(self._log_path(address), encoding="utf-8") as file:
            return file.read()

    def pid(self, address):
        return self._programs[address].pid

    def is_running(self, address):
        return self._programs[address].is_running()

    def _note_life(self, address):
        if address in self.workers:
            listed = [self.workers_of(gateway).get(address, {}) for gateway in self.gateways if is_ready(gateway)]
            self._ended[address] = {one.get("incarnation") for one in listed}

    def begin_end(self, address):
        self._note_life(address)
        os.kill(self.pid(address), 15)

    def await_end(self, address):
        """The exit code."""
        return self._programs[address].end_code(END_SECONDS)

    def kill(self, address):
        self._note_life(address)
        self._programs[address].kill()

    def workers_of(self, gateway):
        """The workers as this gateway lists them, by address."""
        client = sluice.Client(gateway)
        try:
            return {worker["address"]: worker for worker in client.send("GET", "/workers")["workers"]}
        finally:
            client.close()

    def _serves_everywhere(self, worker):
        listed = [self.workers_of(gateway).get(worker) for gateway in self.gateways]
        return all(one and one["state"] == "serving" and one["task"] >= 0 and
                   one["incarnation"] not in self._ended.get(worker, ()) for one in listed)

    def _knows_all(self, gateway):
        """A gateway is ready with one worker; steps that name tasks need them all."""
        listed = self.workers_of(gateway)
        running = [worker for worker in self.workers if self._programs[worker].is_running()]
        return all(listed.get(worker, {}).get("state") in ("serving", "refused") and listed[worker]["task"] >= 0 for worker in running)

    def await_back(self, address):
        """Every gateway has the worker, or the gateway is ready: an operator, too, waits for that before the next one goes."""
        if address in self.workers:
            await_that(lambda: self._serves_everywhere(address), f"the worker at {address} serves")
        else:
            await_that(lambda: is_ready(address), f"the gateway at {address} is ready")
            await_that(lambda: self._knows_all(address), f"the gateway at {address} knows all workers")

    def replace(self, address, release=None):
        self.begin_end(address)
        code = self.await_end(address)
        assert code == 0, f"{address} did not end in good order: {code}"
        self.start(address, release)
        self.await_back(address)

    def replace_all(self, front, release=None):
        """A rolling restart behind a proxy: workers, then gateways."""
        for worker in self.workers:
            self.replace(worker, release)
        for gateway in self.gateways:
            front.await_use_of_all()
            self.replace(gateway, release)
            front.note_back()


class Proxy:
    """`with Proxy("haproxy", gateways) as front:` a proxy at `front.address`; "nginx" is the other one."""

    def __init__(self, kind, gateways):
        if shutil.which(kind) is None:
            raise Skipped(f"no {kind}")
        self._kind, self._gateways = kind, gateways
        self.address, self._statistics = sluice.take_addresses(2)
        self._folder = tempfile.TemporaryDirectory()
        self._back = time.monotonic() - NGINX_PAUSE_SECONDS  # when the last gateway came back

    def note_back(self):
        """A gateway has come back."""
        self._back = time.monotonic()

    def _command(self):
        folder = self._folder.name
        if self._kind == "haproxy":
            servers = "\n".join(f"    server {address} {address}" for address in self._gateways)
            text, command = HAPROXY, ["haproxy", "-q", "-db", "-f"]
        else:
            servers = "\n".join(f"        server {address};" for address in self._gateways)
            text, command = NGINX, ["nginx", "-p", folder, "-e", f"{folder}/error.log", "-c"]
        path = os.path.join(folder, "config")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.format(listen=self.address, statistics=self._statistics, servers=servers, folder=folder))
        return [*command, path]

    def __enter__(self):
        self._running = subprocess.Popen(self._command(), stderr=subprocess.DEVNULL)
        try:
            await_that(lambda: is_ready(self.address), f"{self._kind} has a gateway")
            if self._kind == "haproxy":
                self.await_use_of_all()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._running.terminate()
        self._running.wait()
        self._folder.cleanup()

    def _has_up(self, gateway):
        with urllib.request.urlopen(f"http://{self._statistics}/;csv", timeout=5) as answer:
            rows = list(csv.DictReader(answer.read().decode().splitlines()))
        return any(row["svname"] == gateway and row["status"].startswith("UP") for row in rows)

    def await_use_of_all(self):
        """The proxy sends requests to gateways that came back: an operator waits for that before the next one goes."""
        if self._kind == "haproxy":
            await_that(lambda: all(self._has_up(gateway) for gateway in self._gateways), "haproxy uses all gateways")
        else:
            time.sleep(max(0, self._back + NGINX_PAUSE_SECONDS - time.monotonic()))
