#!/usr/bin/env python3
"""deploy/README.md's way back to a point in time, by the page's own settings and commands, on a server of PostgreSQL of the test's own: what
was there at that moment serves again, and what came or went behind it did not."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import await_that, expect_raises, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402

PAGE = "deploy/README.md"
PLACES = {"/var/lib/postgresql/15/main": "main", "/var/backups/wal": "wal", "/var/backups/base": "base"}  # below the test's folder
REQUEST = {"feeds": {"x": [[1, 2, 3, 4]]}, "fetches": ["probabilities"]}
SERVER_SECONDS = 300
DATABASE = "dbname=sluice"
WITH_SERVER_PROGRAMS = 'PATH="$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)"; '


def page_lines(pattern):
    """The page's lines of this kind, without their indentation."""
    with open(PAGE, encoding="utf-8") as file:
        return [line.strip() for line in file if re.match("    (" + pattern + ")", line)]


class Server:
    """`with Server() as server:` a server of PostgreSQL that archives its log as the page says."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        self._found = {name: os.environ.get(name) for name in ("PGHOST", "PGUSER")}

    def __enter__(self):
        folder = self._folder.name
        os.mkdir(self.path("wal"))
        if os.getuid() == 0:
            shutil.chown(folder, "postgres")
            shutil.chown(self.path("wal"), "postgres")
        os.environ.update(PGHOST=folder, PGUSER="postgres", SLUICE_DRAIN_DELAY="0s")
        self.run(f"initdb -D {folder}/main -U postgres -A trust --no-sync --no-instructions")
        self.configure(["listen_addresses = ''", f"unix_socket_directories = '{folder}'", "fsync = off", *page_lines("archive_")])
        self.start()
        return self

    def __exit__(self, *_):
        if os.path.exists(self.path("main/postmaster.pid")):
            self.stop("immediate")
        for name, value in self._found.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        self._folder.cleanup()

    def path(self, name):
        return os.path.join(self._folder.name, name)

    def run(self, command):
        """Runs a command as the user postgres, whom a server wants."""
        for there, here in PLACES.items():
            command = command.replace(there, self.path(here))
        as_postgres = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        done = subprocess.run([*as_postgres, "sh", "-euc", WITH_SERVER_PROGRAMS + command], cwd=self._folder.name, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SERVER_SECONDS, check=False)
        assert done.returncode == 0, f"{command}\nended with {done.returncode}: {done.stdout}"
        return done.stdout.strip()

    def configure(self, lines):
        text = "\n".join(lines) + "\n"
        for there, here in PLACES.items():
            text = text.replace(there, self.path(here))
        with open(self.path("main/postgresql.conf"), "a", encoding="utf-8") as file:
            file.write(text)

    def start(self):
        self.run(f"pg_ctl -D main -w -t {SERVER_SECONDS} -l log start >pg_ctl.log")

    def stop(self, mode="fast"):
        self.run(f"pg_ctl -D main -w -m {mode} stop")

    def ask(self, sql, database="postgres"):
        return self.run(f'psql -qXAt -d {database} -c "{sql}"')


class Sluice:
    """`with Sluice() as client:` a gateway and a worker beside the server's database, and a client of theirs."""

    def __init__(self, key=None):
        self._key, self._programs = key, []

    def __enter__(self):
        worker = sluice.Program("sluice-worker", "--listen", "127.0.0.1:0")
        self._programs.append(worker)
        gateway = sluice.Program("sluice-gateway", "--listen", "127.0.0.1:0", "--auth", "keys", "--database", DATABASE, "--workers", worker.address)
        self._programs.append(gateway)
        self._client = sluice.Client(gateway.address, self._key)
        return self._client

    def __exit__(self, *_):
        self._client.close()
        while self._programs:
            self._programs.pop().stop()


def _command(*arguments):
    """What a command of the gateway's program prints."""
    program = os.path.join(os.environ.get("OUT", "build/release"), "sluice-gateway")
    return subprocess.run([program, *arguments, "--database", DATABASE], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def _push(client):
    """A session with the page's example."""
    session = client.session()
    with open("deploy/examples/two_layers.json", "rb") as file:
        client.graph(session, file.read())
    return session


def _ask_step(client, session, step):
    return client.send("GET", f"/sessions/{session}/steps/{step}")["state"]


def _restore(server, moment):
    """Puts the copy in the place of the server's folder, as the page says, up to this moment."""
    server.stop()
    server.run("mv main aside")
    for command in page_lines("cp |touch "):
        server.run(command)
    settings = page_lines("restore_|recovery_")
    [target] = [line for line in settings if line.startswith("recovery_target_time")]
    server.configure([line if line != target else f"recovery_target_time = '{moment}'" for line in settings])
    server.start()
    await_that(lambda: server.ask("select pg_is_in_recovery()") == "f", "the server has come to the moment")


def what_was_there_at_a_moment_serves_again_and_what_came_later_is_gone():
    with Server() as server:
        server.run("createdb sluice")
        _command("migrate")
        key = _command("key", "create", "vision")
        with Sluice(key) as client:
            kept = _push(client)
            [backup] = page_lines("pg_basebackup ")
            server.run(backup)
            changed = _push(client)  # behind the copy: the log has it
            outputs = client.step(changed, REQUEST)["outputs"]
            queued = client.step(changed, REQUEST, prefer="respond-async")["id"]
            await_that(lambda: _ask_step(client, changed, queued) == "succeeded", "the queued step has ended")
            moment = server.ask("select clock_timestamp()")
            client.send("DELETE", f"/sessions/{changed}")
            client.send("DELETE", f"/sessions/{kept}")
            later = _push(client)
        _restore(server, moment)
        with Sluice(key) as client:
            assert client.step(changed, REQUEST)["outputs"] == outputs == client.step(kept, REQUEST)["outputs"]
            assert _ask_step(client, changed, queued) == "succeeded"
            expect_raises(sluice.Refused, f"NOT_FOUND: session '{later}' does not exist", client.step, later, REQUEST)
            assert client.step(_push(client), REQUEST)["outputs"] == outputs, "what is made from then on serves"


if __name__ == "__main__":
    run_group([what_was_there_at_a_moment_serves_again_and_what_came_later_is_gone])
