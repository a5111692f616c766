"""A reader of server-sent events (WHATWG HTML 9.2) on a plain socket, for tests: it shows where frames begin and end, and can stop
reading."""

import json
import socket

PATIENCE_SECONDS = 60


class Event:
    """One dispatched event. `id` is the last one that was seen, as a browser would have it."""

    def __init__(self, name, identity, data):
        self.name = name
        self.id = identity
        self.data = data

    def __repr__(self):
        return f"{self.id} {self.name} {self.data}"


class EventSource:
    """`with EventSource(address, path, headers) as stream:` events are read with next(); None when the stream has ended as it should.
    `status` and `head` are of the reply. `last_id` moves with frames that have no data, too."""

    def __init__(self, address, path, headers=None, receive_buffer=None):
        host, port = address.rsplit(":", 1)
        self._socket = socket.socket()
        if receive_buffer is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._socket.settimeout(PATIENCE_SECONDS)
        self._socket.connect((host, int(port)))
        lines = [f"GET {path} HTTP/1.1", f"Host: {address}"] + [f"{name}: {value}" for name, value in (headers or {}).items()]
        self._socket.sendall("\r\n".join(lines + ["", ""]).encode())
        self._file = self._socket.makefile("rb")
        self.status = int(self._file.readline().split()[1])
        self.head = {}
        for line in iter(self._file.readline, b"\r\n"):
            name, value = line.decode().rstrip("\r\n").split(": ", 1)
            self.head[name.lower()] = value
        self.last_id = (headers or {}).get("Last-Event-ID")
        self._rest = b""
        self._is_over = "chunked" not in self.head.get("transfer-encoding", "")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._file.close()
        self._socket.close()

    def fileno(self):
        return self._socket.fileno()

    def next(self):
        """The next event; raises socket.timeout when none comes, ConnectionError when the stream breaks off."""
        while True:
            while b"\n\n" in self._rest:
                frame, self._rest = self._rest.split(b"\n\n", 1)
                event = self._read(frame.decode())
                if event is not None:
                    return event
            if self._is_over:
                assert not self._rest, self._rest
                return None
            self._rest += self._read_chunk()

    def until(self, wanted):
        """Reads on to the first event that is wanted, and returns all of them."""
        events = []
        while not events or not wanted(events[-1]):
            event = self.next()
            assert event is not None, f"the stream ended after {events}"
            events.append(event)
        return events

    def _read_chunk(self):
        line = self._file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the stream broke off")
        chunk = self._file.read(int(line, 16))
        self._file.read(2)
        self._is_over = not chunk
        return chunk

    def _read(self, frame):
        fields = dict(line.split(": ", 1) for line in frame.split("\n"))
        self.last_id = fields.get("id", self.last_id)
        if "data" not in fields:
            return None
        return Event(fields.get("event", "message"), self.last_id, json.loads(fields["data"]))
