#!/usr/bin/env python3
"""Blobs of any size over REST, in PostgreSQL: uploaded whole and in pieces, broken off and resumed, by one gateway and by two,
refused, read in ranges, removed."""

import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from blob_cases import CASES, MIB, Blob, Pattern, expect, in_store  # noqa: E402


def uploads_count_as_stored_and_an_end_frees_them():
    with sluice.Cluster(threads=()) as cluster:
        cluster.ask("update quotas set stored_bytes_max = 30 * 1048576")
        first, second = Pattern(20 * MIB), Pattern(11 * MIB, seed=1)
        one, two = Blob(cluster.address, first.digest), Blob(cluster.address, second.digest)
        expect(one.put(first, 0, 5 * MIB), 202)
        expect(two.put(second), 429, "the quota 'stored_bytes_max' has no room for 11534336 bytes")
        assert one.ask("DELETE")[0] == 204 and one.offset() is None
        expect(two.put(second), 201)
        expect(one.put(first), 429)
        assert two.ask("DELETE")[0] == 204 and two.ask("DELETE")[0] == 404 and two.ask("GET")[0] == 404
        expect(one.put(first), 201)
        assert cluster.ask("select stored_bytes from usages") == str(first.size)


def uploads_that_begin_at_once_share_the_quota():
    with sluice.Cluster(threads=()) as cluster:
        cluster.ask("update quotas set stored_bytes_max = 30 * 1048576")
        uploading = threading.Thread(target=cluster.ask, args=(
            "begin; insert into blob_uploads (tenant_id, sha256, size, location, lease_until) select id, decode(repeat('00', 32), "
            f"'hex'), {20 * MIB}, 'postgres:none', now() from tenants; select pg_sleep(3); commit",))
        uploading.start()
        try:
            asks = "select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'"
            await_that(lambda: cluster.ask(asks) == "1", "the other upload is not committed")
            pattern = Pattern(11 * MIB)
            expect(Blob(cluster.address, pattern.digest).put(pattern), 429, "has no room for 11534336 bytes")
        finally:
            uploading.join()
        assert cluster.ask("select stored_bytes from usages") == str(20 * MIB)


if __name__ == "__main__":
    run_group([in_store(case, ()) for case in CASES] + [uploads_count_as_stored_and_an_end_frees_them,
                                                   uploads_that_begin_at_once_share_the_quota])
