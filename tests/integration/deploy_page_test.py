#!/usr/bin/env python3
"""deploy/README.md as an operator follows it who knows nothing else, as far as that goes on one machine without root and without
Kubernetes: the database, secrets, a key, a step, backup and restore into an empty cluster by the page's own commands; images and
make's goals by what they name. Every other command of the page is one that another test runs."""

import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402

PAGE = "deploy/README.md"
OUT = os.path.abspath(os.environ.get("OUT", "build/release"))
COMMAND_SECONDS = 300
ROLES = ("sluice_app", "sluice_queue", "sluice_auth")

# Lines that are no commands, but of files and of SQL, which a test below runs.
TEXT = re.compile(r"\[sluice\]|[a-z]+=|[a-z_]+ = |local sluice |sluice /\^|create role ")
# Programs whose commands tests/integration/kubernetes_commands_test.py tries, and those that tests/packages/lifecycle runs word by word.
KUBERNETES = {"kubectl", "helm"}
LIFECYCLE = {"runuser", "systemctl", "export", "sluice"}
# What tests/integration/point_in_time_test.py tries.
POINT_IN_TIME = {"pg_basebackup", "cp", "touch"}
# Commands that want root and change the machine; `make check-install` installs beside it, and the packages do the rest.
OF_THE_MACHINE = {"apt install ./build/deb/sluice_*.deb ./build/deb/sluice-gateway_*.deb ./build/deb/sluice-worker_*.deb postgresql",
                  "apt install ./build/deb/*.deb", "systemd-sysusers sluice-gateway.conf", "systemctl daemon-reload",
                  "systemctl enable --now sluice-worker sluice-gateway", "make install PREFIX=/usr"}


def page_lines():
    with open(PAGE, encoding="utf-8") as file:
        return [line[4:].removeprefix("$ ") for line in file.read().splitlines() if line.startswith("    ")]


def page_commands():
    """The commands, without their comments."""
    return [re.sub(r"\s+#.*", "", line) for line in page_lines() if not TEXT.match(line.strip())]


def the_one(beginning):
    found = {line for line in page_commands() if line.startswith(beginning)}
    assert len(found) == 1, f"{PAGE} has these of '{beginning}': {found}"
    return found.pop()


def program_of(command):
    return re.sub(r"^\(umask 077; ", "", re.sub(r"^[A-Z]+=\S+ ", "", command)).split()[0]


def every_command_of_the_page_is_one_that_a_test_tries():
    with open("tests/packages/lifecycle", encoding="utf-8") as file:
        lifecycle = file.read()
    tried_here = {"docker", "make", "cat", "head", "pg_dump", "psql", "createdb", "pg_restore", "install", "sluice-gateway"}
    for command in page_commands():
        program = program_of(command)
        known = program in KUBERNETES | POINT_IN_TIME or program in tried_here or command in OF_THE_MACHINE or \
            program in LIFECYCLE and command in lifecycle
        assert known, f"no test tries '{command}'"


def images_are_built_of_stages_that_there_are():
    with open("deploy/Containerfile", encoding="utf-8") as file:
        stages = set(re.findall(r"^FROM \S+ AS (\S+)$", file.read(), re.MULTILINE))
    wanted = [command for command in page_commands() if command.startswith("docker ")]
    assert len(wanted) == 3
    for command in wanted:
        path, stage, tag = re.fullmatch(r"docker build -f (\S+) --target (\S+) -t (\S+) \.", command).groups()
        with open("VERSION", encoding="utf-8") as file:
            assert os.path.exists(path) and stage in stages and tag == f"sluice-{stage}:{file.read().strip()}", command


def what_the_page_has_made_is_a_goal_of_make():
    with open(PAGE, encoding="utf-8") as file:
        goals = set(re.findall(r"(?:`|^    )make ([a-z][a-z-]+)", file.read(), re.MULTILINE))
    known = subprocess.run(["make", "-npq", "help"], capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False).stdout
    missing = {goal for goal in goals if not re.search(rf"^{goal}:", known, re.MULTILINE)}
    assert {"images", "base-image", "deb", "image-root"} <= goals and not missing, missing


