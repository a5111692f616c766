#!/usr/bin/env python3
"""`sluice graph push` with models of several files and of more than a few MiB: found, uploaded, named, not sent twice; and
what cannot be is said."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import await_that, run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import onnx_model  # noqa: E402
import sluice  # noqa: E402
from onnx_model import Chain  # noqa: E402

CHAIN = Chain(layers=3, width=1024)  # 12 MiB: more than goes as a body
LARGE = Chain(layers=16, width=2048)  # 256 MiB: its push can be watched
FEED = [[float(index % 5) - 2 for index in range(CHAIN.width)]]
USAGE, REFUSED = 2, 1
MIB = 1 << 20


class Push:
    """A cluster, a session and a folder for models."""

    def __init__(self, settings=()):
        self.cluster = sluice.Cluster(threads=(1, 1), settings=settings)
        self._folder = tempfile.TemporaryDirectory()

    def __enter__(self):
        self.folder = self._folder.__enter__()
        self.cluster.__enter__()
        self.client = self.cluster.client()
        self.session = self.client.session()
        return self

    def __exit__(self, *_):
        self.cluster.__exit__()
        self._folder.cleanup()

    def command(self, *arguments):
        return sluice.command("--url", f"http://{self.cluster.address}", "graph", "push", *arguments, "--session", self.session)

    def push(self, *arguments):
        """Pushes and returns what was printed."""
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(self, *arguments):
        return subprocess.run(self.command(*arguments), capture_output=True, text=True)

    def refuse(self, code, text, *arguments):
        done = self.run(*arguments)
        assert done.returncode == code and text in done.stderr, (done.returncode, done.stderr)

    def received(self):
        """The bytes of the upload that is under way; 0 when none is."""
        return int(self.cluster.ask("select coalesce(max(received), 0) from blob_uploads"))

    def assert_not_begun_anew(self, location):
        """The blob lies where its upload began."""
        count = self.cluster.ask(f"select count(*) from blobs where location = '{location}'")
        assert count == "1", "the upload was begun anew"

    def assert_answer(self, fetch="y"):
        """The session's newest graph computes what CHAIN does."""
        answer = self.client.step(self.session, {"feeds": {"x": FEED}, "fetches": [fetch]})["outputs"][fetch]["data"]
        assert answer == CHAIN.expected(FEED[0])


def data_beside_a_model_is_found_and_sent_once():
    with Push() as place:
        path, _ = CHAIN.write(place.folder)
        first = place.push(path)
        assert "  file model.onnx.data 12.0 MiB\n" in first, first
        place.assert_answer()
        again = place.push(place.folder)
        assert again.splitlines()[0] == first.splitlines()[0], (first, again)
        assert "  file model.onnx.data 12.0 MiB, was there already\n" in again, again


def a_large_model_of_one_file_goes_as_a_blob():
    with Push() as place:
        path = os.path.join(place.folder, "whole.onnx")
        with open(path, "wb") as file:
            file.write(CHAIN.whole())
        assert "  file whole.onnx 12." in place.push(path)
        place.assert_answer()


def an_archive_of_a_model_and_its_data_is_known_as_onnx():
    with Push() as place:
        path = os.path.join(place.folder, "chain.tar")
        with tempfile.TemporaryDirectory() as folder, tarfile.open(path, "w") as tar:
            for name in CHAIN.write(folder):
                tar.add(name, os.path.join("chain", os.path.basename(name)))
        assert "application/onnx" in place.push(path)
        place.assert_answer()


def a_saved_model_of_any_size_is_sent_without_an_archive_being_written():
    with Push() as place:
        with tarfile.open("tests/unit/gateway/expand/data/affine.tar") as tar:
            tar.extractall(place.folder)
        os.makedirs(os.path.join(place.folder, "assets/deep"))
        with open(os.path.join(place.folder, "assets/deep/large.bin"), "wb") as file:
            file.truncate(9 * MIB + 5)
        nowhere = dict(os.environ, TMPDIR="/nowhere")
        done = subprocess.run(place.command(place.folder), env=nowhere, capture_output=True, text=True)
        assert done.returncode == 0 and f"  file {place.folder} 9." in done.stdout, (done.stdout, done.stderr)
        step = {"feeds": {"x": [[1, 1]], "times": 2}, "fetches": ["y"]}
        assert place.client.step(place.session, step)["outputs"]["y"]["data"] == [21.5, 30.5]


def curl_text(place, *arguments):
    url = f"http://{place.cluster.address}/api/v1/sessions/{place.session}/graphs"
    return subprocess.run(["curl", "-sS", url, *arguments], capture_output=True, text=True, check=True).stdout


