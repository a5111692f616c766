"""HTTP/1.1 over one kept socket, with as little work on the client's side as Python allows: what is timed is the service's."""

import socket

CHUNK = 1 << 20


class PlainHttp:
    """`address`: host:port. Requests are bytes that were made before the clock started."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def exchange(self, request):
        """Sends the request; returns the whole reply as it came."""
        self._socket.sendall(request)
        reply = bytearray(self._socket.recv(CHUNK))
        while (head_end := reply.find(b"\r\n\r\n")) < 0:
            self._receive(reply)
        length = _content_length(bytes(reply[:head_end]))
        if length is None:
            while not reply.endswith(b"\r\n0\r\n\r\n"):
                self._receive(reply)
        else:
            while len(reply) < head_end + 4 + length:
                self._receive(reply)
        return bytes(reply)

    def _receive(self, reply):
        piece = self._socket.recv(CHUNK)
        if not piece:
            raise ConnectionError("the gateway has closed the connection")
        reply += piece

    def close(self):
        self._socket.close()


def request(method, path, headers, body):
    lines = [f"{method} {path} HTTP/1.1", "Host: bench", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines + ["", ""]).encode() + body


def read_reply(reply):
    """(status, body without the lengths of its chunks)"""
    head_end = reply.index(b"\r\n\r\n")
    status, body = int(reply.split(b" ", 2)[1]), reply[head_end + 4:]
    return status, body if _content_length(reply[:head_end]) is not None else _join_chunks(body)


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