class Place:
    """`with Place() as place:` a folder in which an operator works, and PostgreSQL, empty."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        self._programs = []
        self._administrator = {name: os.environ.pop(name) for name in ("PGHOST", "PGUSER")}  # whom no program of Sluice is told
        self._host = self._administrator["PGHOST"]
        self.environment = {**os.environ, "PATH": f"{OUT}:{os.environ['PATH']}"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        os.environ.update(self._administrator)
        self._folder.cleanup()

    def path(self, name):
        return os.path.join(self._folder.name, name)

    def run(self, command, **variables):
        """What a command of the page prints; the folder is /etc/sluice and /root."""
        for there, here in (("/etc/sluice/", self.path("")), ("/root/", self.path("")),
                            ("/usr/share/sluice/examples", os.path.abspath("deploy/examples"))):
            command = command.replace(there, here)
        administrator = {} if "sluice" in program_of(command) else self._administrator
        done = subprocess.run(["bash", "-euc", command], cwd=self._folder.name, env={**self.environment, **administrator, **variables}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=COMMAND_SECONDS, check=False)
        assert done.returncode == 0, f"{command}\nended with {done.returncode}: {done.stdout}"
        return done.stdout

    def write_service_files(self):
        """Those that the page shows beside each other, for the test's own server."""
        first = page_lines().index(next(line for line in page_lines() if line.startswith("cat service.conf ")))
        pairs = [re.match(r"(\S*)\s*(\S*)", line).groups() for line in page_lines()[first + 1:first + 6]]
        for column, name in enumerate(("service.conf", "migrate.conf")):
            text = "\n".join(pair[column] for pair in pairs).replace("db.example", self._host).replace("…", "a-password")
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text + "\n")

    def empty(self):
        """Leaves of the cluster no database and no role of Sluice's."""
        for name in ("template_app", "sluice"):
            self.run(f"dropdb --if-exists --force {name}")
        self.run("psql -qXAt -d postgres -c \"select format('drop role %I;', rolname) from pg_roles where rolname like 'sluice%'\" | psql -qX -d postgres")

    def make_roles(self):
        made = [line for line in page_lines() if line.startswith("create role ")]
        assert [line.split()[2] for line in made] == list(ROLES), made
        for line in made:
            self.run(f"psql -qX -d postgres -c \"{line.replace('…', 'a-password')}\"")

    def serve(self):
        """A gateway that logs in by service.conf, and a worker."""
        variables = {"PGSERVICEFILE": self.path("service.conf")}
        token = self.path("worker-token")
        worker = sluice.Program("sluice-worker", "--listen", "127.0.0.1:0", "--token-file", token)
        self._programs.append(worker)
        gateway = sluice.Program("sluice-gateway", "--listen", "127.0.0.1:0", "--database", "service=sluice", "--pepper-file",
                                 self.path("pepper"), "--worker-token-file", token, "--workers", worker.address, variables=variables)
        self._programs.append(gateway)
        self.environment.update(SLUICE_URL=f"http://{gateway.address}", SLUICE_KEY_FILE=self.path("key"))

    def stop(self):
        while self._programs:
            self._programs.pop().stop()


def a_database_is_made_backed_up_and_restored_by_the_commands_of_the_page():
    with Place() as place:
        place.empty()
        place.make_roles()
        place.run("createdb sluice")  # "a database `sluice`"
        place.write_service_files()
        for command in page_commands():
            if command.startswith("head -c"):
                place.run(command)
        migrated = place.run(the_one("PGSERVICEFILE=migrate.conf sluice-gateway migrate"))
        print(migrated.strip())
        place.serve()
        place.run(the_one("(umask 077; sluice-gateway key create"), PGSERVICEFILE=place.path("service.conf"))
        place.run(the_one("sluice graph push"))
        step = the_one("sluice run")
        before = place.run(step)
        place.run(the_one("pg_dump"))
        place.stop()
        place.empty()
        place.run(the_one("psql -c"))
        place.make_roles()
        place.run("createdb sluice")
        place.run(the_one("pg_restore"))
        place.serve()
        after = place.run(step)
        assert "probabilities" in before and after.splitlines()[:2] == before.splitlines()[:2], (before, after)


def the_files_of_a_machine_without_packages_are_installed():
    with Place() as place:
        for name in ("gateway.conf", "worker.conf", "service.conf", "worker-token", "pepper"):
            with open(place.path(name), "w", encoding="utf-8") as file:
                file.write("text\n")
        place.run(the_one("install -d").replace("/etc/sluice", place.path("etc")))
        place.run(the_one("install -m 600").replace("/etc/sluice", place.path("etc")))
        assert sorted(os.listdir(place.path("etc"))) == ["gateway.conf", "pepper", "service.conf", "worker-token", "worker.conf"]


if __name__ == "__main__":
    # A cluster of its own, whose roles and databases no other test uses.
    if "DEPLOY_PAGE_POSTGRES" not in os.environ:
        os.environ["DEPLOY_PAGE_POSTGRES"] = "1"
        os.execv("tools/with_postgres", ["with_postgres", os.path.abspath(__file__)])
    run_group([every_command_of_the_page_is_one_that_a_test_tries, images_are_built_of_stages_that_there_are,
               what_the_page_has_made_is_a_goal_of_make, the_files_of_a_machine_without_packages_are_installed,
               a_database_is_made_backed_up_and_restored_by_the_commands_of_the_page])
