#!/usr/bin/env python3
"""A model of many GiB on its whole way: made, pushed, broken off, resumed, run over two workers, fetched by four at once, deleted.

    tools/with_postgres tests/loads/models.py [--length minute|short|full]

The model is a small ONNX file and a file of weights beside it, a chain of products whose answer is known. `sluice graph push`
uploads it from a terminal, is stopped by Ctrl-C, and goes on through another gateway. Rows tell how long each stage took, and what the
gateway, the workers and PostgreSQL (with all its processes) have of memory then: PSS now, and the resident peak of the stage. All of
it with the blobs in a folder, in PostgreSQL, and in an S3-compatible store where `make s3-server` has installed one: s3rver, or moto
for small models, as it reads a whole object to answer with a part of it. Then a sparse file is uploaded, and a hundred blobs are
uploaded and deleted one after the other.
"""

import hashlib
import http.client
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import NamedTuple, Optional

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import measures  # noqa: E402
from measures import MIB, sluice  # noqa: E402
from group import Skipped, await_that  # noqa: E402
from onnx_model import Chain  # noqa: E402
from process_memory import Peak, memory_mib  # noqa: E402
from s3_servers import FileServer, Moto  # noqa: E402

# More than the gateway would hold as a whole (--resident-weights). S3's own tests are in tests/integration/s3_test.py.
MODEL_MIB = {"minute": {"folder": 128, "postgres": 80},
             "short": {"folder": 1024, "postgres": 256, "s3": 512},
             "full": {"folder": 4096, "postgres": 1024, "s3": 4096}}
MOTO_MIB = 256
SPARSE_MIB = {"minute": 256, "short": 4096, "full": 20480}
WIDTH = {"minute": 2048, "short": 4096, "full": 8192}
GROWTH_MIB = 64  # of the gateway above what it had idle, whatever it does with a model
WORKER_MIB = 128  # of a worker beside the weights that it holds, in memory or mapped, and the copy that its kernels pack of them
SHARED_MIB = 1024  # of a model that each of four workers has whole, in a folder that they share
REPEATS = 100
REPEATED_MIB = 4
KEPT_MIB = 8  # that a gateway may keep behind all of them
PATIENCE_SECONDS = 1800
STEP_OPTIONS = {"timeout_ms": 1000 * PATIENCE_SECONDS}


def _children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        return [int(child) for child in children.read().split()]


class Postgres:
    """The database server with all its processes, as one."""

    def __init__(self, cluster):
        self._pid = int(cluster.ask("select (string_to_array(pg_read_file('postmaster.pid'), chr(10)))[1]"))

    def mib(self):
        total = 0
        for pid in [self._pid, *_children(self._pid)]:
            try:
                total += memory_mib(pid)
            except (OSError, AttributeError):
                pass  # a backend that has just ended
        return total


class Terminal:
    """A program whose standard error is a terminal, as when somebody looks at it."""

    def __init__(self, command):
        self._screen, side = pty.openpty()
        self._text = b""
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=side, env=dict(os.environ, TERM="xterm"))
        os.close(side)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        while True:
            try:
                piece = os.read(self._screen, 65536)
            except OSError:  # how Linux says that nobody has the other side any more
                piece = b""
            if not piece:
                return
            self._text += piece

    def bars(self):
        """The drawings of the bar while weights were sent."""
        return re.findall(rb"data \[[=> ]+\] +\d+%  [^\r\x1b]*/s  \d+:\d\d left", self._text)

    def wait(self):
        output = self.process.stdout.read().decode()
        self.process.wait()
        self._reader.join()
        os.close(self._screen)
        return output

    def text(self):
        return self._text.decode("utf-8", "replace")


