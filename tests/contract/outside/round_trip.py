"""The round trip of a client that openapi-python-client wrote: a session, a graph, steps, and what lists say of them. Run by
run_outside, with the Python that has the generator, as `round_trip.py http://address key`."""

import sys

from sluice_client import AuthenticatedClient
from sluice_client.api.graphs import create_graph, get_graph
from sluice_client.api.sessions import create_session, delete_session, get_session, list_sessions
from sluice_client.api.steps import create_step, get_step, list_steps
from sluice_client.models import GraphDef, Session, SessionBody, Step, StepBody, StepRecord, StepState

GRAPH = {"node": [{"name": "x", "op": "Placeholder", "attr": {"dtype": {"type": "DT_FLOAT"}}},
                  {"name": "y", "op": "Neg", "input": ["x"], "attr": {"T": {"type": "DT_FLOAT"}}}]}
STEP = {"feeds": {"x": [1, 2]}, "fetches": ["y"]}


def run(address, key):
    client = AuthenticatedClient(base_url=address, token=key, raise_on_unexpected_status=True)
    session = create_session.sync(client=client, body=SessionBody.from_dict({"name": "round trip"}))
    assert isinstance(session, Session) and session.name == "round trip", session
    assert get_session.sync(session.id, client=client).id == session.id
    assert session.id in [found.id for found in list_sessions.sync(client=client).sessions]
    graph = create_graph.sync(session.id, client=client, body=GraphDef.from_dict(GRAPH))
    assert get_graph.sync(session.id, graph.id, client=client).id == graph.id
    step = create_step.sync(session.id, client=client, body=StepBody.from_dict(STEP))
    assert isinstance(step, Step) and step.state == StepState.SUCCEEDED, step
    assert step.outputs.to_dict()["y"]["data"] == [-1, -2], step.outputs
    record = get_step.sync(session.id, step.id, client=client)
    assert isinstance(record, StepRecord) and record.state == StepState.SUCCEEDED, record
    assert step.id in [found.id for found in list_steps.sync(session.id, client=client).steps]
    delete_session.sync_detailed(session.id, client=client)
    assert get_session.sync_detailed(session.id, client=client).status_code == 404


if __name__ == "__main__":
    run(*sys.argv[1:])
    print("the generated client's round trip is as described")
