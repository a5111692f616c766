#!/usr/bin/env python3
"""deploy/README.md's backup: a dump of the database, restored into an empty cluster of PostgreSQL, serves the graphs, keys and
outputs that it held. Runs itself again beside the second cluster."""

import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402

REQUEST = {"feeds": {"x": [[1, 2, 3, 4]]}, "fetches": ["probabilities"]}
RESTORED = "restored"


def serve_restored(dump, request):
    """Beside the second cluster: restores as deploy/README.md says, runs an old graph by an old key, reads an old step."""
    subprocess.run(["createdb", RESTORED], check=True)
    subprocess.run(["pg_restore", "--exit-on-error", "--dbname", RESTORED, dump], check=True)
    worker = sluice.Program("sluice-worker", "--listen", "127.0.0.1:0")
    gateway = sluice.Program("sluice-gateway", "--listen", "127.0.0.1:0", "--auth", "keys", "--database", f"dbname={RESTORED}",
                             "--workers", worker.address)
    client = sluice.Client(gateway.address, request["key"])
    try:
        print(json.dumps([client.step(request["session"], REQUEST)["outputs"], client.send("GET", f"/sessions/{request['session']}/steps/{request['step']}")["state"]]))
    finally:
        client.close()
        gateway.stop()
        worker.stop()


def a_restored_database_serves_what_it_held():
    with sluice.Cluster(threads=(1,), tenants={"vision": {}}) as cluster, tempfile.TemporaryDirectory() as folder:
        client = cluster.client("vision")
        session = client.session()
        with open("deploy/examples/two_layers.json", "rb") as file:
            client.graph(session, file.read())
        outputs = client.step(session, REQUEST)["outputs"]
        queued = client.step(session, REQUEST, prefer="respond-async")["id"]
        await_that(lambda: client.send("GET", f"/sessions/{session}/steps/{queued}")["state"] == "succeeded", "the queued step has ended")
        client.close()
        dump = os.path.join(folder, "sluice.dump")
        subprocess.run(["pg_dump", "--format", "custom", "--exclude-table-data", "sluice.events", "--file", dump, cluster.database.name], check=True)
        os.chmod(folder, 0o755)
        request = {"key": cluster.keys["vision"], "session": session, "step": queued}
        done = subprocess.run(["tools/with_postgres", sys.executable, __file__, dump, json.dumps(request)], check=True, text=True,
                              stdout=subprocess.PIPE)
        assert json.loads(done.stdout.splitlines()[-1]) == [outputs, "succeeded"], done.stdout


if __name__ == "__main__":
    if len(sys.argv) > 1:
        serve_restored(sys.argv[1], json.loads(sys.argv[2]))
    else:
        run_group([a_restored_database_serves_what_it_held])
