"""A service manager for tests: starts a program as its unit for systemd says, and hears what it tells of itself.

Of a unit it knows what ours use of systemd.service(5) and systemd.exec(5): ExecStart=, Environment=, LoadCredential= and the
folders that %d, %C and %S stand for. A program gets no other environment and no other user's files.

Threads: a Unit belongs to one thread.
"""

import os
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile

NEWS_SECONDS = 60
SPECIFIERS = {"%d": "credentials", "%C": "cache", "%S": "state"}


def read_unit(path):
    """The settings of a unit: for each name the list of its values."""
    settings = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if "=" in line and not line.startswith("#"):
                name, value = line.rstrip("\n").split("=", 1)
                settings.setdefault(name, []).append(value)
    return settings


class Unit:
    """`with Unit(path, root, files, owner) as unit:` the program of a unit below `root`, as the user `owner` where this one may
    choose. `files`: what stands in place of those that LoadCredential= names."""

    def __init__(self, path, root, files, owner):
        self._settings = read_unit(path)
        self._root = root
        self._files = files
        self._owner = owner if os.geteuid() == 0 else os.geteuid()

    def __enter__(self):
        self._folder = tempfile.mkdtemp(prefix="sluice-unit.")
        for name in ("", *SPECIFIERS.values()):
            folder = os.path.join(self._folder, name)
            os.makedirs(folder, exist_ok=True)
            os.chown(folder, self._owner, -1)
        self._load_credentials()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        path = os.path.join(self._folder, "notify")
        self._socket.bind(path)
        os.chown(path, self._owner, -1)
        self._socket.settimeout(NEWS_SECONDS)
        self._process = subprocess.Popen(self._command(), env={**self._environment(), "NOTIFY_SOCKET": path}, cwd="/", stderr=subprocess.PIPE,
                                         stdout=subprocess.DEVNULL, text=True, user=self._owner, extra_groups=[] if os.geteuid() == 0 else None)
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        self._process.stderr.close()
        self._socket.close()
        shutil.rmtree(self._folder)

    def _expand(self, text):
        for specifier, name in SPECIFIERS.items():
            text = text.replace(specifier, os.path.join(self._folder, name))
        return text

    def _load_credentials(self):
        for line in self._settings["LoadCredential"]:
            name = line.split(":")[0]
            path = os.path.join(self._folder, "credentials", name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(self._files[name])
            os.chmod(path, 0o400)
            os.chown(path, self._owner, -1)

    def _command(self):
        program, *arguments = shlex.split(self._expand(self._settings["ExecStart"][0]))
        return [self._root + program, *arguments]

    def _environment(self):
        words = shlex.split(self._expand(" ".join(self._settings.get("Environment", []))))
        return dict(word.split("=", 1) for word in words)

    def hear(self):
        """The next message, a dictionary of what it assigns; an empty one when the program has ended without another."""
        self._socket.settimeout(1)
        for _ in range(NEWS_SECONDS):
            try:
                return dict(line.split("=", 1) for line in self._socket.recv(4096).decode().splitlines())
            except TimeoutError:
                if self._process.poll() is not None:
                    return {}
        raise AssertionError("the program says nothing")

    def terminate(self):
        self._process.send_signal(signal.SIGTERM)

    def end(self):
        """The exit code and what it said, once it has ended."""
        said = self._process.communicate(timeout=NEWS_SECONDS)[1]
        return self._process.returncode, said
