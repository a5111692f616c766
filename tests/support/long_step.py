"""Steps that take as long as a test wants."""

from graph_builder import GraphBuilder, Type

INT = "int32"
FOR_EVER = 2_000_000_000  # turns: hours


def counting():
    """Counts to its feed `n` in a loop: a step that takes as long as one wants."""
    graph = GraphBuilder()
    limit = graph.placeholder("n", INT, [])
    start = graph.constant(INT, [], [0])
    entered = graph.add("Enter", start, T=Type(INT), frame_name="loop")
    fixed = graph.add("Enter", limit, T=Type(INT), frame_name="loop", is_constant=True)
    count = graph.add("Merge", entered, T=Type(INT), N=2)
    goes_on = graph.add("LoopCond", graph.add("Less", count, fixed, T=Type(INT)))
    switch = graph.add("Switch", count, goes_on, T=Type(INT))
    body = graph.add("Identity", f"{switch}:1", T=Type(INT))
    one = graph.constant(INT, [], [1], control=(body,))
    graph.add_input(count, graph.add("NextIteration", graph.add("Add", body, one, T=Type(INT)), T=Type(INT)))
    graph.add("Exit", switch, name="reached", T=Type(INT))
    return graph.document()


def counting_to(count, **members):
    """The request of a step of counting(): about a microsecond for each turn on a free core."""
    return {"feeds": {"n": {"dtype": INT, "shape": [], "data": [count]}}, "fetches": ["reached"], **members}
