"""A whole Sluice for test drivers written in Python: workers and a gateway as processes on loopback, and a client that
keeps its connection. Runs under tools/with_postgres; needs nothing but the standard library.

Threads: a Cluster belongs to one thread; every thread has a Client of its own.
"""

import http.client
import json
import os
import random
import socket
import subprocess
import tempfile
import time

START_SECONDS = 60
STOP_SECONDS = 60
LASTING_PORTS = (20000, 32000)
REPLY_SECONDS = 120
IDLE_SECONDS = 30  # the gateway closes connections that were idle for twice as long


class Refused(Exception):
    """A reply that is no success: its status and the sentence of its problem document."""

    def __init__(self, status, body):
        self.status = status
        self.code, self.detail = self._read(body)
        super().__init__(f"{self.code}: {self.detail}")

    @staticmethod
    def _read(body):
        try:
            problem = json.loads(body)
            details = [f"{error.get('pointer', '')} {error['detail']}" for error in problem.get("errors", [])]
            return problem.get("code", "?"), "; ".join([problem.get("detail", "")] + details)
        except (ValueError, AttributeError):
            return "?", body[:200].decode("utf-8", "replace")


class Client:
    """Requests under /api/v1 of one gateway, on one kept connection. `key`: of the tenant who asks, if there are keys."""

    def __init__(self, address, key=None):
        self._connection = http.client.HTTPConnection(address, timeout=REPLY_SECONDS)
        self._key = key
        self._used = time.monotonic()

    def send(self, method, path, body=None, content_type="application/json", accept=None, length=None, prefer=None,
             once=None):
        """The reply's document (None when it has no body), or its bytes when it is no JSON; raises Refused, OSError,
        http.client.HTTPException. `length`: of a body that is a file; `once`: the request's Idempotency-Key."""
        if body is not None and length is None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        headers = {"Content-Type": content_type} if body is not None else {}
        if length is not None:
            headers["Content-Length"] = str(length)
        if accept is not None:
            headers["Accept"] = accept
        if prefer is not None:
            headers["Prefer"] = prefer
        if once is not None:
            headers["Idempotency-Key"] = f'"{once}"'
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        if time.monotonic() - self._used > IDLE_SECONDS:
            self._connection.close()  # the request opens it anew
        try:
            self._connection.request(method, "/api/v1" + path, body, headers)
            reply = self._connection.getresponse()
            content = reply.read()
            self._used = time.monotonic()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise
        if reply.status // 100 != 2:
            raise Refused(reply.status, content)
        if "json" not in reply.headers.get("Content-Type", "json"):
            return content
        return json.loads(content) if content else None

    def session(self, **options):
        return self.send("POST", "/sessions", {"name": "test", "options": options})["id"]

    def graph(self, session, definition, content_type="application/json"):
        return self.send("POST", f"/sessions/{session}/graphs", definition, content_type)["id"]

    def plan(self, session, graph, request):
        return self.send("POST", f"/sessions/{session}/graphs/{graph}:plan", request)

    def step(self, session, request, prefer=None, once=None):
        return self.send("POST", f"/sessions/{session}/steps", request, prefer=prefer, once=once)

    def close(self):
        self._connection.close()


def _path(program, folder=None):
    return os.path.join(folder or os.environ.get("OUT", "build/release"), program)


def command(*arguments):
    """The command line of `sluice`, for subprocess."""
    return [_path("sluice"), *arguments]


class Program:
    """One of our programs, listening on a port that the kernel chose. `variables`: more of its environment; `log`: a file,
    open for writing, that its log goes to; `folder`: where another build of it is."""

    def __init__(self, name, *arguments, variables=None, log=None, folder=None):
        errors = log or (None if os.environ.get("TEST_VERBOSE") else subprocess.DEVNULL)
        self._process = subprocess.Popen([_path(name, folder), *arguments], stdout=subprocess.PIPE, stderr=errors,
                                         text=True, env={**os.environ, **(variables or {})})
        line = self._process.stdout.readline()
        if not line.startswith("listening on "):
            self.stop()
            raise RuntimeError(f"{name} did not come up")
        self.address = line.removeprefix("listening on ").strip()
        self.pid = self._process.pid

    def is_running(self):
        return self._process.poll() is None

    def end_code(self, seconds):
        """The exit code of a program that ends by itself."""
        return self._process.wait(seconds)

    def kill(self):
        self._process.kill()
        self._process.wait()

    def stop(self):
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


