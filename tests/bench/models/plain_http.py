"""HTTP/1.1 over one kept socket, with as little work on the client's side as Python allows: what is timed is the service's."""

import socket

BUFFER_SIZE = 1 << 20  # doubled whenever a reply has filled it


class PlainHttp:
    """`address`: host:port. Requests are bytes that were made before the clock started."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A congestion control that paces what it sends, such as bbr, measures its own timers over loopback.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
        self._buffer = bytearray(BUFFER_SIZE)  # kept, so that its pages are mapped before the clock runs
        self._used = 0

    def exchange(self, request):
        """Sends the request; returns the whole reply as it came, to be read before the next exchange."""
        self._socket.sendall(request)
        self._used = 0
        while (head_end := self._buffer.find(b"\r\n\r\n", 0, self._used)) < 0:
            self._receive()
        length = _content_length(bytes(self._buffer[:head_end]))
        while not self._is_whole(head_end, length):
            self._receive()
        return memoryview(self._buffer)[:self._used]

    def _is_whole(self, head_end, length):
        if length is None:
            return self._buffer.endswith(b"\r\n0\r\n\r\n", 0, self._used)
        return self._used >= head_end + 4 + length

    def _receive(self):
        if self._used == len(self._buffer):
            self._buffer = self._buffer + bytes(self._used)
        size = self._socket.recv_into(memoryview(self._buffer)[self._used:])
        if size == 0:
            raise ConnectionError("the gateway has closed the connection")
        self._used += size

    def close(self):
        self._socket.close()


def request(method, path, headers, body):
    lines = [f"{method} {path} HTTP/1.1", "Host: bench", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines + ["", ""]).encode() + body


def read_reply(reply):
    """(status, body without the lengths of its chunks)"""
    whole = bytes(reply)
    head_end = whole.index(b"\r\n\r\n")
    status, body = int(whole.split(b" ", 2)[1]), whole[head_end + 4:]
    return status, body if _content_length(whole[:head_end]) is not None else _join_chunks(body)


def _content_length(head):
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return None


def _join_chunks(body):
    parts, position = [], 0
    while True:
        line_end = body.index(b"\r\n", position)
        size = int(body[position:line_end], 16)
        if size == 0:
            return b"".join(parts)
        parts.append(body[line_end + 2:line_end + 2 + size])
        position = line_end + 2 + size + 2
