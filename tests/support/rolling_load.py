"""What clients do while an operator restarts the programs that serve them, and what they were promised: no request fails, every
queued step ends once, and a step that changes variables has its effect once."""

import itertools
import threading
import time
import uuid

import sluice
from group import PATIENCE_SECONDS, await_that

CALLERS = 8
QUEUED_EVERY = 10  # of the requests at a rate
REPEATED_EVERY = 3  # of the keyed requests
REQUEST = {"feeds": {"x": [[1, 2, 3, 4]]}, "fetches": ["probabilities"]}
FAILURES_SHOWN = 5

DTYPE, SCALAR = {"dtype": {"type": "DT_INT64"}}, {"shape": {"shape": {}}}


def _constant(name, value):
    return {"name": name, "op": "Const", "attr": {**DTYPE, "value": {"tensor": {"dtype": "DT_INT64", "tensorShape": {},
                                                                               "int64Val": [value]}}}}


# Each run of `value` adds one to the counter and reads it behind that.
COUNTER = {"node": [
    {"name": "counter", "op": "VarHandleOp", "attr": {**DTYPE, **SCALAR}},
    _constant("zero", 0), _constant("one", 1),
    {"name": "start", "op": "AssignVariableOp", "input": ["counter", "zero"], "attr": DTYPE},
    {"name": "add", "op": "AssignAddVariableOp", "input": ["counter", "one"], "attr": DTYPE},
    {"name": "value", "op": "ReadVariableOp", "input": ["counter", "^add"], "attr": DTYPE}]}
START = {"targets": ["start"]}
ADD = {"fetches": ["value"]}
KEPT = "keeps variables of this session"  # while nobody knows what has become of that worker
BROKEN = "the connection to the worker was lost"  # which is no good order
LOST = "initialise them again"  # what a step is told that misses the variables of a worker that has gone

# Tells the test of every end of a step, whichever program writes it.
WATCH_ENDS = """
create table sluice.test_ends (step_id uuid not null, state text not null);
create function sluice.test_note_end() returns trigger language plpgsql security definer as $$
begin
    insert into sluice.test_ends values (new.id, new.state);
    return null;
end $$;
create trigger test_notes_ends after insert or update of state on sluice.steps for each row
    when (new.state in ('succeeded', 'failed', 'cancelled')) execute function sluice.test_note_end();
"""


class _Callers:
    """Threads that call until they are stopped; `failures` are what they met, with the seconds since the beginning."""

    def __init__(self, count):
        self._begun = time.monotonic()
        self._is_over = threading.Event()
        self._lock = threading.Lock()
        self.sent, self.failures = 0, []
        self._threads = [threading.Thread(target=self._call) for _ in range(count)]

    def _start(self):
        for thread in self._threads:
            thread.start()

    def _note(self, failure=None):
        with self._lock:
            self.sent += 1
            if failure is not None:
                self.failures.append((round(time.monotonic() - self._begun, 2), failure))

    def _call(self):
        raise NotImplementedError

    def stop(self):
        self._is_over.set()
        for thread in self._threads:
            thread.join()


class Steps(_Callers):
    """Pure steps at a rate: most are waited for, some are queued."""

    def __init__(self, address, rate):
        super().__init__(CALLERS)
        self._address, self._rate = address, rate
        self._turns = itertools.count()
        self.queued = []
        client = sluice.Client(address)
        self.session = client.session()
        with open("deploy/examples/two_layers.json", "rb") as file:
            client.graph(self.session, file.read())
        client.step(self.session, REQUEST)
        client.close()
        self._start()

    def _send(self, client, turn):
        is_queued = turn % QUEUED_EVERY == 0
        try:
            step = client.step(self.session, REQUEST, prefer="respond-async" if is_queued else None)
            failure = None if is_queued or step["state"] == "succeeded" else step
        except Exception as error:  # pylint: disable=broad-except
            step, failure = None, repr(error)
        if is_queued and failure is None:
            with self._lock:
                self.queued.append(step["id"])
        self._note(failure)

    def _call(self):
        client = sluice.Client(self._address)
        while not self._is_over.is_set():
            turn = next(self._turns)
            self._is_over.wait(max(0, self._begun + turn / self._rate - time.monotonic()))
            self._send(client, turn)
        client.close()