class Place:
    """A cluster, what its processes had when nothing had happened, and the report's rows about it."""

    def __init__(self, report, case, cluster):
        self.report, self.case, self.cluster = report, case, cluster
        self.gateways = [cluster.gateway]
        self.postgres = Postgres(cluster)
        self.client.send("GET", "/sessions")
        self.idle = {gateway.pid: memory_mib(gateway.pid) for gateway in self.gateways}

    @property
    def client(self):
        """A new one: connections that were idle through a long stage are closed."""
        return self.cluster.client()

    def add(self, what, got, unit, asked=None, sure=False):
        self.report.add(self.case, what, got, unit, asked, sure)

    def add_gateway(self):
        gateway = self.cluster.add_gateway()
        self.gateways.append(gateway)
        sluice.Client(gateway.address).send("GET", "/sessions")
        self.idle[gateway.pid] = memory_mib(gateway.pid)
        return gateway

    def command(self, gateway, *arguments):
        return sluice.command("--url", f"http://{gateway.address}", *arguments)


class Stage:
    """`with Stage(place, "push"):` adds how long it took, and the memory of all processes."""

    def __init__(self, place, name, worker_mib=WORKER_MIB):
        self._place, self._name, self._worker_mib = place, name, worker_mib

    def __enter__(self):
        cluster = self._place.cluster
        self._programs = [("gateway", gateway) for gateway in self._place.gateways]
        self._programs += [("worker", worker) for worker in cluster.workers]
        self._peaks = [Peak(program.pid) for _, program in self._programs]
        for peak in self._peaks:
            peak.__enter__()
        self._begun = time.monotonic()
        return self

    def __exit__(self, kind, *_):
        self.seconds = time.monotonic() - self._begun
        if kind is not None:
            return
        place = self._place
        place.add(f"{self._name}: took", self.seconds, "s")
        for peak in self._peaks:
            peak.__exit__()
        for kind in ("gateway", "worker"):
            peaks = [(peak, program) for peak, (which, program) in zip(self._peaks, self._programs) if which == kind]
            if not peaks:
                continue
            place.add(f"{self._name}: {kind} now", max(memory_mib(program.pid) for _, program in peaks), "MiB")
            place.add(f"{self._name}: {kind}'s peak, more than before", max(peak.grown_mib() for peak, _ in peaks), "MiB",
                      GROWTH_MIB if kind == "gateway" else self._worker_mib, sure=True)
        place.add(f"{self._name}: PostgreSQL now", place.postgres.mib(), "MiB")


def _received(place):
    return int(place.cluster.ask("select coalesce(max(received + length(tail)), 0) from blob_uploads"))