TEST_DEVICE = "tests/plugins/test_device_plugin.so"


class TestDriver:
    """A folder with the stub of a driver, and what a worker needs to use a plugin's device beside its CPU. Each worker with a
    test device that ends adds a line to `counts` (tests/plugins/test_device_plugin.c)."""

    def __init__(self, plugin):
        self._folder = tempfile.TemporaryDirectory()
        self.counts = os.path.join(self._folder.name, "counts")
        os.symlink(os.path.abspath(_path("tests/plugins/libcuda.so")), os.path.join(self._folder.name, "libcuda.so.1"))
        self.settings = ["--cuda", "required", "--cuda-plugin", os.path.abspath(_path(plugin))]
        self.variables = {"LD_LIBRARY_PATH": f"{self._folder.name}:{os.environ.get('LD_LIBRARY_PATH', '')}",
                          "SLUICE_TEST_DEVICE_COUNTS": self.counts}

    def read_counts(self):
        """Returns what the workers that have ended did with their devices, added up."""
        sums = {}
        if not os.path.exists(self.counts):
            return sums
        with open(self.counts, encoding="utf-8") as file:
            for line in file:
                for name, count in json.loads(line).items():
                    sums[name] = sums.get(name, 0) + count
        return sums

    def close(self):
        self._folder.cleanup()


def reserve_port():
    """A socket that keeps a port for a program that is started later."""
    reserved = socket.socket()
    reserved.bind(("127.0.0.1", 0))
    return reserved


def _reserve_lasting_port():
    """A port below those that Linux gives to whoever asks for any: nobody takes it while a program is started anew."""
    while True:
        reserved = socket.socket()
        try:
            reserved.bind(("127.0.0.1", random.SystemRandom().randrange(*LASTING_PORTS)))
            return reserved
        except OSError:
            reserved.close()


def take_addresses(count):
    """Addresses for programs that listen there, and again when they are started anew."""
    reserved = [_reserve_lasting_port() for _ in range(count)]
    addresses = [f"127.0.0.1:{one.getsockname()[1]}" for one in reserved]
    for one in reserved:
        one.close()
    return addresses


