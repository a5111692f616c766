#!/usr/bin/env python3
"""Shares of tenants in a pool at default settings: two gateways, two workers, three tenants of weights 3, 2 and 1.

    tools/with_postgres tests/loads/fairness.py [--length minute|short|full]

The tenants' steps cost the same, or ten times as much for one of them, and wait in the queue throughout; then clients at unequal
gateways compete right after a burst of one of them; then a quiet tenant's steps run beside a flood. In every window of 20 s after
the first 5 s a tenant's device time is compared with its weight's part: `off` is the worst window. A tenant without a step's end
for long would have waited for long.
"""

import http.client
import os
import sys
import threading
import time
from typing import NamedTuple

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import measures  # noqa: E402
from measures import sluice  # noqa: E402
from graph_builder import GraphBuilder, Type  # noqa: E402

WEIGHTS = {"heavy": 3, "middle": 2, "light": 1}
WINDOW, SETTLE = 20, 5
TAIL = 5  # the load goes on for so long, so that steps that ran at the end of the last window have ended
SIZE = 256  # of the square matrices that are multiplied
SECONDS = {"minute": 29, "short": 70, "full": 190}  # in which each backlog is watched
# How far a share may be off: a tenth; in the minute of `make test`, which may share a slow machine, a fifth. That is a third of
# what it was when each gateway had slots of its own.
ASKED = {"minute": 20, "short": 10, "full": 10}


def _products(count):
    """A graph that multiplies matrices one after the other; nothing of it is known before a step feeds x."""
    graph = GraphBuilder()
    x = graph.placeholder("x", "float32", [])
    at = graph.add("Fill", graph.constant("int32", [2], [SIZE, SIZE]), x, T=Type("float32"), index_type=Type("int32"))
    for _ in range(count):
        at = graph.add("MatMul", at, at, T=Type("float32"))
        at = graph.add("Tanh", at, T=Type("float32"))
    graph.add("Mean", at, graph.constant("int32", [2], [0, 1]), name="y", T=Type("float32"), Tidx=Type("int32"))
    return graph.document()


class Served(NamedTuple):
    """A step that has run."""

    tenant: str
    begun: float
    ended: float
    computed: float  # device-seconds

    def within(self, begin, end):
        """Its device time between the two times, as if it had computed evenly."""
        took = max(self.ended - self.begun, 1e-6)
        return self.computed * max(0, min(end, self.ended) - max(begin, self.begun)) / took


class Pool(sluice.Cluster):
    """`with Pool() as pool:` two gateways at default settings and tenants of these weights, and later two workers. `threads`: of
    each worker, None for as many as it wants."""

    def __init__(self, weights=None, threads=None):
        self.weights = weights or WEIGHTS
        tenants = {name: {"weight": weight} for name, weight in self.weights.items()}
        super().__init__(threads=(threads, threads), tenants=tenants, has_late_workers=True)

    def __enter__(self):
        super().__enter__()
        try:
            self._addresses = [self.address, self.add_gateway().address]
        except BaseException:
            self.__exit__()
            raise
        return self

    def tenant(self, name, gateway=0):
        """The tenant's connection to one of the gateways."""
        return sluice.Client(self._addresses[gateway], self.keys[name])

    def graph(self, name, count):
        """A session of the tenant, and a graph of so many products in it."""
        client = self.tenant(name)
        session = client.session()
        graph = client.graph(session, _products(count))
        client.close()
        return session, graph

    def served(self):
        """The steps that ended: tenant, when the run began and ended, its device-seconds."""
        rows = self.ask("""
            select tenants.name, extract(epoch from step.ended_at),
                (step.stats ->> 'elapsed_us')::bigint - (step.stats ->> 'waited_us')::bigint,
                (select sum((part ->> 'computed_us')::bigint) from json_array_elements(step.stats -> 'partitions') as part)
            from step_records as step join tenants on tenants.id = step.tenant_id
            where step.state = 'succeeded' order by 2""")
        return [Served(name, float(ended) - float(took) * 1e-6, float(ended), float(computed or 0) * 1e-6)
                for name, ended, took, computed in (row.split("|") for row in rows.splitlines())]


