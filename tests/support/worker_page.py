"""What a worker tells of itself over HTTP/2, as it is now: what gateways say of it is up to a second old."""

import re
import subprocess


def metrics(worker, token=None):
    """The page of metrics of a worker, or of whatever else has its address."""
    credential = ("-H", f"sluice-token: {token}") if token else ()
    command = ["curl", "-sSf", "--http2-prior-knowledge", *credential, f"http://{worker.address}/worker/v1/metrics"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def value_of(series, page):
    """The number that a page tells of this series."""
    text = re.search(rf"(?m)^{re.escape(series)} (\S+)$", page).group(1)
    return int(text) if text.isdecimal() else float(text)


def metric(worker, series, token=None):
    return value_of(series, metrics(worker, token))
