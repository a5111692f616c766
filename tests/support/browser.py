"""A page of another origin in Debian's Chromium. The page is served from a port of its own on loopback; its script ends with
`report(value)`, and the value is what run_page() returns. Where Chromium is missing, the test is skipped."""

import http.server
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading

from group import Skipped, await_that

PATIENCE_SECONDS = 120

HEAD = """<!doctype html><meta charset="utf-8"><title>test</title><script>
"use strict";
function report(value) { return fetch("/report", {method: "POST", body: JSON.stringify(value)}); }
async function main() {
"""
TAIL = """
}
main().catch(error => report({error: String(error)}));
</script>"""


def _command(folder, *arguments):
    program = shutil.which("chromium")
    if program is None:
        raise Skipped("no chromium")
    return [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", f"--user-data-dir={folder}", *arguments]


def read_page(address):
    """What a page has become once its scripts have run, as HTML."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = _command(folder, "--virtual-time-budget=10000", "--dump-dom", address)
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              timeout=PATIENCE_SECONDS).stdout


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # pylint: disable=invalid-name
        self.server.requests.append(self.path)
        body = self.server.page.encode() if self.path == "/" else b""
        self.send_response(200 if self.path == "/" else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):  # pylint: disable=invalid-name
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()
        self.server.reports.put(json.loads(body))

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass


class Origin:
    """A web server of its own origin (`with Origin() as origin`): `origin.name` is what browsers call it."""

    def __enter__(self):
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.page = ""
        self._server.requests = []
        self._server.reports = queue.Queue()
        self.name = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def has_request(self, path, count=1):
        """Tells whether pages have asked for this path so often."""
        return self._server.requests.count(path) >= count

    def await_request(self, path, count=1):
        await_that(lambda: self.has_request(path, count), f"{count} requests for {path}")

    def run_page(self, script, meanwhile=None):
        """Opens a page with this script, and returns what it reports. `meanwhile` is called once the browser has been started."""
        self._server.page = HEAD + script + TAIL
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            # With a port for debuggers it stays open; without one it would end when the page has been loaded.
            browser = subprocess.Popen(_command(folder, "--remote-debugging-port=0", self.name + "/"),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            try:
                if meanwhile is not None:
                    meanwhile()
                return self._server.reports.get(timeout=PATIENCE_SECONDS)
            finally:
                os.killpg(browser.pid, 9)
                browser.wait()
