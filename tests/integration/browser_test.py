#!/usr/bin/env python3
"""Web pages of other origins use the API: what CORS tells them, by plain sockets, and what Chromium makes of it."""

import http.client
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import browser  # noqa: E402
import sluice  # noqa: E402

TENANTS = {"ours": {}}
DASHBOARD = "https://dashboard.example"


def _ask(address, method, path, headers, body=None):
    """The reply's status, headers and body."""
    connection = http.client.HTTPConnection(address, timeout=60)
    connection.request(method, path, body, headers)
    reply = connection.getresponse()
    content = reply.read()
    connection.close()
    return reply.status, reply.headers, content


def _cluster(origins):
    return sluice.Cluster(threads=(1,), tenants=TENANTS, settings=("--cors-origins", origins))


def an_origin_that_is_set_may_read_answers_and_errors():
    with _cluster(f"https://other.example,{DASHBOARD}") as cluster:
        for key, expected in ((cluster.keys["ours"], 200), ("slk_wrong", 401)):
            status, headers, _ = _ask(cluster.address, "GET", "/api/v1/sessions",
                                      {"Origin": DASHBOARD, "Authorization": f"Bearer {key}"})
            assert status == expected, status
            assert headers["Access-Control-Allow-Origin"] == DASHBOARD, headers
            assert "Origin" in headers["Vary"], headers
            exposed = headers["Access-Control-Expose-Headers"].split(", ")
            assert {"ETag", "Location", "Link", "Retry-After", "X-Request-Id"} <= set(exposed), exposed


def a_preflight_allows_what_the_operation_takes():
    with _cluster(DASHBOARD) as cluster:
        asked = {"Origin": DASHBOARD, "Access-Control-Request-Method": "POST",
                 "Access-Control-Request-Headers": "authorization,content-type,idempotency-key"}
        status, headers, _ = _ask(cluster.address, "OPTIONS", "/api/v1/sessions", asked)
        assert status == 204, status
        assert "POST" in headers["Access-Control-Allow-Methods"], headers
        allowed = {name.lower() for name in headers["Access-Control-Allow-Headers"].split(", ")}
        assert {"authorization", "content-type", "idempotency-key", "last-event-id"} <= allowed, allowed


def no_other_origin_is_told_anything():
    with _cluster(DASHBOARD) as cluster:
        for origin in ("https://evil.example", "null", DASHBOARD + ".evil.example", DASHBOARD.upper()):
            asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
            for method in ("OPTIONS", "GET"):
                _, headers, _ = _ask(cluster.address, method, "/livez", asked)
                assert not [name for name in headers if name.startswith("Access-Control")], (origin, headers.items())


def an_origin_that_no_browser_sends_is_refused_at_the_start():
    for origin in (f"{DASHBOARD}/", "dashboard.example", "https://*.example", "HTTPS://dashboard.example"):
        gateway = subprocess.run([os.path.join(os.environ.get("OUT", "build/release"), "sluice-gateway"), "--cors-origins", origin],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
        assert gateway.returncode != 0 and f"'{origin}' is no origin" in gateway.stdout, gateway.stdout


def the_pages_of_the_gateway_ask_no_other_host():
    with _cluster("") as cluster:
        for path in ("/", "/docs"):
            status, headers, content = _ask(cluster.address, "GET", path, {})
            assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8", (status, headers)
            assert "default-src 'none'" in headers["Content-Security-Policy"], headers
            assert b"http://" not in content and b"https://" not in content, "a page names another host"


def chromium_uses_the_api_from_another_origin():
    with browser.Origin() as origin, _cluster(origin.name) as cluster:
        script = """
          const api = "http://%s/api/v1", key = {"Authorization": "Bearer %s"};
          const made = await fetch(api + "/sessions", {method: "POST", body: JSON.stringify({name: "mine"}),
            headers: {...key, "Content-Type": "application/json", "Idempotency-Key": "once"}});
          const location = made.headers.get("Location");
          const found = await fetch(new URL(location, api), {headers: key});
          const wrong = await fetch(api + "/sessions", {headers: {"Authorization": "Bearer slk_wrong"}});
          report({made: made.status, found: (await found.json()).name, tag: found.headers.get("ETag"),
            code: (await wrong.json()).code});
        """ % (cluster.address, cluster.keys["ours"])
        found = origin.run_page(script)
        assert found == {"made": 201, "found": "mine", "tag": '"1"', "code": "UNAUTHENTICATED"}, found


def chromium_keeps_answers_from_an_origin_that_is_not_set():
    with browser.Origin() as origin, _cluster(DASHBOARD) as cluster:
        found = origin.run_page(f'report(await fetch("http://{cluster.address}/livez").then(() => "read", () => "kept"));')
        assert found == "kept", found


def chromium_writes_the_reference():
    with _cluster("") as cluster:
        found = browser.read_page(f"http://{cluster.address}/docs")
        names = json.loads(_ask(cluster.address, "GET", "/openapi.json", {})[2])["paths"]
        assert all(name in found for name in names), "an operation is missing in the reference"


if __name__ == "__main__":
    run_group([an_origin_that_is_set_may_read_answers_and_errors, a_preflight_allows_what_the_operation_takes,
               no_other_origin_is_told_anything, an_origin_that_no_browser_sends_is_refused_at_the_start,
               the_pages_of_the_gateway_ask_no_other_host, chromium_uses_the_api_from_another_origin,
               chromium_keeps_answers_from_an_origin_that_is_not_set, chromium_writes_the_reference])
