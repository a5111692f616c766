#!/usr/bin/env python3
"""Blobs in an S3-compatible store: what holds in every store (blob_cases.py) against moto's server, which checks every request's signature,
and what only such a store can do: be slow, refuse, go away. `make s3-server` installs it into var/s3; without it these tests
say so and are skipped."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import Skipped, await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from blob_cases import (CASES, MIB, Blob, Pattern, expect, read_back,  # noqa: E402
                        the_gateway_holds_a_few_windows_of_an_upload_and_of_a_download)

SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../var/s3/bin/moto_server")
START_SECONDS = 60
SET_UP = """
import boto3, sys
options = dict(endpoint_url=sys.argv[1], region_name="eu-central-1", aws_access_key_id="none", aws_secret_access_key="none")
boto3.client("s3", **options).create_bucket(Bucket="models", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
iam = boto3.client("iam", **options)
iam.create_user(UserName="sluice")
iam.put_user_policy(UserName="sluice", PolicyName="all", PolicyDocument='{"Version": "2012-10-17", "Statement": '
                    '[{"Effect": "Allow", "Action": "*", "Resource": "*"}]}')
key = iam.create_access_key(UserName="sluice")["AccessKey"]
print(key["AccessKeyId"], key["SecretAccessKey"])
"""
SET_UP_ACTIONS = 4  # behind these the server wants signatures


class Server:
    """`with Server() as server:` an S3 server with the bucket "models" and one key."""

    def __enter__(self):
        if not os.path.exists(SERVER):
            raise Skipped("there is no S3 server: run 'make s3-server'")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        environment = dict(os.environ, INITIAL_NO_AUTH_ACTION_COUNT=str(SET_UP_ACTIONS))
        self._process = subprocess.Popen([SERVER, "-H", "127.0.0.1", "-p", str(self.port)], env=environment,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self._set_up()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._process.send_signal(signal.SIGCONT)
        self._process.kill()
        self._process.wait()
        if hasattr(self, "_secret"):
            os.unlink(self._secret)

    def _set_up(self):
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    break
            time.sleep(0.1)
        python = os.path.join(os.path.dirname(SERVER), "python")
        answer = subprocess.run([python, "-c", SET_UP, self.endpoint], check=True, stdout=subprocess.PIPE, text=True)
        self.key, secret = answer.stdout.split()
        descriptor, self._secret = tempfile.mkstemp()
        with os.fdopen(descriptor, "w") as file:
            file.write(secret)

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.port}"

    def settings(self, key=None):
        return ("--blob-store", "s3://models/some/where", "--s3-endpoint", self.endpoint, "--s3-region", "eu-central-1",
                "--s3-key-id", key or self.key, "--s3-secret-file", self._secret, "--blob-inline", "64KiB")

    def pause(self):
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self._process.send_signal(signal.SIGCONT)


def _against_a_server(case):
    """The case as a test of this kind of store."""
    def run():
        with Server() as server:
            case(server.settings())
    run.__name__ = case.__name__
    return run


def what_is_removed_leaves_nothing_in_the_store():
    with Server() as server, sluice.Cluster(threads=(), settings=server.settings()) as cluster:
        whole, begun = Pattern(9 * MIB), Pattern(30 * MIB, seed=1)
        one, two = Blob(cluster.address, whole.digest), Blob(cluster.address, begun.digest)
        expect(one.put(whole), 201)
        expect(two.put(begun, 0, 17 * MIB), 202)
        assert one.ask("DELETE")[0] == 204 and two.ask("DELETE")[0] == 204
        cluster.ask("update blob_removals set due_at = now()")
        await_that(lambda: cluster.ask("select count(*) from blob_removals") == "0", "the upkeep removes them", 120)
        code = ("import boto3, sys; s3 = boto3.client('s3', endpoint_url=sys.argv[1], region_name='eu-central-1', "
                "aws_access_key_id=sys.argv[2], aws_secret_access_key=open(sys.argv[3]).read()); "
                "print(s3.list_objects_v2(Bucket='models')['KeyCount'], "
                "len(s3.list_multipart_uploads(Bucket='models').get('Uploads', [])))")
        python = os.path.join(os.path.dirname(SERVER), "python")
        found = subprocess.run([python, "-c", code, server.endpoint, server.key, server._secret], check=True,
                               stdout=subprocess.PIPE, text=True).stdout
        assert found == "0 0\n", found


def a_store_that_is_away_for_a_moment_is_waited_for():
    with Server() as server, sluice.Cluster(threads=(), settings=server.settings()) as cluster:
        pattern = Pattern(33 * MIB)
        blob = Blob(cluster.address, pattern.digest)
        expect(blob.put(pattern, 0, 9 * MIB), 202)
        server.pause()
        timer = threading.Timer(1, server.go_on)
        timer.start()
        expect(blob.put(pattern, 9 * MIB), 201)
        timer.join()
        read_back(blob, pattern)


def wrong_keys_are_said_and_nothing_is_stored():
    with Server() as server, sluice.Cluster(threads=(), settings=server.settings("AKIAWRONG")) as cluster:
        pattern = Pattern(2 * MIB)
        status, _, content = Blob(cluster.address, pattern.digest).put(pattern)
        assert status == 400 and b"the blob store answered POST with status 403" in content, content
        assert cluster.ask("select count(*) from blobs") == "0"


if __name__ == "__main__":
    run_group([globals()[name] for name in sys.argv[1:]] or [
        *(_against_a_server(case) for case in CASES),
        _against_a_server(the_gateway_holds_a_few_windows_of_an_upload_and_of_a_download),
        what_is_removed_leaves_nothing_in_the_store,
        a_store_that_is_away_for_a_moment_is_waited_for,
        wrong_keys_are_said_and_nothing_is_stored,
    ])
