"""One model in Sluice: a gateway and a worker as processes of their own, and steps over REST with .npy feeds."""

import io
import json
import os
import re
import sys
import time

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import plain_http  # noqa: E402
import sluice  # noqa: E402

BOUNDARY = "mOdElBoUnDaRy"


class ModelSteps:
    """`with ModelSteps(model, content_type, threads, inputs) as steps:`; a model that Sluice refuses raises sluice.Refused."""

    def __init__(self, model, content_type, threads, inputs):
        self._cluster = sluice.Cluster(threads=(threads,))
        self._model, self._content_type = model, content_type
        self._form = _form(inputs)

    def __enter__(self):
        self._cluster.__enter__()
        try:
            self._client = self._cluster.client()
            self._session = self._client.session()
            self._client.graph(self._session, self._model, self._content_type)
        except BaseException:
            self._cluster.__exit__()
            raise
        self._http = plain_http.PlainHttp(self._cluster.address)
        return self

    def __exit__(self, *_):
        self._http.close()
        self._client.close()
        self._cluster.__exit__()

    def outputs(self, names):
        """The outputs as arrays; and the step."""
        _, parts = self._run({"fetches": names})
        return [numpy.load(io.BytesIO(parts[name])) for name in names]

    def run(self, names):
        """(nanoseconds of the request, nanoseconds on the worker, nanoseconds that its threads computed); making the request
        and reading what the reply says are outside the clock, as they are for the rival."""
        request = self._request({"fetches": names})
        begin = time.perf_counter_ns()
        reply = self._http.exchange(request)
        elapsed = time.perf_counter_ns() - begin
        step, _ = _read_answer(reply)
        parts = step["partitions"]
        return (elapsed, 1000 * sum(part["elapsed_us"] for part in parts),
                1000 * sum(part.get("computed_us", 0) for part in parts))

    def costliest_ops(self, names, count):
        """The ops that took the most time of one step: (op, part of all) each."""
        sums = {}
        for op, spent in self._node_times(names):
            sums[op] = sums.get(op, 0) + spent
        whole = sum(sums.values()) or 1
        return [(op, spent / whole) for op, spent in sorted(sums.items(), key=lambda item: -item[1])[:count]]

    def node_time(self, names):
        """The nanoseconds of one step's nodes, but for those that bring its feeds and outputs."""
        return 1e3 * sum(spent for op, spent in self._node_times(names) if op not in ("_Arg", "_Retval"))

    def _node_times(self, names):
        """(op, microseconds) of each node of a traced step."""
        step, _ = self._run({"fetches": names, "options": {"trace": "node"}})
        trace = self._client.send("GET", f"/sessions/{self._session}/steps/{step['id']}/trace")
        return [(event["args"].get("op", event["name"]), event["dur"]) for event in trace["traceEvents"]
                if event.get("cat") == "node"]

    def worker_memory(self):
        """The most bytes that the worker had."""
        with open(f"/proc/{self._cluster.workers[0].pid}/status", encoding="utf-8") as file:
            return next(1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM"))

    def _run(self, request):
        return _read_answer(self._http.exchange(self._request(request)))

    def _request(self, request):
        body = _part("request", "application/json", json.dumps(request).encode()) + self._form
        headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}", "Accept": "multipart/mixed"}
        return plain_http.request("POST", f"/api/v1/sessions/{self._session}/steps", headers, body)


def _part(name, content_type, data):
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\nContent-Type: {content_type}\r\n\r\n'
    return head.encode() + data + b"\r\n"


def _form(inputs):
    parts = []
    for name, value in inputs.items():
        file = io.BytesIO()
        numpy.save(file, value)
        parts.append(_part(name, "application/x-npy", file.getvalue()))
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


def _read_answer(reply):
    """The step, and the bytes of the other parts by name; every part but the last says how long it is."""
    status, answer = plain_http.read_reply(reply)
    if status // 100 != 2:
        raise sluice.Refused(status, answer)
    parts, position = {}, 0
    while (head_end := answer.find(b"\r\n\r\n", position)) >= 0:
        head = answer[position:head_end].decode()
        name = re.search(r'name="((?:[^"\\]|\\.)*)"', head)
        if name is None:
            return json.JSONDecoder().raw_decode(answer[head_end + 4:].decode())[0], parts
        length = int(re.search(r"content-length: (\d+)", head, re.IGNORECASE).group(1))
        position = head_end + 4 + length
        parts[re.sub(r"\\(.)", r"\1", name.group(1))] = answer[head_end + 4:position]
    raise ValueError("the reply has no step")
