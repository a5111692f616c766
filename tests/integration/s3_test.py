#!/usr/bin/env python3
"""Blobs in an S3-compatible store: what holds in every store (blob_cases.py) against moto's server, which checks every request's
signature, and what only such a store can do: be slow, refuse, go away. `make s3-server` installs it into var/s3; without it these tests
say so and are skipped."""

import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from blob_cases import (CASES, MIB, Blob, Pattern, expect, read_back,  # noqa: E402
                        the_gateway_holds_a_few_windows_of_an_upload_and_of_a_download)
from s3_servers import Moto, Relay  # noqa: E402


def _settings(server, key=None):
    """A gateway's that keeps all but the smallest blobs in the store."""
    return (*server.settings(key), "--blob-inline", "64KiB")


def _against_a_server(case, **options):
    """The case as a test of this kind of store."""
    def run():
        with Moto() as server:
            case(_settings(server), **options)
    run.__name__ = case.__name__
    return run


def what_is_removed_leaves_nothing_in_the_store():
    with Moto() as server, sluice.Cluster(threads=(), settings=_settings(server)) as cluster:
        whole, begun = Pattern(9 * MIB), Pattern(30 * MIB, seed=1)
        one, two = Blob(cluster.address, whole.digest), Blob(cluster.address, begun.digest)
        expect(one.put(whole), 201)
        expect(two.put(begun, 0, 17 * MIB), 202)
        assert one.ask("DELETE")[0] == 204 and two.ask("DELETE")[0] == 204
        cluster.ask("update blob_removals set due_at = now()")
        await_that(lambda: cluster.ask("select count(*) from blob_removals") == "0", "the upkeep removes them", 120)
        assert server.counts() == [0, 0], server.counts()


def a_store_that_is_away_for_a_moment_is_waited_for():
    with Moto() as server, sluice.Cluster(threads=(), settings=_settings(server)) as cluster:
        pattern = Pattern(33 * MIB)
        blob = Blob(cluster.address, pattern.digest)
        expect(blob.put(pattern, 0, 9 * MIB), 202)
        server.pause()
        timer = threading.Timer(1, server.go_on)
        timer.start()
        expect(blob.put(pattern, 9 * MIB), 201)
        timer.join()
        read_back(blob, pattern)


def an_error_behind_a_head_of_success_passes():
    """CompleteMultipartUpload sends its head before it knows how joining the parts ends."""
    failures = [b"<Error><Code>InternalError</Code><Message>We encountered an internal error.</Message></Error>"]

    def answer(method, path):
        return failures.pop() if failures and method == "POST" and "uploadId=" in path else None

    with Moto() as server, Relay(server, answer) as relay:
        with sluice.Cluster(threads=(), settings=_settings(relay)) as cluster:
            pattern = Pattern(9 * MIB)
            blob = Blob(cluster.address, pattern.digest)
            expect(blob.put(pattern), 503, "answered POST with status 200: InternalError: We encountered an internal error.")
            expect(blob.put(pattern, pattern.size, 0), 201)
            read_back(blob, pattern)


def wrong_keys_are_said_and_nothing_is_stored():
    with Moto() as server, sluice.Cluster(threads=(), settings=_settings(server, "AKIAWRONG")) as cluster:
        pattern = Pattern(2 * MIB)
        status, _, content = Blob(cluster.address, pattern.digest).put(pattern)
        assert status == 400 and b"the blob store answered POST with status 403" in content, content
        assert cluster.ask("select count(*) from blobs") == "0"


if __name__ == "__main__":
    run_group([globals()[name] for name in sys.argv[1:]] or [
        *(_against_a_server(case) for case in CASES),
        # Moto reads a whole object to answer with a part of it: four times the size takes sixteen times as long.
        _against_a_server(the_gateway_holds_a_few_windows_of_an_upload_and_of_a_download, size=96 * MIB),
        what_is_removed_leaves_nothing_in_the_store,
        a_store_that_is_away_for_a_moment_is_waited_for,
        an_error_behind_a_head_of_success_passes,
        wrong_keys_are_said_and_nothing_is_stored,
    ])