def _request(graph):
    """A step's."""
    return {"graph": graph, "feeds": {"x": 0.01}, "fetches": ["y"]}


class Clients:
    """Threads that each send a tenant's next step when the last has ended, until they are stopped."""

    def __init__(self, pool, name, session, graph, counts, pause=0):
        self._running = True
        self.latencies = []
        self.errors = []
        self._threads = [threading.Thread(target=self._run, args=(pool, name, gateway, session, graph, pause), daemon=True)
                         for gateway, count in enumerate(counts) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def _run(self, pool, name, gateway, session, graph, pause):
        client = pool.tenant(name, gateway)
        while self._running:
            begin = time.monotonic()
            try:
                client.step(session, _request(graph))
                self.latencies.append(time.monotonic() - begin)
            except (sluice.Refused, OSError, http.client.HTTPException) as error:
                self.errors.append(str(error))
                client.close()
                time.sleep(0.1)
            time.sleep(pause)
        client.close()

    def stop(self):
        self._running = False
        for thread in self._threads:
            thread.join()
        return self


def queue_steps(pool, name, session, graph, count):
    """Queues so many steps at both gateways, over several connections: steps that come together are committed together."""
    connections = 8

    def send(number):
        client = pool.tenant(name, number % 2)
        for _ in range(number, count, connections):
            client.step(session, _request(graph), prefer="respond-async")
        client.close()

    threads = [threading.Thread(target=send, args=(number,)) for number in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def shares(steps, weights, begin, end):
    """The tenants' device time over their due, minus one, in every window of WINDOW seconds between the two times. A step that ran
    in the window for a part of its time counts in that part."""
    offsets = []
    start = begin
    while start + WINDOW <= end:
        used = {name: sum(step.within(start, start + WINDOW) for step in steps if step.tenant == name) for name in weights}
        due = sum(used.values()) / sum(weights.values())
        offsets.append({name: used[name] / (due * weights[name]) - 1 if due else -1 for name in weights})
        start += 1
    return offsets


def longest_pause(steps, name, begin, end):
    """The longest time in which no step of the tenant ended."""
    times = [begin] + [step.ended for step in steps if step.tenant == name and begin <= step.ended < end] + [end]
    return max(later - sooner for sooner, later in zip(times, times[1:]))


def report_shares(report, case, steps, weights, begin, end, asked):
    """Rows of each tenant's worst window, in which it may be off by `asked` percent."""
    windows = shares(steps, weights, begin + SETTLE, end)
    assert windows, "the backlog did not last for a window"
    for name, weight in weights.items():
        report.add(case, f"share of weight {weight} off", max(abs(each[name]) for each in windows) * 100, "%", asked, sure=True)
        report.add(case, f"weight {weight}: longest time without an end", longest_pause(steps, name, begin, end) * 1e3, "ms")
    report.add(case, "device time used", sum(step.within(begin, end) for step in steps) / (end - begin), "devices")


class Backlog:
    """Threads that keep steps of each tenant in the queue: `most` of the tenant that runs most of them, of the others as many as
    run in the same time, and of none less than half of that. Tenants that are `synchronous` have clients that wait instead."""

    def __init__(self, pool, products, most, synchronous):
        self._running = True
        rates = {name: weight / products[name] for name, weight in pool.weights.items()}
        counts = {name: max(100, int(most * rate / max(rates.values()))) for name, rate in rates.items()}
        self._pool, self._clients = pool, []
        self._graphs = {name: pool.graph(name, products[name]) for name in pool.weights}
        self._synchronous = synchronous
        queued = {name: graph for name, graph in self._graphs.items() if name not in synchronous}
        for name, graph in queued.items():
            queue_steps(pool, name, *graph, counts[name])
        self._threads = [threading.Thread(target=self._top_up, args=(pool, name, *graph, counts[name]), daemon=True)
                         for name, graph in queued.items()]

    def start(self):
        self._clients = [Clients(self._pool, name, *self._graphs[name], (8, 8)) for name in self._synchronous]
        for thread in self._threads:
            thread.start()

    def _top_up(self, pool, name, session, graph, count):
        query = f"select sum(queued) from queues join tenants on tenants.id = tenant_id where tenants.name = '{name}'"
        while self._running:
            if int(pool.ask(query)) < count // 2:
                queue_steps(pool, name, session, graph, count // 4)
            time.sleep(0.5)

    def stop(self):
        self._running = False
        for clients in self._clients:
            clients.stop()
        for thread in self._threads:
            thread.join()


def run_backlog(report, case, products, seconds, most, asked, synchronous=(), threads=None):
    """Every tenant has steps in the queue before the workers come, and throughout; their cost by tenant, in products."""
    with Pool(threads=threads) as pool:
        backlog = Backlog(pool, products, most, synchronous)
        pool.start_workers()
        backlog.start()
        begin = time.time()
        time.sleep(seconds)
        end = time.time()
        time.sleep(TAIL)
        backlog.stop()
        steps = pool.served()
        first = min(step.begun for step in steps)
        report_shares(report, case, steps, pool.weights, max(begin, first), end, asked)


def run_burst(report, case, cost, seconds, asked):
    """The light tenant floods alone for 10 s; then all of them, with clients at unequal gateways."""
    with Pool() as pool:
        graphs = {name: pool.graph(name, cost) for name in pool.weights}
        pool.start_workers()
        time.sleep(2)
        clients = [Clients(pool, "light", *graphs["light"], (24, 8))]
        time.sleep(10)
        begin = time.time()
        clients.append(Clients(pool, "heavy", *graphs["heavy"], (16, 0)))
        clients.append(Clients(pool, "middle", *graphs["middle"], (4, 12)))
        time.sleep(seconds)
        end = time.time()
        time.sleep(TAIL)
        for each, name in zip(clients, ("light", "heavy", "middle")):
            each.stop()
            report.add(case, f"{name}: longest answer", max(each.latencies) * 1e3, "ms")
            report.add(case, f"{name}: errors", len(each.errors), "", 0, sure=True)
        time.sleep(1)  # records are written behind
        report_shares(report, case, pool.served(), pool.weights, begin, end, asked)


def run_quiet(report, case, cost, flood_cost, seconds):
    """A quiet tenant's synchronous steps: alone, beside another's flood, and after it."""
    with Pool({"quiet": 1, "flood": 1}) as pool:
        quiet = pool.graph("quiet", cost)
        graph = pool.graph("flood", flood_cost)
        pool.start_workers()
        time.sleep(2)

        def post_steps(tell):
            client = pool.tenant("flood", os.getpid() % 2)
            while True:
                client.step(graph[0], _request(graph[1]))
                tell()

        for when in ("before", "during", "after"):
            floods = [measures.Aside(post_steps, 48) for _ in range(2)] if when == "during" else []
            for flood in floods:
                flood.start()
            time.sleep(2)
            mine = Clients(pool, "quiet", *quiet, (1, 0), pause=0.02)
            time.sleep(seconds)
            mine.stop()
            for flood in floods:
                flood.stop()
            if floods:
                report.add(case, "the flood's steps", sum(flood.count.value for flood in floods) / (seconds + 2), "1/s")
            report.add_times(case, f"quiet tenant's step {when} it", [1e3 * each for each in mine.latencies])
            report.add(case, f"quiet tenant's step {when} it: longest", max(mine.latencies, default=0) * 1e3, "ms")


def run(report, length):
    seconds, asked = SECONDS[length], ASKED[length]
    if length == "minute":
        # One thread a worker: the queue is long enough for a fast machine with many cores, too.
        run_backlog(report, "costs 10 to 1, the light tenant's clients wait", {"heavy": 30, "middle": 300, "light": 30}, seconds, 2400,
                    asked, ("light",), threads=1)
        return
    run_backlog(report, "equal costs", {name: 60 for name in WEIGHTS}, seconds, 1500, asked)
    run_backlog(report, "costs 10 to 1", {"heavy": 20, "middle": 200, "light": 20}, seconds, 3000, asked)
    run_burst(report, "after a burst", 60, max(seconds - 30, WINDOW + SETTLE + 5), asked)
    run_quiet(report, "beside a flood", 12, 60, max(10, seconds // 4))


if __name__ == "__main__":
    measures.main(run, __doc__)
