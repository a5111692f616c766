#!/usr/bin/env python3
"""tools/make_deb: the Debian packages hold what they should, with the permissions that they should have, their manual pages can be
read, and their programs, started as their units start them, tell a service manager when they are ready and when they end."""

import atexit
import functools
import glob
import gzip
import http.client
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import Skipped, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
from service_manager import Unit  # noqa: E402
from sluice import Database  # noqa: E402

OUT = os.environ.get("OUT", "build/release")
VERSION = "1.2.3-4"
PAGES = {"sluice": "usr/share/man/man1/sluice.1.gz", "sluice-gateway": "usr/share/man/man8/sluice-gateway.8.gz",
         "sluice-worker": "usr/share/man/man8/sluice-worker.8.gz"}
DOCUMENTS = ["usr/share/doc/{0}/changelog.Debian.gz", "usr/share/doc/{0}/changelog.gz", "usr/share/doc/{0}/copyright",
             "usr/share/lintian/overrides/{0}"]
CONTENT = {
    "sluice": ["usr/bin/sluice", PAGES["sluice"], "usr/share/sluice/examples/two_layers.json"],
    "sluice-gateway": ["etc/sluice/gateway.conf", "etc/sluice/service.conf", "usr/bin/sluice-gateway",
                       "usr/lib/systemd/system/sluice-gateway.service", "usr/lib/sysusers.d/sluice-gateway.conf", PAGES["sluice-gateway"],
                       "usr/share/sluice/openapi/openapi.json", "usr/share/sluice/openapi/openapi.yaml"],
    "sluice-worker": ["etc/sluice/worker.conf", "usr/bin/sluice-worker", "usr/lib/systemd/system/sluice-worker.service",
                      PAGES["sluice-worker"]],
    "sluice-worker-cuda": ["usr/lib/sluice/sluice-cuda.so"],
}
LIBRARIES = {"sluice": {"libc6", "libcurl4"}, "sluice-gateway": {"libc6", "libpq5", "libmicrohttpd12"},
             "sluice-worker": {"libc6", "libdnnl2", "libnghttp2-14"}, "sluice-worker-cuda": {"libc6", "sluice-worker"}}
SECRETS = {"worker-token": "a token that nobody guesses\n", "pepper": "a pepper\n"}


def make_packages():
    if not all(map(shutil.which, ("dpkg-deb", "dpkg-gencontrol", "dpkg-shlibdeps"))):
        raise Skipped("no dpkg-dev, so no packages")
    folder = tempfile.mkdtemp(prefix="sluice-deb.")
    atexit.register(shutil.rmtree, folder, True)
    os.chmod(folder, 0o755)
    subprocess.run(["tools/make_deb", folder, VERSION], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "OUT": OUT, "DPKG_DEB_COMPRESSOR_TYPE": "none"})  # packing is what takes long
    return folder


@functools.cache
def packages():
    """The path of each package."""
    return {os.path.basename(path).split("_")[0]: path for path in glob.glob(os.path.join(make_packages(), "*.deb"))}


@functools.cache
def unpacked():
    """The root below which all packages were unpacked."""
    root = tempfile.mkdtemp(prefix="sluice-root.")
    atexit.register(shutil.rmtree, root, True)
    for path in packages().values():
        subprocess.run(["dpkg-deb", "-x", path, root], check=True)
    os.chmod(root, 0o755)
    return root


