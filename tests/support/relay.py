"""A relay of TCP connections that can be cut, and mended."""

import socket
import threading


class Relay:
    """`with Relay("host:port") as relay:` connections to relay.address go on to there, but while it is cut."""

    def __init__(self, target):
        host, port = target.rsplit(":", 1)
        self._target = (host, int(port))
        self._is_cut = False
        self._open = set()
        self._lock = threading.Lock()

    def __enter__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.cut()
        self._listener.close()

    def cut(self):
        """Breaks off all connections, and takes no others until mend()."""
        with self._lock:
            self._is_cut = True
            for one in self._open:
                _shut(one)

    def mend(self):
        with self._lock:
            self._is_cut = False

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                if self._is_cut:
                    near.close()
                    continue
                try:
                    far = socket.create_connection(self._target)
                except OSError:
                    near.close()
                    continue
                self._open |= {near, far}
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def receive(self, source):
        """The next bytes of one side of a connection; none at its end. A kind of relay may hold them back."""
        return source.recv(1 << 16)

    def _pass_on(self, source, sink):
        try:
            while data := self.receive(source):
                sink.sendall(data)
        except OSError:
            pass
        _shut(sink)
        with self._lock:
            self._open.discard(source)
        source.close()


def _shut(one):
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # the other end was first
