#!/usr/bin/env python3
"""Everything is restarted, one program after the other, under load, behind a proxy that tries nothing twice: no request fails and
every queued step ends once, as it should. ROLLS says how often everything is restarted (1; `make deploy-test`: 10), RATE how many
pure steps are sent a second."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from rolling_load import Load  # noqa: E402
from rolling_pool import Pool, Proxy, Release  # noqa: E402

OUT = os.environ.get("OUT", "build/release")
ROLLS = int(os.environ.get("ROLLS", "1"))
RATE = int(os.environ.get("RATE", "50"))
NEXT = os.path.join(OUT, "tests/next")  # a gateway that knows one migration more, which only adds


def restart_everything_behind(kind):
    with sluice.Database() as database, Pool(database.name) as pool, Proxy(kind, pool.gateways) as front:
        with Load(front.address, database, RATE) as load:
            for _ in range(ROLLS):
                pool.replace_all(front)
        print(f"{kind}: {load.assert_kept()}")


def nothing_fails_behind_haproxy_without_retries():
    restart_everything_behind("haproxy")


def nothing_fails_behind_nginx_as_it_comes():
    restart_everything_behind("nginx")


def migrate(database):
    subprocess.run([os.path.join(NEXT, "sluice-gateway"), "migrate", "--database", f"dbname={database.name}"], check=True,
                   stdout=subprocess.DEVNULL)


def nothing_fails_when_the_next_migration_comes_in_the_middle():
    """Old gateways go on behind the migration, and restart behind it; then they are replaced one by one."""
    with sluice.Database() as database, Pool(database.name) as pool, Proxy("haproxy", pool.gateways) as front:
        with Load(front.address, database, RATE) as load:
            pool.replace(pool.workers[0])
            before = int(database.ask("select max(version) from schema_version"))
            migrate(database)
            assert int(database.ask("select max(version) from schema_version")) == before + 1
            pool.replace(pool.gateways[0])
            for gateway in pool.gateways:
                front.await_use_of_all()
                pool.replace(gateway, Release(gateway_folder=NEXT))
            for worker in pool.workers[1:]:
                pool.replace(worker)
        print(f"migration: {load.assert_kept()}")


if __name__ == "__main__":
    run_group([nothing_fails_behind_haproxy_without_retries, nothing_fails_when_the_next_migration_comes_in_the_middle,
               nothing_fails_behind_nginx_as_it_comes])