def ask_dpkg(*arguments):
    return subprocess.run(["dpkg-deb", *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


def mode_of(path):
    if path == "etc/sluice/service.conf":  # a password may stand there
        return "-rw-------"
    return "-rwxr-xr-x" if path.startswith("usr/bin/") else "-rw-r--r--"


def every_package_holds_its_files_and_no_others():
    for name in set(CONTENT) - set(packages()):
        assert name == "sluice-worker-cuda" and not os.path.exists(os.path.join(OUT, "sluice-cuda.so")), name
    for name, path in packages().items():
        rows = [line.split() for line in ask_dpkg("-c", path).splitlines()]
        files = {row[5].removeprefix("./"): row for row in rows if not row[5].endswith("/")}
        assert sorted(files) == sorted(CONTENT[name] + [each.format(name) for each in DOCUMENTS]), (name, sorted(files))
        assert {row[1] for row in rows} == {"root/root"}, name
        assert {row[0] for row in rows if row[5].endswith("/")} == {"drwxr-xr-x"}, name
        for file, row in files.items():
            assert row[0] == mode_of(file), (name, file, row[0])


def every_package_names_its_version_and_what_it_needs():
    for name, path in packages().items():
        assert ask_dpkg("-f", path, "Version").strip() == VERSION, name
        needs = set(re.findall(r"(?:^|, )([\w.+-]+)", ask_dpkg("-f", path, "Depends").strip()))
        assert LIBRARIES[name] <= needs, (name, needs)
    if "sluice-worker-cuda" in packages():  # a plugin of another build is refused
        assert f"sluice-worker (= {VERSION})" in ask_dpkg("-f", packages()["sluice-worker-cuda"], "Depends")


def configuration_stays_over_upgrades_and_scripts_are_shell():
    for name, path in packages().items():
        with tempfile.TemporaryDirectory() as folder:
            ask_dpkg("-e", path, folder)
            wanted = sorted("/" + file for file in CONTENT[name] if file.startswith("etc/"))
            kept = os.path.join(folder, "conffiles")
            with open(kept if os.path.exists(kept) else os.devnull, encoding="utf-8") as file:
                assert file.read().split() == wanted, name
            scripts = {script for script in ("postinst", "prerm", "postrm") if os.path.exists(os.path.join(folder, script))}
            assert scripts == ({"postinst", "prerm", "postrm"} if wanted else set()), (name, scripts)
            for script in scripts:
                subprocess.run(["sh", "-n", os.path.join(folder, script)], check=True)
                assert os.access(os.path.join(folder, script), os.X_OK)


def the_same_sources_make_the_same_bytes():
    again = make_packages()
    for path in packages().values():
        with open(path, "rb") as one, open(os.path.join(again, os.path.basename(path)), "rb") as other:
            assert one.read() == other.read(), path


def flags_of(program):
    return re.findall(r"^  (--[\w-]+)", subprocess.run([program, "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout, re.MULTILINE)


def manual_pages_are_read_and_name_every_flag():
    if not shutil.which("man"):
        raise Skipped("no man")
    for program, path in PAGES.items():
        page = os.path.join(unpacked(), path)
        done = subprocess.run(["man", "--warnings=w", "--encoding=utf-8", "-l", page], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, env={"PATH": os.environ["PATH"], "MANWIDTH": "120", "LC_ALL": "C.UTF-8"})
        assert done.stderr == "", (program, done.stderr)
        text = re.sub(".\b", "", done.stdout)
        for flag in flags_of(os.path.join(unpacked(), "usr/bin", program)):
            assert re.search(rf"^ +{flag}[ \[]", text, re.MULTILINE), (program, flag)


def manual_pages_have_no_faults_of_their_language():
    if not shutil.which("mandoc"):
        raise Skipped("no mandoc")
    for path in PAGES.values():
        with gzip.open(os.path.join(unpacked(), path)) as page:
            done = subprocess.run(["mandoc", "-Tlint", "-Wwarning"], input=page.read(), stdout=subprocess.PIPE, check=False)
        assert done.stdout == b"", done.stdout.decode()


def installed_units_are_well_formed():
    if not shutil.which("systemd-analyze"):
        raise Skipped("no systemd-analyze")
    for name in ("sluice-gateway", "sluice-worker"):
        with open(os.path.join(unpacked(), "usr/lib/systemd/system", name + ".service"), encoding="utf-8") as file:
            text = file.read()
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, name + ".service")
            with open(copy, "w", encoding="utf-8") as file:
                file.write(text.replace("=/usr/bin/", f"={unpacked()}/usr/bin/"))
            done = subprocess.run(["systemd-analyze", "--man=no", "verify", copy], text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, check=False)
            assert (done.returncode, done.stdout) == (0, ""), done.stdout


def unit_of(name, service="", settings=""):
    """The unit as it is installed, its settings those of the package and these, on a port of the kernel's choice."""
    program = name.removeprefix("sluice-")
    with open(os.path.join(unpacked(), f"etc/sluice/{program}.conf"), encoding="utf-8") as file:
        text = file.read() + "listen = 127.0.0.1:0\n" + settings
    with open(os.path.join(unpacked(), "etc/sluice/service.conf"), encoding="utf-8") as file:
        service = file.read() + service
    files = {**SECRETS, f"{program}.conf": text, "service.conf": service}
    owner = os.stat(os.environ["PGHOST"]).st_uid  # whom the private PostgreSQL's folder belongs to
    return Unit(os.path.join(unpacked(), f"usr/lib/systemd/system/{name}.service"), unpacked(), files, owner)


def a_gateway_without_a_database_says_what_to_do_and_is_not_started_again():
    with unit_of("sluice-gateway") as unit:
        assert unit.hear() == {}
        code, said = unit.end()
        assert code == 78, said
        assert 'definition of service "sluice" not found (see THE DATABASE in sluice-gateway(8))' in said, said
    with open(os.path.join(unpacked(), "usr/lib/systemd/system/sluice-gateway.service"), encoding="utf-8") as file:
        assert "RestartPreventExitStatus=78\n" in file.read()


def checks_of(address):
    """The lines of /readyz; that there are no workers does not matter here."""
    connection = http.client.HTTPConnection(address)
    connection.request("GET", "/readyz")
    lines = connection.getresponse().read().decode().splitlines()
    connection.close()
    return lines


def a_gateway_is_ready_when_postgresql_lets_it_in_and_says_that_it_ends():
    with Database() as database, tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with unit_of("sluice-gateway", f"[sluice]\nhost={folder}\ndbname={database.name}\n", "drain-delay = 0s\n") as unit:
            assert unit.hear() == {"STATUS": "waiting for PostgreSQL, which does not answer"}
            os.symlink(os.path.join(os.environ["PGHOST"], ".s.PGSQL.5432"), os.path.join(folder, ".s.PGSQL.5432"))
            news = unit.hear()
            while "READY" not in news:  # it goes on saying that it waits
                assert set(news) == {"STATUS"}, news
                news = unit.hear()
            assert news["READY"] == "1" and news["STATUS"].startswith("listening on 127.0.0.1:"), news
            assert {"[+]serving ok", "[+]database ok"} <= set(checks_of(news["STATUS"].split()[-1]))
            unit.terminate()
            assert unit.hear().get("STOPPING") == "1"
            assert unit.end()[0] == 0


def a_worker_is_ready_when_it_listens_and_says_that_it_ends():
    with unit_of("sluice-worker") as unit:
        news = unit.hear()
        assert news["READY"] == "1", news
        with tempfile.NamedTemporaryFile("w") as token:
            token.write(SECRETS["worker-token"])
            token.flush()
            subprocess.run([os.path.join(unpacked(), "usr/bin/sluice-worker"), "probe", "--token-file", token.name, "--listen",
                            news["STATUS"].split()[-1]], check=True, stdout=subprocess.DEVNULL)
        unit.terminate()
        assert unit.hear().get("STOPPING") == "1"
        assert unit.end()[0] == 0


EX_CONFIG = 78  # no start mends it: a supervisor need not try again
MAY_PASS = 1


def reason_of(program, driver, code):
    """Why the worker, which ends with this code, does not start with a card; `driver`: the folder of its libcuda.so.1."""
    done = subprocess.run([program, "--listen", "127.0.0.1:0", "--name", "packed", "--cuda", "required"], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "LD_LIBRARY_PATH": driver})
    assert done.returncode == code, done
    return done.stderr.splitlines()[-1]


def the_worker_loads_the_plugin_from_where_its_package_puts_it():
    """As far as a driver without a card, and one that is not there, let it."""
    if "sluice-worker-cuda" not in packages():
        raise Skipped("no CUDA toolkit")
    program = os.path.join(unpacked(), "usr/bin/sluice-worker")
    with tempfile.TemporaryDirectory() as nothing, tempfile.TemporaryDirectory() as driver, tempfile.TemporaryDirectory() as other:
        assert "no CUDA driver: libcuda.so.1: cannot open shared object file" in reason_of(program, nothing, EX_CONFIG)
        os.symlink(os.path.abspath(os.path.join(OUT, "tests/plugins/libcuda.so")), os.path.join(driver, "libcuda.so.1"))
        assert "asking the CUDA driver for cards: " in reason_of(program, driver, MAY_PASS)  # only the plugin asks
        os.makedirs(os.path.join(other, "usr/bin"))
        alone = shutil.copy(program, os.path.join(other, "usr/bin"))
        assert "built without CUDA: there is no " in reason_of(alone, driver, EX_CONFIG)


if __name__ == "__main__":
    run_group([every_package_holds_its_files_and_no_others, every_package_names_its_version_and_what_it_needs,
               configuration_stays_over_upgrades_and_scripts_are_shell, the_same_sources_make_the_same_bytes,
               manual_pages_are_read_and_name_every_flag, manual_pages_have_no_faults_of_their_language, installed_units_are_well_formed,
               a_gateway_without_a_database_says_what_to_do_and_is_not_started_again,
               a_gateway_is_ready_when_postgresql_lets_it_in_and_says_that_it_ends,
               a_worker_is_ready_when_it_listens_and_says_that_it_ends, the_worker_loads_the_plugin_from_where_its_package_puts_it])
