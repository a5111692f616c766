#!/usr/bin/env python3
"""Blobs in a folder: what holds in every store, and what happens when the folder's disk is full."""

import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import Skipped, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from blob_cases import CASES, MIB, Blob, Pattern, expect, in_store, read_back, resume  # noqa: E402


def a_full_disk_is_said_and_the_upload_goes_on_later():
    if os.geteuid() != 0 or shutil.which("mount") is None:
        raise Skipped("a small file system can only be mounted by root")
    folder = tempfile.mkdtemp(prefix="blobs-")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "none", folder], check=False,
                      stderr=subprocess.DEVNULL).returncode != 0:
        os.rmdir(folder)
        raise Skipped("no file system can be mounted here")
    try:
        with sluice.Cluster(threads=(), settings=("--blob-store", f"folder:{folder}")) as cluster:
            pattern = Pattern(30 * MIB)
            blob = Blob(cluster.address, pattern.digest)
            expect(blob.put(pattern), 503, "No space left on device")
            offset = blob.offset()
            assert 8 * MIB <= offset < 20 * MIB, offset
            expect(blob.put(pattern, offset, 5), 202)  # at once: nobody holds the upload
            subprocess.run(["mount", "-o", "remount,size=64m", folder], check=True)
            resume(blob, pattern)
            read_back(blob, pattern)
    finally:
        subprocess.run(["umount", folder], check=False)
        os.rmdir(folder)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="blobs-") as blobs:
        store = ("--blob-store", f"folder:{blobs}", "--blob-inline", "64KiB")
        run_group([in_store(case, store) for case in CASES] + [a_full_disk_is_said_and_the_upload_goes_on_later])
