#!/usr/bin/env python3
"""Blobs, and what takes longer: the lease of a gateway that died is waited for, and many and large blobs cost no memory."""

import base64
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from blob_cases import (MIB, Blob, Pattern, an_upload_goes_on_at_another_gateway_when_its_own_died, expect,  # noqa: E402
                        in_store, read_back, the_gateway_holds_a_few_windows_of_an_upload_and_of_a_download)
from process_memory import resident_mib  # noqa: E402


def after_many_uploads_and_deletes_the_memory_is_back():
    """Blobs that are streamed, and graphs, which are whole in memory and in a cache while they are there."""
    with sluice.Cluster(threads=()) as cluster:
        client = cluster.client()
        session = client.session()
        idle = resident_mib(cluster.gateway.pid)
        for index in range(6):
            pattern = Pattern(9 * MIB, seed=index)
            blob = Blob(cluster.address, pattern.digest)
            expect(blob.put(pattern), 201)
            read_back(blob, pattern)
            assert blob.ask("DELETE")[0] == 204
            graph = client.graph(session, _large_graph(24 * MIB, index))
            client.send("DELETE", f"/sessions/{session}/graphs/{graph}")
        await_that(lambda: resident_mib(cluster.gateway.pid) < idle + 48, f"less than {idle + 48} MiB are held")
        print(f"idle {idle:.0f} MiB, then {resident_mib(cluster.gateway.pid):.0f} MiB")


def _large_graph(size, seed):
    """A graph with one constant of so many bytes."""
    content = base64.b64encode(bytes([seed]) * size).decode()
    value = {"dtype": "DT_FLOAT", "tensorShape": {"dim": [{"size": str(size // 4)}]}, "tensorContent": content}
    return {"node": [{"name": "c", "op": "Const", "attr": {"dtype": {"type": "DT_FLOAT"}, "value": {"tensor": value}}}]}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="blobs-") as folder:
        store = ("--blob-store", f"folder:{folder}", "--blob-inline", "64KiB")
        run_group([
            in_store(an_upload_goes_on_at_another_gateway_when_its_own_died, (), waits=True),
            in_store(the_gateway_holds_a_few_windows_of_an_upload_and_of_a_download, ()),
            in_store(the_gateway_holds_a_few_windows_of_an_upload_and_of_a_download, store),
            after_many_uploads_and_deletes_the_memory_is_back,
        ])
