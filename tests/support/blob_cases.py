"""What holds for blobs in every kind of blob store. Each case takes the gateway's settings that name the store."""

import hashlib
import http.client
import json
import socket
import threading
import time

import sluice
from group import PATIENCE_SECONDS, await_that
from process_memory import Peak

MIB = 1 << 20
GROWTH_MIB = 64  # of a gateway, whatever passes through it
LEASE_SECONDS = 20  # UPLOAD_LEASE_MS: how long a gateway that died keeps others out


def in_store(case, settings, **options):
    """The case as a test of one store."""
    def run():
        case(settings, **options)
    run.__name__ = case.__name__
    return run


class Pattern:
    """Bytes of any size that are not held: a block that repeats, each time with its number in front."""

    BLOCK = bytes((index * 131 + index // 7) % 256 for index in range(MIB - 8))

    def __init__(self, size, seed=0):
        self.size = size
        self._seed = seed
        digest = hashlib.sha256()
        for offset in range(0, size, MIB):
            digest.update(self.part(offset, min(MIB, size - offset)))
        self.digest = digest.hexdigest()

    def part(self, offset, size):
        pieces = []
        end = offset + size
        while offset < end:
            block = (offset // MIB + self._seed).to_bytes(8, "little") + self.BLOCK
            piece = block[offset % MIB:][:end - offset]
            pieces.append(piece)
            offset += len(piece)
        return b"".join(pieces)


class Blob:
    """One blob at one gateway."""

    def __init__(self, address, digest):
        self._address = address
        self.path = f"/api/v1/blobs/{digest}"

    def ask(self, method, body=None, **headers):
        """The reply's status, headers and content."""
        connection = http.client.HTTPConnection(self._address, timeout=PATIENCE_SECONDS * 5)
        try:
            connection.request(method, self.path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            reply = connection.getresponse()
            return reply.status, reply.headers, reply.read()
        finally:
            connection.close()

    def put(self, pattern, offset=0, size=None):
        size = pattern.size - offset if size is None else size
        content_range = f"bytes {offset}-{offset + size - 1}/{pattern.size}" if size > 0 else f"bytes */{pattern.size}"
        return self.ask("PUT", pattern.part(offset, size), Content_Range=content_range)

    def offset(self):
        """The bytes of the upload that have come; None when there is none, or the database is away."""
        status, headers, _ = self.ask("HEAD")
        if status == 503:
            return None
        assert status in (200, 204, 404), status
        return {200: lambda: int(headers["Content-Length"]), 204: lambda: int(headers["Upload-Offset"]),
                404: lambda: None}[status]()

    def break_off(self, pattern, offset, size):
        """Sends a part of what is announced and closes."""
        host, port = self._address.rsplit(":", 1)
        with socket.create_connection((host, int(port))) as connection:
            head = (f"PUT {self.path} HTTP/1.1\r\nHost: {self._address}\r\nContent-Length: {pattern.size - offset}\r\n"
                    f"Content-Range: bytes {offset}-{pattern.size - 1}/{pattern.size}\r\n\r\n")
            connection.sendall(head.encode() + pattern.part(offset, size))


def expect(answer, status, text=""):
    assert answer[0] == status, (answer[0], answer[2][:400])
    assert text in answer[2].decode(), answer[2][:400]
    return answer


def resume(blob, pattern, piece=64 * MIB):
    """Goes on until the blob is whole, as a client does; each try asks first."""
    until = time.monotonic() + PATIENCE_SECONDS + LEASE_SECONDS
    while time.monotonic() < until:
        offset = blob.offset() or 0
        try:
            status, _, content = blob.put(pattern, offset, min(piece, pattern.size - offset))
        except (OSError, http.client.HTTPException):
            continue  # refused while it was sent
        if status in (200, 201):
            return
        assert status in (202, 409, 503), content
        if status != 202:
            time.sleep(0.2)
    raise AssertionError("the upload does not end")


def read_part(blob, part):
    """Asks again after a 503, as a client does: a connection to the database may have been found lost."""
    def answer():
        found = blob.ask("GET", Range=part)
        return None if found[0] == 503 else found
    return await_that(answer, f"{part} is read")


def read_back(blob, pattern):
    for offset in range(0, pattern.size, 16 * MIB):
        size = min(16 * MIB, pattern.size - offset)
        part = f"{offset}-{offset + size - 1}"
        status, headers, content = read_part(blob, f"bytes={part}")
        assert status == 206, (status, content[:400])
        assert headers["Content-Range"] == f"bytes {part}/{pattern.size}"
        assert content == pattern.part(offset, size)


def a_blob_is_kept_under_its_digest_and_read_in_ranges(settings):
    with sluice.Cluster(threads=(), settings=settings) as cluster:
        for size in (0, 1, MIB, MIB + 1, 4 * MIB, 8 * MIB, 21 * MIB + 5):
            pattern = Pattern(size, seed=size)
            blob = Blob(cluster.address, pattern.digest)
            assert blob.offset() is None
            document = json.loads(expect(blob.ask("PUT", pattern.part(0, size)), 201)[2])
            assert document == {"ref": f"sha256:{pattern.digest}", "size": size, "offset": size}
            expect(blob.ask("PUT", pattern.part(0, size)), 200)
            assert blob.offset() == size
            status, headers, content = blob.ask("GET")
            assert status == 200 and content == pattern.part(0, size)
            assert headers["ETag"] == f'"{pattern.digest}"' and headers["Accept-Ranges"] == "bytes"
            assert blob.ask("GET", If_None_Match=headers["ETag"])[0] == 304
            if size > MIB:
                assert blob.ask("GET", Range="bytes=-5")[2] == pattern.part(size - 5, 5)
                assert blob.ask("GET", Range=f"bytes={MIB - 3}-{MIB + 2}")[2] == pattern.part(MIB - 3, min(6, size - MIB + 3))
            answer = blob.ask("GET", Range=f"bytes={size}-")
            assert answer[0] == 416 and answer[1]["Content-Range"] == f"bytes */{size}"
        assert cluster.ask("select count(*) from blob_uploads") == "0"
        elsewhere = cluster.ask("select count(*) from blobs where location not like 'postgres:%'")
        assert elsewhere == ("5" if settings else "0"), elsewhere


def a_reader_that_pauses_gets_the_rest(settings):
    """While it pauses, the gateway's queue for it fills up to its limit, and must be filled again afterwards."""
    with sluice.Cluster(threads=(), settings=settings) as cluster:
        pattern = Pattern(8 * MIB)
        blob = Blob(cluster.address, pattern.digest)
        expect(blob.put(pattern), 201)
        host, port = cluster.address.split(":")
        with socket.socket() as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
            reader.settimeout(PATIENCE_SECONDS)
            reader.connect((host, int(port)))
            reader.sendall(f"GET /api/v1/blobs/{pattern.digest} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
            content, received = b"", b"-"
            while received:
                if len(content) < 6 * MIB:
                    time.sleep(0.02)
                received = reader.recv(MIB)
                content += received
        assert content.endswith(pattern.part(0, pattern.size))


def an_upload_that_broke_off_goes_on_where_it_was(settings):
    with sluice.Cluster(threads=(), settings=settings) as cluster:
        pattern = Pattern(40 * MIB + 77)
        blob = Blob(cluster.address, pattern.digest)
        blob.break_off(pattern, 0, 13 * MIB + 1000)
        offset = await_that(blob.offset, "the beginning is kept")
        offset = await_that(lambda: blob.offset() if blob.offset() >= 12 * MIB else None, "what was sent is kept")
        assert offset <= 13 * MIB + 1000
        answer = await_that(lambda: _named_offset(blob.put(pattern, pattern.size - 5, 5)), "the first request is over")
        offset = blob.offset()
        expect(answer, 409, f"goes on at offset {offset}, not {pattern.size - 5}")
        assert int(answer[1]["Upload-Offset"]) == offset <= 13 * MIB + 1000
        answer = expect(blob.put(pattern, offset, 5 * MIB + 3), 202)
        assert int(answer[1]["Upload-Offset"]) == offset + 5 * MIB + 3 == blob.offset()
        assert blob.ask("GET")[0] == 404
        resume(blob, pattern, piece=7 * MIB + 1)
        read_back(blob, pattern)


def _named_offset(answer):
    """The answer, when it says where the upload goes on; another request may still be ending."""
    return answer if "Upload-Offset" in answer[1] else None


def an_upload_goes_on_at_another_gateway_when_its_own_died(settings, waits=False):
    """`waits`: for the lease of the gateway that died; else the lease is ended."""
    with sluice.Cluster(threads=(), settings=settings) as cluster:
        first = cluster.add_gateway()
        pattern = Pattern(48 * MIB + 5)
        dying = Blob(first.address, pattern.digest)
        blob = Blob(cluster.address, pattern.digest)
        sender = threading.Thread(target=lambda: _ignore(dying.break_off, pattern, 0, 30 * MIB))
        sender.start()
        await_that(lambda: (blob.offset() or 0) >= 8 * MIB, "some parts are stored")
        first.kill()
        sender.join()
        assert 8 * MIB <= blob.offset() < pattern.size
        if not waits:
            cluster.ask("update blob_uploads set lease_until = now()")
        resume(blob, pattern)
        read_back(blob, pattern)


def _ignore(function, *arguments):
    try:
        function(*arguments)
    except OSError:
        pass


def one_of_two_uploads_of_the_same_bytes_waits(settings):
    with sluice.Cluster(threads=(), settings=settings) as cluster:
        other = cluster.add_gateway()
        pattern = Pattern(24 * MIB)
        blobs = [Blob(cluster.address, pattern.digest), Blob(other.address, pattern.digest)]
        host, port = cluster.address.rsplit(":", 1)
        with socket.create_connection((host, int(port))) as slow:
            slow.sendall(f"PUT {blobs[0].path} HTTP/1.1\r\nHost: {cluster.address}\r\nContent-Length: {pattern.size}\r\n\r\n".encode())
            slow.sendall(pattern.part(0, 10 * MIB))
            await_that(lambda: (blobs[1].offset() or 0) >= 4 * MIB, "the first upload is under way")
            offset = blobs[1].offset()
            for blob in blobs:
                expect(blob.put(pattern, offset), 409, "another request is uploading these")
            slow.sendall(pattern.part(10 * MIB, 14 * MIB))
            assert slow.recv(12) == b"HTTP/1.1 201"
        for blob in blobs:
            expect(blob.put(pattern), 200)
            read_back(blob, pattern)
        assert cluster.ask("select count(*) from blobs") == "1"


def bytes_with_another_digest_are_refused_and_removed(settings):
    with sluice.Cluster(threads=(), settings=settings) as cluster:
        pattern = Pattern(9 * MIB)
        wrong = Pattern(9 * MIB, seed=3)
        blob = Blob(cluster.address, wrong.digest)
        text = f"have the digest {pattern.digest}, not {wrong.digest}: the upload is removed"
        expect(blob.ask("PUT", pattern.part(0, pattern.size)), 400, text)
        assert blob.offset() is None
        assert cluster.ask("select stored_bytes from usages") == "0"
        assert cluster.ask("select count(*) from blob_removals") == "1"
        expect(blob.ask("PUT", wrong.part(0, wrong.size)), 201)
        read_back(blob, wrong)
        for header in ("bytes 5-3/10", "bytes 0-9/10", "5-6/10", "bytes 0-4/*", "bytes 3-4"):
            expect(blob.ask("PUT", b"12345", Content_Range=header), 400)


def a_lost_database_connection_loses_no_more_than_a_part(settings):
    with sluice.Cluster(threads=(), settings=settings) as cluster:
        pattern = Pattern(64 * MIB + 9)
        blob = Blob(cluster.address, pattern.digest)
        is_over = threading.Event()

        def cut_connections():
            while not is_over.wait(0.15):
                cluster.ask("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'sluice_app' "
                            "and datname = current_database()")

        cutter = threading.Thread(target=cut_connections)
        cutter.start()
        try:
            for _ in range(12):
                _ignore_status(blob, pattern)
        finally:
            is_over.set()
            cutter.join()
        await_that(lambda: blob.offset() is not None or not _ignore_status(blob, pattern), "the database is back")
        resume(blob, pattern)
        read_back(blob, pattern)


def _ignore_status(blob, pattern):
    """One try to go on, which may fail in any way."""
    try:
        _, headers, _ = blob.ask("HEAD")
        offset = int(headers.get("Upload-Offset", 0))
        blob.put(pattern, offset, min(8 * MIB, pattern.size - offset))
        return True
    except (OSError, http.client.HTTPException):
        return False


def the_gateway_holds_a_few_windows_of_an_upload_and_of_a_download(settings, size=200 * MIB):
    with sluice.Cluster(threads=(), settings=settings) as cluster:
        pattern = Pattern(size)
        warm = Pattern(9 * MIB, seed=5)
        blob = Blob(cluster.address, pattern.digest)
        expect(Blob(cluster.address, warm.digest).put(warm), 201)
        with Peak(cluster.gateway.pid) as peak:
            blob.break_off(pattern, 0, size // 2)
            await_that(lambda: (blob.offset() or 0) >= size // 2 - MIB, "the upload is under way")
            resume(blob, pattern)
            read_back(blob, pattern)
        print(f"{settings[1:] or 'postgres'}: idle {peak.before_mib:.0f} MiB, at most {peak.mib:.0f} MiB")
        assert peak.grown_mib() < GROWTH_MIB, (peak.before_mib, peak.mib)


# Those that take seconds on any store. The other sends much.
CASES = [
    a_blob_is_kept_under_its_digest_and_read_in_ranges,
    a_reader_that_pauses_gets_the_rest,
    an_upload_that_broke_off_goes_on_where_it_was,
    an_upload_goes_on_at_another_gateway_when_its_own_died,
    one_of_two_uploads_of_the_same_bytes_waits,
    bytes_with_another_digest_are_refused_and_removed,
    a_lost_database_connection_loses_no_more_than_a_part,
]
