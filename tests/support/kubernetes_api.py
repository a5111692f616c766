"""A Kubernetes API of the tests' own, for one resource, the EndpointSlices of one namespace: lists in pages, watches as chunked answers
that go on, versions that are forgotten, bookmarks, tokens and refusals, as https://kubernetes.io/docs/reference/using-api/api-concepts/
has them."""

import http.server
import json
import os
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse

NAMESPACE = "models"
SERVICE = "sluice-worker"
PATH = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
STREAM_SECONDS = 0.05


def endpoint(address, **conditions):
    """An endpoint of a worker; conditions as the API has them, None where it says nothing."""
    return {"addresses": [address.rsplit(":", 1)[0]], "conditions": conditions, "targetRef": {"kind": "Pod", "name": "a-pod"}}


def endpoint_slice(name, port, *endpoints, port_name="h2c"):
    return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"kubernetes.io/service-name": SERVICE}},
            "endpoints": list(endpoints) or None, "ports": [{"name": "metrics", "port": 1, "protocol": "TCP"},
                                                            {"name": port_name, "port": port, "protocol": "TCP"}]}


def status(code, reason, message):
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "reason": reason, "code": code}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):  # pylint: disable=invalid-name
        api = self.server.api
        url = urllib.parse.urlsplit(self.path)
        query = {name: values[0] for name, values in urllib.parse.parse_qs(url.query).items()}
        fault = api.refusal(url.path, query, self.headers.get("Authorization"))
        is_watch = query.get("watch") == "true"
        api.note("watch" if is_watch else "list", query, fault)
        if fault is not None:
            self.answer(fault["code"], fault)
        elif is_watch:
            self.stream(api, int(query["resourceVersion"]), int(query.get("timeoutSeconds", 1800)))
        else:
            self.answer(200, api.page(int(query.get("limit", 500)), query.get("continue")))

    def answer(self, code, document):
        body = json.dumps(document).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, api, version, seconds):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        generation, number, end = api.generation, api.counted("watch"), time.monotonic() + seconds
        while not api.has_stopped and api.generation == generation and (time.monotonic() < end or number <= api.silenced):
            if number <= api.silenced:
                time.sleep(STREAM_SECONDS)
                continue
            events, version = api.events_after(version)
            for event in events:
                self.send_chunks(json.dumps(event).encode() + b"\n")
                if event["type"] == "ERROR":
                    return self.end_stream()
            with api.changed:
                api.changed.wait(STREAM_SECONDS)
        if api.breaks_off:
            self.send_chunks(b'{"type":"MODIFIED","object":{"metadata"')  # a line that never ends
            self.close_connection = True
            self.connection.close()
        else:
            for event in api.events_after(version)[0]:
                self.send_chunks(json.dumps(event).encode() + b"\n")
            self.end_stream()

    def send_chunks(self, data):
        """In two chunks, of which neither is a line."""
        for part in (data[:7], data[7:]):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.flush()

    def end_stream(self):
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # gateways hang up as they like


class Api:
    """`with Api() as api:` it listens, at `api.url`; `api.account` is the folder of a service account that may ask."""

    def __init__(self, has_tls=False, page_size=500):
        self.changed = threading.Condition()
        self.slices, self.events, self.requests = {}, [], []
        self.version, self.forgotten = 100, 100
        self.token = "the-first-token"
        self.generation, self.breaks_off, self.has_stopped = 0, False, False
        self.silenced = 0  # watches up to this one tell nothing and do not end
        self.gone_as_status, self.failure = False, None
        self._page_size = page_size
        self._has_tls = has_tls
        self._folder = tempfile.TemporaryDirectory()
        self.account = os.path.join(self._folder.name, "account")
        os.mkdir(self.account)
        self.write_account("token", self.token)
        self.write_account("namespace", NAMESPACE)
        self._server, self._port = None, 0

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        self._folder.cleanup()

    def write_account(self, name, text):
        """As the kubelet does, which puts a whole file in the place of the one before."""
        path = os.path.join(self.account, name)
        with open(path + ".next", "w", encoding="ascii") as file:
            file.write(text + "\n")
        os.rename(path + ".next", path)

    def start(self):
        self.has_stopped = False
        self._server = Server(("127.0.0.1", self._port), Handler)
        self._server.api = self
        self._port = self._server.server_address[1]
        if self._has_tls:
            self._serve_tls()
        self.url = f"{'https' if self._has_tls else 'http'}://127.0.0.1:{self._port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self):
        self.has_stopped = True
        with self.changed:
            self.changed.notify_all()
        self._server.shutdown()
        self._server.server_close()

    def make_authority(self):
        """A certificate of its own for 127.0.0.1, which ca.crt trusts."""
        key, certificate = (os.path.join(self._folder.name, name) for name in ("tls.key", "tls.crt"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=kubernetes", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(certificate, encoding="ascii") as file:
            return key, certificate, file.read()

    def _serve_tls(self):
        key, certificate, text = self.make_authority()
        self.write_account("ca.crt", text)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    def note(self, verb, query, fault):
        with self.changed:
            self.requests.append((verb, query, fault["code"] if fault else 200))

    def counted(self, verb):
        return sum(one[0] == verb for one in self.requests)

    def refusal(self, path, query, credential):
        if self.failure is not None:
            return self.failure
        if credential != f"Bearer {self.token}":
            return status(401, "Unauthorized", "Unauthorized")
        if path != PATH:
            return status(403, "Forbidden", f"endpointslices is forbidden: {path}")
        if query.get("labelSelector") != f"kubernetes.io/service-name={SERVICE}":
            return status(400, "BadRequest", "the selector is not that of the Service")
        if self.gone_as_status and query.get("watch") == "true" and int(query["resourceVersion"]) < self.forgotten:
            return status(410, "Expired", "too old resource version")
        return None

    def page(self, limit, after):
        with self.changed:
            names = sorted(name for name in self.slices if after is None or name > after)
            size = min(limit, self._page_size)
            metadata = {"resourceVersion": str(self.version)}
            if len(names) > size:
                metadata["continue"] = names[size - 1]
            return {"kind": "EndpointSliceList", "metadata": metadata, "items": [self.slices[name] for name in names[:size]]}

    def events_after(self, version):
        with self.changed:
            if version < self.forgotten:
                return [{"type": "ERROR", "object": status(410, "Expired", f"too old resource version: {version}")}], version
            return [event for number, event in self.events if number > version], self.version

    def put(self, made):
        """Makes a slice, or changes the one of this name."""
        kind = "MODIFIED" if made["metadata"]["name"] in self.slices else "ADDED"
        self._tell(kind, made)
        self.slices[made["metadata"]["name"]] = made

    def delete(self, name):
        self._tell("DELETED", self.slices.pop(name))

    def bookmark(self):
        self._tell("BOOKMARK", {"kind": "EndpointSlice", "apiVersion": "discovery.k8s.io/v1", "metadata": {"annotations": {}}})

    def forget(self):
        """Versions before this one are gone, as after a compaction."""
        with self.changed:
            self.version += 1
            self.forgotten = self.version

    def silence_watches(self):
        """Watches that are under way tell nothing any more, nor end, as behind a proxy that keeps the connection of a server that is gone."""
        self.silenced = self.counted("watch")

    def end_watches(self, breaks_off=False):
        with self.changed:
            self.breaks_off = breaks_off
            self.generation += 1
            self.changed.notify_all()

    def _tell(self, kind, made):
        with self.changed:
            self.version += 1
            made["metadata"]["resourceVersion"] = str(self.version)
            self.events.append((self.version, {"type": kind, "object": json.loads(json.dumps(made))}))
            self.changed.notify_all()