def curl(place, *arguments):
    return json.loads(curl_text(place, *arguments))


def curl_alone_sends_a_model_and_its_data():
    """The model comes as a tar and as a form, and is held in memory whole or not."""
    for settings in ((), ("--resident-weights", "1MiB")):
        with Push(settings) as place:
            path, data = CHAIN.write(place.folder)
            archive = os.path.join(place.folder, "chain.tar")
            with tarfile.open(archive, "w") as tar:
                tar.add(path, "model.onnx")
                tar.add(data, "model.onnx.data")
            made = curl(place, "-F", f"model.onnx=@{path}", "-F", f"model.onnx.data=@{data}")
            place.assert_answer()
            assert curl(place, "-F", f"model.onnx.data=@{data}", "-F", f"model.onnx=@{path}")["id"] == made["id"]
            made = curl(place, "-H", "Content-Type: application/onnx", "--data-binary", f"@{archive}")
            assert "id" in made, made
            place.assert_answer()


def a_form_that_is_no_model_is_refused():
    with Push(("--resident-weights", "1MiB")) as place:
        path, data = CHAIN.write(place.folder)
        refused = curl(place, "-F", f"model.onnx=@{path}")
        assert refused["detail"].endswith("keeps its data in 'model.onnx.data', which was not given with the model"), refused
        refused = curl(place, "-F", f"model.onnx.data=@{data}")
        assert refused["detail"] == "there is no file whose name ends in '.onnx'", refused
        refused = curl(place, "-F", f"model.onnx=@{path}", "-F", f"model.onnx=@{data}")
        assert refused["detail"] == "the form has the file 'model.onnx' twice", refused
        assert place.cluster.ask("select count(*) from blob_uploads") == "0"


def a_key_makes_a_large_model_once():
    with Push(("--resident-weights", "1MiB")) as place:
        path, _ = CHAIN.write(place.folder)
        with open(path, "rb") as file:
            document = file.read()
        key = ("-i", "-H", "Idempotency-Key: once", "-H", "Content-Type: application/onnx")
        for body, status, mark in ((path, 400, ""), (path, 400, ""), (None, 201, ""), (None, 201, "Idempotent-Replayed: true")):
            whole = os.path.join(place.folder, "whole.onnx")
            with open(whole, "wb") as file:
                file.write(CHAIN.whole() if body is None else document)
            answer = curl_text(place, *key, "--data-binary", f"@{whole}")
            assert f"HTTP/1.1 {status}" in answer and mark in answer, answer
        answer = curl_text(place, *key, "--data-binary", f"@{path}")
        assert "HTTP/1.1 422" in answer, answer
        place.assert_answer()


def files_that_are_missing_or_outside_are_named():
    with Push() as place:
        path, data = CHAIN.write(place.folder)
        os.unlink(data)
        place.refuse(USAGE, f"'{path}' keeps tensors in another file: file '{data}' cannot be opened: No such file", path)
        document, _ = CHAIN.parted("../elsewhere.data")
        with open(path, "wb") as file:
            file.write(document)
        place.refuse(USAGE, "the model keeps data in '../elsewhere.data', which is not a file of the model's folder", path)
        with open(path, "wb") as file:
            file.write(document[:-7])
        place.refuse(USAGE, f"'{path}': the file is damaged", path)
        empty = os.path.join(place.folder, "empty.json")
        with open(empty, "wb"):
            place.refuse(REFUSED, "the request has no body: the graph is empty", empty)
        with open(os.path.join(place.folder, "other.onnx"), "wb") as file:
            file.write(document)
        place.refuse(USAGE, f"folder '{place.folder}' has several models: name one of its .onnx files", place.folder)


def a_quota_that_has_no_room_says_what_to_set():
    with Push() as place:
        place.cluster.ask(f"update quotas set stored_bytes_max = {4 * MIB}")
        path, _ = CHAIN.write(place.folder)
        text = "the quota 'stored_bytes_max' has no room for 12582912 bytes: delete graphs or blobs, or have an operator raise it"
        place.refuse(REFUSED, text, path)


def a_file_that_changes_meanwhile_is_noticed():
    with Push() as place, tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "growing.onnx")
        with open(path, "wb") as file:
            file.write(onnx_model.text(9, b""))  # a field of ModelProto that nobody reads
            file.truncate(256 * MIB)
        ended = threading.Event()

        def touch():
            while not ended.wait(0.001):
                os.utime(path)

        thread = threading.Thread(target=touch)
        thread.start()
        try:
            place.refuse(USAGE, f"file '{path}' has changed since it was looked at: begin again", "--format", "graphdef", path)
        finally:
            ended.set()
            thread.join()