class Counter(_Callers):
    """One caller that counts on a session's variable, each step with an Idempotency-Key, some sent twice. A worker that goes takes
    the variable along, which a step says; then the caller starts anew. A number that is left out or comes twice is a step that
    ran twice, or never."""

    def __init__(self, address, is_queued, may_break):
        super().__init__(1)
        self._address, self._is_queued = address, is_queued
        self.losses, self.waits = 0, 0
        self._may_break = may_break
        self.waited_for = set()
        self._count = None  # None: to be started anew
        self.queued = []
        client = sluice.Client(address)
        self.session = client.session()
        client.graph(self.session, COUNTER)
        client.close()
        self._start()

    @staticmethod
    def _unless_lost(call):
        """What it returns; None when it says that the variable has gone."""
        try:
            return call()
        except sluice.Refused as refused:
            if refused.code == "FAILED_PRECONDITION" and LOST in refused.detail:
                return None
            raise

    def _starts(self, client):
        if self._unless_lost(lambda: self._at_last(lambda: client.step(self.session, START))) is not None:
            self._count = 0
        return self._count is not None

    def _at_last(self, call):
        """What it returns. A worker that is just gone, with the variable, is UNAVAILABLE until its next life is found: a request with a key, or one
        that assigns, may be sent again."""
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return call()
            except sluice.Refused as refused:
                is_gone = refused.code == "UNAVAILABLE" and KEPT in refused.detail and BROKEN not in refused.detail
                is_gone = is_gone or refused.code == "ABORTED"  # another gateway knew first where the variable is
                is_broken = self._may_break and refused.code == "UNAVAILABLE"
                if not (is_gone or is_broken) or time.monotonic() > until:
                    raise
                self.waits += 1
                self.waited_for.add(refused.detail)
            time.sleep(0.1)

    def _value(self, client, once):
        step = client.step(self.session, ADD, prefer="respond-async" if self._is_queued else None, once=once)
        if not self._is_queued:
            return int(step["outputs"]["value"]["data"][0])
        return self._queued_value(client, step["id"])

    def _queued_value(self, client, step):
        with self._lock:
            self.queued.append(step)
        path = f"/sessions/{self.session}/steps/{step}"
        ended = await_that(lambda: _if_ended(client.send("GET", path)), f"{step} has ended")
        if ended["state"] == "failed" and LOST in ended["error"]["message"]:
            return None
        assert ended["state"] == "succeeded", ended
        return int(client.send("GET", path + "/outputs/value", accept="application/json")["data"][0])

    def _add(self, client, turn):
        if self._count is None and not self._starts(client):
            return
        once = uuid.uuid4()
        value = self._unless_lost(lambda: self._at_last(lambda: self._value(client, once)))
        if value is None:
            self._count = None
            self.losses += 1
            return
        assert value == self._count + 1, f"the counter was {self._count}, and is {value}"
        self._count = value
        if turn % REPEATED_EVERY == 0:
            again = self._value(client, once)
            assert again == value, f"the key stood for {value}, and for {again} when it was sent again"

    def _call(self):
        client = sluice.Client(self._address)
        for turn in itertools.count():
            if self._is_over.wait(0.02):
                break
            try:
                self._add(client, turn)
                self._note()
            except Exception as error:  # pylint: disable=broad-except
                self._count = None
                self._note(f"{'queued ' if self._is_queued else ''}counter: {error!r}")
        client.close()


def _if_ended(step):
    return step if step["state"] in ("succeeded", "failed", "cancelled") else None


class Load:
    """`with Load(address, database, rate) as load:` all of that; assert_kept() behind the block."""

    def __init__(self, address, database, rate, may_break=False):
        """`may_break`: workers need not end in good order, and who counts sends again what was broken off."""
        self._address, self._database, self._rate = address, database, rate
        self._may_break = may_break
        self._parts = []

    def __enter__(self):
        self._database.ask(WATCH_ENDS)
        try:
            self._parts.append(Steps(self._address, self._rate))
            for is_queued in (False, True):
                self._parts.append(Counter(self._address, is_queued, self._may_break))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for part in self._parts:
            part.stop()

    @property
    def sent(self):
        return sum(part.sent for part in self._parts)

    def _await_ends(self, part):
        client = sluice.Client(self._address)
        for step in part.queued:
            path = f"/sessions/{part.session}/steps/{step}"
            ended = await_that(lambda path=path: _if_ended(client.send("GET", path)), f"{step} has ended")
            assert ended["state"] == "succeeded" or isinstance(part, Counter), ended
        client.close()

    def assert_kept(self):
        """No request has failed, and all queued steps, and only they, have ended, once."""
        failures = [failure for part in self._parts for failure in part.failures]
        assert not failures, f"{len(failures)} of {self.sent} failed: {failures[:FAILURES_SHOWN]}"
        steps, counter, queued_counter = self._parts
        for part in (steps, queued_counter):
            self._await_ends(part)
        ended = self._database.ask("select replace(step_id::text, '-', '') from test_ends").splitlines()
        queued = {step.removeprefix("stp_") for step in steps.queued + queued_counter.queued}
        ends, expected = sum(step in queued for step in ended), len(queued)
        assert ends == expected, f"{expected} queued steps have ended {ends} times"
        return (f"{self.sent} requests, {len(steps.queued)} pure and {queued_counter.sent} stateful steps queued, "
                f"{counter.sent} keyed stateful ones, whose variables went with a worker {counter.losses + queued_counter.losses} "
                f"times, {counter.waits} of them sent again {counter.waited_for or ''}; 0 failed")
