"""Servers that speak S3, as processes on loopback, where `make s3-server` has installed them: moto's, which checks every
signature and holds objects in memory, and s3rver, whose objects are files."""

import http.client
import http.server
import os
import signal
import socket
import subprocess
import tempfile
import threading

from group import Skipped, await_that

INSTALLED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../var")
BUCKET = "models"
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
SET_UP_ACTIONS = 4  # behind these moto wants signatures
COUNT_OBJECTS = """
import boto3, sys
s3 = boto3.client("s3", endpoint_url=sys.argv[1], region_name="eu-central-1", aws_access_key_id=sys.argv[2],
                  aws_secret_access_key=open(sys.argv[3]).read())
print(s3.list_objects_v2(Bucket="models")["KeyCount"], len(s3.list_multipart_uploads(Bucket="models").get("Uploads", [])))
"""


class _Server:
    """`with … as server:` a server with a bucket and one key, whose secret is in a file."""

    PROGRAM = ""
    REGION = ""

    def __enter__(self):
        if not self.is_installed():
            raise Skipped("there is no S3 server: run 'make s3-server'")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self._folder = tempfile.TemporaryDirectory(prefix="s3-")
        self._secret = os.path.join(self._folder.name, "secret")
        self._process = subprocess.Popen(self._command(), env=self._environment(), stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL)
        try:
            await_that(self._answers, "the S3 server comes up")
            self._key, secret = self._make_key()
            with open(self._secret, "w", encoding="ascii") as file:
                file.write(secret)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._process.send_signal(signal.SIGCONT)
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()

    @classmethod
    def is_installed(cls):
        return os.path.exists(os.path.join(INSTALLED, cls.PROGRAM))

    def _answers(self):
        if self._process.poll() is not None:
            raise RuntimeError(f"{self.PROGRAM} has ended with {self._process.returncode}")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0

    def _command(self):
        raise NotImplementedError

    def _environment(self):
        return None

    def _make_key(self):
        """The key and its secret."""
        raise NotImplementedError

    @property
    def address(self):
        return f"127.0.0.1:{self._port}"

    @property
    def endpoint(self):
        return f"http://{self.address}"

    def settings(self, key=None):
        """A gateway's, with this key or the server's own."""
        return ("--blob-store", f"s3://{BUCKET}/some/where", "--s3-endpoint", self.endpoint, "--s3-region", self.REGION,
                "--s3-key-id", key or self._key, "--s3-secret-file", self._secret)

    def pause(self):
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self._process.send_signal(signal.SIGCONT)


class Moto(_Server):
    """Checks signatures; reads a whole object to answer with a part of it, so that large ones take long."""

    PROGRAM = "s3/bin/moto_server"
    REGION = "eu-central-1"

    def _command(self):
        return [os.path.join(INSTALLED, self.PROGRAM), "-H", "127.0.0.1", "-p", str(self._port)]

    def _environment(self):
        return dict(os.environ, INITIAL_NO_AUTH_ACTION_COUNT=str(SET_UP_ACTIONS))

    def _make_key(self):
        return self._run(SET_UP, self.endpoint).split()

    @staticmethod
    def _run(code, *arguments):
        """What a program of Python prints that may use boto3."""
        python = os.path.join(INSTALLED, "s3/bin/python")
        return subprocess.run([python, "-c", code, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout

    def counts(self):
        """How many objects there are, and how many uploads in parts that have not ended."""
        return [int(count) for count in self._run(COUNT_OBJECTS, self.endpoint, self._key, self._secret).split()]


class FileServer(_Server):
    """s3rver: takes any signature of its key, and has room for objects of many GiB."""

    PROGRAM = "s3rver/node_modules/.bin/s3rver"
    REGION = "us-east-1"

    def _command(self):
        return [os.path.join(INSTALLED, self.PROGRAM), "-d", os.path.join(self._folder.name, "objects"), "-a", "127.0.0.1",
                "-p", str(self._port), "--configure-bucket", BUCKET, "--silent"]

    def _make_key(self):
        return "S3RVER", "S3RVER"


class Relay:
    """`with Relay(server, answer) as relay:` passes requests on to the server, but for those to which `answer(method, path)`
    returns a document: they are answered with that, behind a head of success."""

    def __init__(self, server, answer):
        self._server = server
        self._relay = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler(server.address, answer))

    def __enter__(self):
        threading.Thread(target=self._relay.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._relay.shutdown()
        self._relay.server_close()

    def settings(self, key=None):
        endpoint = f"http://127.0.0.1:{self._relay.server_port}"
        return tuple(endpoint if setting == self._server.endpoint else setting for setting in self._server.settings(key))

    @staticmethod
    def _handler(address, answer):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def relay(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                content = answer(self.command, self.path)
                status, headers = 200, {}
                if content is None:
                    connection = http.client.HTTPConnection(address)
                    connection.request(self.command, self.path, body, dict(self.headers))
                    reply = connection.getresponse()
                    status, headers, content = reply.status, dict(reply.headers), reply.read()
                    connection.close()
                size = headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(content))
                self.send_response_only(status)
                for name, value in headers.items():
                    if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                        self.send_header(name, value)
                self.send_header("Content-Length", size)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = relay

            def log_message(self, *_):
                pass

        return Handler