@contextlib.contextmanager
def _pushing(place, path):
    """The process of a push of which some parts are stored; it ends with the block."""
    process = subprocess.Popen(place.command(path), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        await_that(lambda: place.received() >= 16 * MIB or process.poll() is not None, "some parts are stored")
        assert process.poll() is None, process.communicate()
        yield process
    finally:
        process.kill()
        process.wait()


def an_upload_that_was_interrupted_goes_on_where_it_was():
    with Push() as place:
        path, _ = LARGE.write(place.folder)
        with _pushing(place, path) as pushing:
            pushing.send_signal(signal.SIGINT)
            _, errors = pushing.communicate()
        assert pushing.returncode == 130, (pushing.returncode, errors)
        assert "interrupted: 'model.onnx.data' goes on where it was when the command is given again" in errors, errors
        location = place.cluster.ask("select location from blob_uploads")
        assert "was there already" not in place.push(path).splitlines()[-1]
        place.assert_not_begun_anew(location)


def reading_that_is_interrupted_says_so():
    with Push() as place:
        path = os.path.join(place.folder, "large.onnx")
        with open(path, "wb") as file:
            file.truncate(64 << 30)  # a hole, read for minutes
        pushing = subprocess.Popen(place.command("--format", "graphdef", path), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        assert ": reading:" in pushing.stderr.readline()
        pushing.send_signal(signal.SIGINT)
        _, errors = pushing.communicate()
        assert pushing.returncode == 130 and errors == "sluice: interrupted\n", (pushing.returncode, errors)


class Tenant:
    """A cluster whose one tenant has these quotas, and a file of 9 MiB."""

    def __init__(self, **quotas):
        self.cluster = sluice.Cluster(threads=(), tenants={"one": quotas})
        self._folder = tempfile.TemporaryDirectory()

    def __enter__(self):
        folder = self._folder.__enter__()
        self.cluster.__enter__()
        self.file, self.key = os.path.join(folder, "file"), os.path.join(folder, "key")
        with open(self.file, "wb") as file:
            file.write(os.urandom(9 * MIB))
        with open(self.key, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(self.cluster.keys["one"])
        return self

    def __exit__(self, *_):
        self.cluster.__exit__()
        self._folder.cleanup()

    def put(self, *arguments):
        command = sluice.command("--url", f"http://{self.cluster.address}", *arguments, "blob", "put", self.file)
        return subprocess.run(command, capture_output=True, text=True)


def a_key_that_is_missing_is_said():
    with Tenant() as place:
        done = place.put()
        assert done.returncode == REFUSED and "'--key-file' names the file of a key" in done.stderr, done.stderr
        done = place.put("--json")
        assert json.loads(done.stdout)["code"] == "UNAUTHENTICATED", done.stdout


def requests_that_come_too_fast_are_sent_again():
    with Tenant(requests_per_second=1) as place:
        done = place.put("--json", "--key-file", place.key)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["size"] == 9 * MIB, done.stdout


def a_gateway_that_is_restarted_is_waited_for():
    with Push() as place:
        path, _ = LARGE.write(place.folder)
        with _pushing(place, path) as pushing:
            location = place.cluster.ask("select location from blob_uploads")
            place.cluster.gateway.kill()
            said = pushing.stderr.readline()
            while said and not said.endswith("; trying again\n"):
                said = pushing.stderr.readline()
            assert said.startswith("model.onnx.data: "), said
            place.cluster.add_gateway(place.cluster.address)
            _, errors = pushing.communicate()
        assert pushing.returncode == 0, errors
        place.assert_not_begun_anew(location)


if __name__ == "__main__":
    run_group([globals()[name] for name in sys.argv[1:]] or [
        data_beside_a_model_is_found_and_sent_once,
        a_large_model_of_one_file_goes_as_a_blob,
        an_archive_of_a_model_and_its_data_is_known_as_onnx,
        a_saved_model_of_any_size_is_sent_without_an_archive_being_written,
        curl_alone_sends_a_model_and_its_data,
        a_key_makes_a_large_model_once,
        a_form_that_is_no_model_is_refused,
        files_that_are_missing_or_outside_are_named,
        reading_that_is_interrupted_says_so,
        a_key_that_is_missing_is_said,
        requests_that_come_too_fast_are_sent_again,
        a_quota_that_has_no_room_says_what_to_set,
        a_file_that_changes_meanwhile_is_noticed,
        an_upload_that_was_interrupted_goes_on_where_it_was,
        a_gateway_that_is_restarted_is_waited_for,
    ])