class Database:
    """`with Database() as database:` a database with Sluice's schema, for the time of the block."""

    def __init__(self):
        self.name = f"driver_{os.getpid()}_{id(self)}"

    def __enter__(self):
        if "PGHOST" not in os.environ:
            raise SystemExit("run under tools/with_postgres")
        self._execute(f"create database {self.name} template template_app")
        return self

    def __exit__(self, *_):
        self._execute(f"drop database {self.name} with (force)")

    def ask(self, sql):
        """The database's answer: a line for each row, a '|' between two columns."""
        return subprocess.run(["psql", "-qXAt", "-d", self.name, "-c", "set search_path = sluice", "-c", sql],
                              check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    @staticmethod
    def _execute(sql):
        subprocess.run(["psql", "-qX", "-d", "postgres", "-c", sql], check=True)


class Cluster:
    """`with Cluster() as cluster:` a database, workers and a gateway that end with the block. `threads`: how many each
    worker computes with; there are as many workers as numbers, and with None each has as many threads as it wants.
    `settings`: more arguments for each gateway, `worker_settings` for each worker. `tenants`: their names, each with its
    quotas ({"weight": 3}); without any, nobody needs a key. `has_late_workers`: the block begins without workers, until it
    calls start_workers(). `has_test_devices`: every worker has the test device beside its
    CPU; SLUICE_TEST_DEVICE in the environment: that of this plugin, a file below build/<variant>."""

    def __init__(self, threads=(2, 2), settings=(), tenants=None, worker_settings=(), has_late_workers=False,
                 has_test_devices=False):
        self._threads = threads
        self._settings = settings
        self._worker_settings = worker_settings
        self._tenants = tenants or {}
        self._has_late_workers = has_late_workers
        self.device_counts = {}  # of test devices, once the block has ended
        plugin = TEST_DEVICE if has_test_devices else os.environ.get("SLUICE_TEST_DEVICE")
        self._driver = TestDriver(plugin) if plugin else None
        self._reserved = []  # for late workers
        self.workers = []
        self._programs = []
        self.database = Database()
        self.keys = {}

    def __enter__(self):
        self.database.__enter__()
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for program in reversed(self._programs):
            program.stop()
        self._close_reserved()
        if self._driver:
            self.device_counts = self._driver.read_counts()
            self._driver.close()
        self.database.__exit__()

    def client(self, tenant=None):
        return Client(self.address, self.keys.get(tenant))

    def ended(self):
        """Whether one of the programs is gone, of which no test can be blamed on its graph alone."""
        return not all(program.is_running() for program in self._programs)

    def make_key(self, tenant, scopes=""):
        """A new key of this tenant; with the scope `operator` it is for those who run Sluice."""
        return self._command("key", "create", tenant, *([scopes] if scopes else []))

    def add_gateway(self, listen="127.0.0.1:0"):
        """Another gateway of the same database and workers; a Program."""
        gateway = Program("sluice-gateway", "--listen", listen, "--auth", "keys" if self._tenants else "off",
                          "--database", f"dbname={self.database.name}", "--workers", self._workers, *self._settings)
        self._programs.append(gateway)
        return gateway

    def settings_of(self, _index):
        """The further arguments of worker `index`, which a pool with different workers tells one by one."""
        return self._worker_settings

    def start_workers(self):
        """Starts the workers; late ones where the gateways look for them."""
        places = self._late_addresses() or ["127.0.0.1:0"] * len(self._threads)
        self._close_reserved()
        for index, (count, place) in enumerate(zip(self._threads, places)):
            threads = [] if count is None else ["--threads", str(count)]
            driver = self._driver
            worker = Program("sluice-worker", "--listen", place, "--name", f"w{index}", *threads, *self.settings_of(index),
                             *(driver.settings if driver else []), variables=driver.variables if driver else None)
            self._programs.append(worker)
            self.workers.append(worker)

    def ask(self, sql):
        return self.database.ask(sql)

    def kill_workers(self):
        """At once, as a lost machine would be."""
        for program in self.workers:
            program.kill()

    def _start(self):
        for tenant, quotas in self._tenants.items():
            self.keys[tenant] = self.make_key(tenant)
            if quotas:
                self._command("quota", tenant, *(f"{name}={value}" for name, value in quotas.items()))
        if self._has_late_workers:
            self._reserved = [reserve_port() for _ in self._threads]
        else:
            self.start_workers()
        self._workers = ",".join(self._late_addresses() or [worker.address for worker in self.workers])
        self.gateway = self.add_gateway()
        self.address = self.gateway.address
        if not self._has_late_workers:
            self._await_workers()

    def _late_addresses(self):
        return [f"127.0.0.1:{reserved.getsockname()[1]}" for reserved in self._reserved]

    def _close_reserved(self):
        while self._reserved:
            self._reserved.pop().close()

    def _command(self, name, *arguments):
        """The text that a command of the gateway's program prints."""
        command = [_path("sluice-gateway"), name, "--database", f"dbname={self.database.name}", *arguments]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def _await_workers(self):
        client = self.client(next(iter(self._tenants), None))
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            workers = client.send("GET", "/workers")["workers"]
            if sum(worker["state"] == "serving" and worker["task"] >= 0 for worker in workers) == len(self._threads):
                client.close()
                return
            time.sleep(0.02)
        raise RuntimeError(f"the gateway does not have {len(self._threads)} serving workers")