def _push(place, session, path, size):
    """Pushes a model, is stopped at a third, and goes on through another gateway. Returns the graph's id."""
    arguments = ("graph", "push", path, "--session", session)
    with Stage(place, "push until Ctrl-C"):
        terminal = Terminal(place.command(place.cluster.gateway, *arguments))
        await_that(lambda: _received(place) >= size // 3 or terminal.process.poll() is not None, "a third is uploaded",
                   PATIENCE_SECONDS)
        terminal.process.send_signal(signal.SIGINT)
        terminal.wait()
    if terminal.process.returncode != 130:
        raise RuntimeError(f"the push was not interrupted: {terminal.text()}")
    await_that(lambda: place.cluster.ask("select lease_until <= now() from blob_uploads") == "t", "the first gateway lets go",
               PATIENCE_SECONDS)
    kept, location = _received(place), place.cluster.ask("select location from blob_uploads")
    place.add("kept of it", kept / MIB, "MiB")
    other = place.add_gateway()
    with Stage(place, "push through another gateway") as stage:
        terminal = Terminal(place.command(other, *arguments))
        output = terminal.wait()
    if terminal.process.returncode != 0:
        raise RuntimeError(f"the push failed: {terminal.text()}")
    resumed = place.cluster.ask(f"select count(*) from blobs where location = '{location}'") == "1"
    place.add("bytes that were kept and sent again", 0 if resumed else kept / MIB, "MiB", 0, sure=True)
    place.add("sent, read and hashed after that", (size - kept) / MIB / stage.seconds, "MiB/s")
    bars = terminal.bars()
    place.add("drawings of the bar", len(bars), "")
    if bars:
        print(bars[len(bars) // 2].decode(), file=sys.stderr)
    return output.split()[0]


def _push_again(place, session, path):
    command = place.command(place.cluster.gateway, "graph", "push", path, "--session", session)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _import_again(place, session, path):
    """Measures the import alone: the files are there. The session is another one, so that the graph is new."""
    with Stage(place, "import of stored files"):
        _push_again(place, session, path)


def _step(place, client, session, chain):
    """Runs the chain and returns how many numbers are wrong."""
    feed = chain.feed()
    reply = client.step(session, {"feeds": {"x": [feed]}, "fetches": ["y"], "options": STEP_OPTIONS})
    return sum(got != expected for got, expected in zip(reply["outputs"]["y"]["data"], chain.expected(feed)))


def _run(place, session, chain, workers):
    """The chain runs over so many workers, which fetch their weights at once."""
    each = -(-chain.layers // workers) * chain.width**2 * 4 / MIB
    with Stage(place, f"first step, {workers} workers", 2 * each + WORKER_MIB):
        wrong = _step(place, place.client, session, chain)
    with Stage(place, "second step"):
        wrong += _step(place, place.client, session, chain)
    place.add("wrong numbers", wrong, "", 0, sure=True)


def _run_on_four(place, path, chain):
    """Four workers fetch parts of the model at once."""
    session = place.client.session(slots=4, placement="spread")
    _push_again(place, session, path)
    _run(place, session, chain, 4)


def _run_whole_on_four(place, path, chain):
    """Four workers fetch the whole model at once, into a folder that they share."""
    session = place.client.session(slots=1)
    _push_again(place, session, path)
    wrong = []
    steps = [threading.Thread(target=lambda: wrong.append(_step(place, place.cluster.client(), session, chain))) for _ in range(4)]
    with Stage(place, "four workers fetch", 2 * chain.size / MIB + WORKER_MIB):
        for step in steps:
            step.start()
        for step in steps:
            step.join()
    place.add("workers that have no answer", 4 - len(wrong), "", 0, sure=True)
    place.add("wrong numbers of four", sum(wrong), "", 0, sure=True)


def _delete(place, files, waits):
    """Removes everything. When it `waits`, until the upkeep has emptied the store, which does so within a minute; `files`: the
    folder of a store that has one."""
    with Stage(place, "delete"):
        for session in place.client.send("GET", "/sessions")["sessions"]:
            place.client.send("DELETE", f"/sessions/{session['id']}")
        for digest in place.cluster.ask("select encode(sha256, 'hex') from blobs where location is not null").split():
            place.client.send("DELETE", f"/blobs/{digest}")
    left = int(place.cluster.ask("select coalesce(sum(size), 0) from blobs where location is not null"))
    place.add("blobs left", left / MIB, "MiB", 0, sure=True)
    if waits:
        place.cluster.ask("update blob_removals set due_at = now()")
        await_that(lambda: place.cluster.ask("select count(*) from blob_removals") == "0", "the upkeep removes files",
                   PATIENCE_SECONDS)
    if waits and files is not None:
        left = sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(files) for name in names)
        place.add("left in the folder", left / MIB, "MiB", 0, sure=True)


def _run_life(report, case, chain, paths, store):
    path, data = paths
    with sluice.Cluster(threads=(1, 1), settings=store.settings) as cluster:
        place = Place(report, case, cluster)
        place.add("idle: gateway", place.idle[cluster.gateway.pid], "MiB")
        session = place.client.session(slots=2, placement="spread")
        _push(place, session, path, os.path.getsize(data))
        _run(place, session, chain, 2)
        _import_again(place, place.client.session(), path)
        _delete(place, store.files, store.waits)
        grown = max(memory_mib(gateway.pid) - place.idle[gateway.pid] for gateway in place.gateways)
        place.add("gateway at the end, more than idle", grown, "MiB", GROWTH_MIB, sure=True)


class Kind(NamedTuple):
    """A kind of store."""

    name: str
    settings: tuple
    files: Optional[str]  # the folder that it has
    waits: bool  # for the removal of what is deleted


def _run_store(report, mib, width, store):
    """The whole way with one kind of store."""
    chain = Chain.of_size(mib * MIB, width, dense=True)
    with tempfile.TemporaryDirectory() as folder:
        paths = chain.write(folder)
        case = f"{chain.size // MIB} MiB, {store.name}"
        _run_life(report, case, chain, paths, store)
        with sluice.Cluster(threads=(1, 1, 1, 1), settings=store.settings) as cluster:
            place = Place(report, f"{case}, parts", cluster)
            _run_on_four(place, paths[0], chain)
            _delete(place, store.files, store.waits)


def _run_shared(report, mib, width, store):
    chain = Chain.of_size(min(mib, SHARED_MIB) * MIB, width, dense=True)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as shared:
        path, _ = chain.write(folder)
        with sluice.Cluster(threads=(1, 1, 1, 1), settings=store.settings, worker_settings=("--blob-folder", shared)) as cluster:
            place = Place(report, f"{chain.size // MIB} MiB, shared blob folder", cluster)
            _run_whole_on_four(place, path, chain)
            _delete(place, store.files, store.waits)


class Upload:
    """A blob that is uploaded over REST, as one body."""

    def __init__(self, address, size, seed):
        self._connection = http.client.HTTPConnection(address, timeout=PATIENCE_SECONDS)
        self._bytes = seed.to_bytes(8, "little") + bytes(size - 8)
        self._path = f"/api/v1/blobs/{hashlib.sha256(self._bytes).hexdigest()}"

    def ask(self, method, body=None):
        self._connection.request(method, self._path, body)
        reply = self._connection.getresponse()
        content = reply.read()
        if reply.status // 100 != 2:
            raise RuntimeError(f"{method} was answered with {reply.status}: {content[:200]}")

    def run(self):
        self.ask("PUT", self._bytes)
        self.ask("DELETE")
        self._connection.close()


def _run_repeats(report):
    with sluice.Cluster(threads=(), settings=("--blob-inline", "64KiB")) as cluster:
        place = Place(report, f"{REPEATS} uploads of {REPEATED_MIB} MiB", cluster)
        for seed in range(5):
            Upload(cluster.address, REPEATED_MIB * MIB, seed).run()
        before = memory_mib(cluster.gateway.pid)
        with Stage(place, "uploads and deletes"):
            for seed in range(REPEATS):
                Upload(cluster.address, REPEATED_MIB * MIB, seed).run()
        place.add("gateway behind them, more", memory_mib(cluster.gateway.pid) - before, "MiB", KEPT_MIB, sure=True)


def _run_sparse(report, mib):
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as files:
        path = os.path.join(folder, "sparse.bin")
        with open(path, "wb") as file:
            file.write(b"sparse")
            file.truncate(mib * MIB)
        with sluice.Cluster(threads=(), settings=("--blob-store", f"folder:{files}")) as cluster:
            place = Place(report, f"sparse file of {mib} MiB", cluster)
            with Stage(place, "upload") as stage:
                subprocess.run(place.command(cluster.gateway, "blob", "put", path), check=True, stdout=subprocess.DEVNULL)
            place.add("read, sent and hashed", mib / stage.seconds, "MiB/s")
            missing = mib * MIB - int(cluster.ask("select sum(size) from blobs"))
            place.add("bytes that did not come", missing, "", 0, sure=True)


def _run_s3(report, mib, width, waits):
    has_files = FileServer.is_installed()
    try:
        with FileServer() if has_files else Moto() as server:
            store = Kind("S3 (s3rver)" if has_files else "S3 (moto)", server.settings(), None, waits)
            _run_store(report, mib if has_files else min(mib, MOTO_MIB), width, store)
    except Skipped as reason:
        print(f"skipped: {reason}", file=sys.stderr)


def _run_folder(report, mib, width, waits):
    with tempfile.TemporaryDirectory() as files:
        store = Kind("folder", ("--blob-store", f"folder:{files}"), files, waits)
        _run_store(report, mib, width, store)
        _run_shared(report, mib, width, store)


def _run_postgres(report, mib, width, waits):
    _run_store(report, mib, width, Kind("PostgreSQL", (), None, waits))


def run(report, length):
    sizes, width, waits = MODEL_MIB[length], WIDTH[length], length != "minute"
    _run_folder(report, sizes["folder"], width, waits)
    _run_postgres(report, sizes["postgres"], width, waits)
    if "s3" in sizes:
        _run_s3(report, sizes["s3"], width, waits)
    _run_repeats(report)
    _run_sparse(report, SPARSE_MIB[length])


if __name__ == "__main__":
    measures.main(run, __doc__)
