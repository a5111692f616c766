"""Random graphs for test drivers: what each is follows from its seed alone. Element-wise ops with broadcasting, matrix
products, reductions, ops that cut and join; conditionals and while loops, as dataflow and by functions, calls, tensor
arrays and variables, nested in each other.

A graph must give the same bits however it is cut, so nothing in it depends on time, place or chance when it runs.
"""

import math
import random
from dataclasses import dataclass, field

from graph_builder import Function, GraphBuilder, Shape, Type, body_form

FLOAT, INT, BOOL = "float32", "int32", "bool"
UNARY = ["Neg", "Abs", "Tanh", "Sigmoid", "Relu", "Softplus", "Floor", "Sin", "Square", "Exp", "Identity", "Sign"]
BINARY = ["Add", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference", "RealDiv"]
REDUCTIONS = ["Sum", "Mean", "Max", "Min", "Prod"]
COMPARISONS = ["Less", "Greater", "LessEqual", "GreaterEqual"]
PARALLEL_ITERATIONS = [1, 2, 10, 32]
SIZE_MAX = 1 << 18  # elements of any tensor
FETCHED_MAX = 4096  # elements of a tensor that is fetched
LARGE = 260         # 260 × 260 float32 is over what workers push to each other unasked
DEPTH_MAX = 3


@dataclass
class Value:
    name: str
    dtype: str
    shape: list

    def count(self):
        return math.prod(self.shape)


@dataclass
class Scope:
    """What nodes of one branch or loop body may read. `pivot` is what its constants wait for: a constant without it
    would belong to the graph outside."""
    values: list = field(default_factory=list)
    pivot: tuple = ()
    depth: int = 0


def broadcast(left, right):
    """The shape of both together; None when they do not fit."""
    size = max(len(left), len(right))
    pairs = zip([1] * (size - len(left)) + left, [1] * (size - len(right)) + right)
    shape = [max(a, b) if 1 in (a, b) or a == b else None for a, b in pairs]
    return None if None in shape else shape


class RandomGraph:
    """`parallel_iterations` and `devices` override what the seed chooses, without changing anything else: the same
    seed gives the same nodes. `tasks` > 0 lets every compute node ask for one of so many workers."""

    def __init__(self, seed, parallel_iterations=None, tasks=0):
        self._random = random.Random(seed)
        self._places = random.Random(seed + 1)
        self._parallel_iterations = parallel_iterations
        self._tasks = tasks
        self._frames = 0
        self._names = 0
        self._functions = []  # (name, shapes of its arguments, shape of its output)
        self._root_graph = self._graph = GraphBuilder()
        self.feeds = {}
        self.dead = []        # that one of these is fetched may be refused, but alike everywhere
        self._root = Scope()
        for index in range(self._random.randint(1, 3)):
            self._add_feed(index)
        for _ in range(self._random.randint(6, 24)):
            self._grow(self._root)
        self.fetches = self._choose_fetches()

    def document(self):
        return self._graph.document()

    # --- Nodes ----------------------------------------------------------------------------------------------

    def _add(self, op, *inputs, **options):
        """A node with a place of its own choice, unless it is told one."""
        options.setdefault("device", self._place())
        return self._graph.add(op, *inputs, **options)

    def _place(self):
        return f"/job:worker/task:{self._places.randrange(self._tasks)}" if self._tasks > 0 else ""

    def _constant(self, scope, dtype, shape, values):
        return self._graph.constant(dtype, shape, values, control=scope.pivot)

    def _ints(self, scope, numbers):
        return self._constant(scope, INT, [len(numbers)], numbers)

    def _float(self):
        return round(self._random.uniform(-2, 2), 3)

    def _floats(self, count):
        """Many numbers for one draw of the seed's generator, so that large tensors cost little."""
        start, step = self._float(), self._random.uniform(0.1, 3)
        return [round(2 * math.sin(start + step * index), 4) for index in range(count)]

    def _add_feed(self, index):
        shape = self._shape()
        name = self._graph.placeholder(f"x{index}", FLOAT, shape)
        self.feeds[name] = {"dtype": FLOAT, "shape": shape, "data": self._floats(math.prod(shape))}
        value = self._keep(self._root, name, shape)
        if shape == [LARGE, 1]:
            row = self._add("Reshape", name, self._ints(self._root, [1, LARGE]), T=Type(FLOAT), Tshape=Type(INT))
            self._keep(self._root, self._add("Mul", value.name, row, T=Type(FLOAT)), [LARGE, LARGE])

    def _shape(self):
        if self._random.random() < 0.05:
            return [LARGE, 1]
        return [self._random.randint(1, 6) for _ in range(self._random.randint(0, 3))]

    # --- Choices --------------------------------------------------------------------------------------------

    def _pick(self, scope, accept=lambda value: True):
        found = [value for value in scope.values if value.dtype == FLOAT and accept(value)]
        return self._random.choice(found) if found else None

    def _keep(self, scope, name, shape, dtype=FLOAT):
        value = Value(name, dtype, list(shape))
        scope.values.append(value)
        return value

    def _choose_fetches(self):
        read = {source.partition(":")[0] for node in self._graph.nodes for source in node["input"]}
        fit = [value for value in self._root.values if value.count() <= FETCHED_MAX and value.name not in self.feeds]
        sinks = [value.name for value in fit if value.name.partition(":")[0] not in read]
        others = self._random.sample(fit, min(3, len(fit)))
        large = [value for value in self._root.values if value.count() > FETCHED_MAX]
        sums = [self._reduce_all(self._root, "Max", value).name for value in large]
        return sorted({*sinks, *sums, *(value.name for value in others)})

    def _grow(self, scope):
        """One more value (or a few) in the scope; nothing when what it chose does not fit."""
        makers = [self._unary, self._unary, self._binary, self._binary, self._matmul, self._reduce, self._concat,
                  self._split, self._slice, self._transpose, self._reshape, self._pack, self._unpack, self._select,
                  self._tile, self._softmax, self._gather, self._pad, self._sum_up, self._where_largest]
        if scope.depth < DEPTH_MAX:
            makers += [self._conditional, self._conditional, self._loop, self._call, self._if, self._if, self._case,
                       self._while, self._tensor_array]
        if scope is self._root:
            makers += [self._variable]
        self._random.choice(makers)(scope)

    # --- Ops that fit everywhere ----------------------------------------------------------------------------

    def _unary(self, scope):
        value = self._pick(scope)
        op = self._random.choice(UNARY)
        first = self._pick(scope).name.partition(":")[0]
        waits_for = (first,) if self._random.random() < 0.2 else ()
        return self._keep(scope, self._add(op, value.name, T=Type(FLOAT), control=waits_for), value.shape)

    def _binary(self, scope):
        left = self._pick(scope)
        right = self._pick(scope, lambda value: broadcast(left.shape, value.shape) is not None)
        shape = broadcast(left.shape, right.shape)
        if math.prod(shape) > SIZE_MAX:
            return left
        op = self._random.choice(BINARY)
        return self._keep(scope, self._add(op, left.name, right.name, T=Type(FLOAT)), shape)

    def _matmul(self, scope):
        left = self._pick(scope, lambda value: len(value.shape) == 2)
        if left is None:
            return
        turned = self._random.random() < 0.3
        inner = left.shape[0 if turned else 1]
        rows = left.shape[1 if turned else 0]
        right = self._pick(scope, lambda value: len(value.shape) == 2 and value.shape[0] == inner)
        if right is None:
            columns = self._random.randint(1, 5)
            name = self._constant(scope, FLOAT, [inner, columns], self._floats(inner * columns))
            right = Value(name, FLOAT, [inner, columns])
        product = self._add("MatMul", left.name, right.name, T=Type(FLOAT), transpose_a=turned, transpose_b=False)
        self._keep(scope, product, [rows, right.shape[1]])

    def _reduce(self, scope):
        value = self._pick(scope, lambda value: len(value.shape) > 0)
        if value is None:
            return
        axis = self._random.randrange(len(value.shape))
        keeps = self._random.random() < 0.5
        shape = [1 if index == axis else size for index, size in enumerate(value.shape) if keeps or index != axis]
        op = self._random.choice(REDUCTIONS)
        name = self._add(op, value.name, self._ints(scope, [axis]), T=Type(FLOAT), Tidx=Type(INT), keep_dims=keeps)
        self._keep(scope, name, shape)

    def _reduce_all(self, scope, op, value):
        axes = self._ints(scope, list(range(len(value.shape))))
        name = self._add(op, value.name, axes, T=Type(FLOAT), Tidx=Type(INT), keep_dims=False)
        return self._keep(scope, name, [])

    # --- Ops that cut and join ------------------------------------------------------------------------------

    def _concat(self, scope):
        value = self._pick(scope, lambda value: len(value.shape) > 0 and value.count() < SIZE_MAX // 4)
        if value is None:
            return
        axis = self._random.randrange(len(value.shape))
        rest = value.shape[:axis] + value.shape[axis + 1:]
        parts = [value] + [self._pick(scope, lambda other: len(other.shape) == len(value.shape)
                                      and other.count() < SIZE_MAX // 4
                                      and other.shape[:axis] + other.shape[axis + 1:] == rest)
                           for _ in range(self._random.randint(1, 2))]
        number = self._constant(scope, INT, [], [axis])
        name = self._add("ConcatV2", *(part.name for part in parts), number, T=Type(FLOAT), Tidx=Type(INT), N=len(parts))
        size = sum(part.shape[axis] for part in parts)
        self._keep(scope, name, value.shape[:axis] + [size] + value.shape[axis + 1:])

    def _split(self, scope):
        value = self._pick(scope, lambda value: any(size % count == 0 for size in value.shape for count in (2, 3)))
        if value is None:
            return
        axis, count = self._random.choice([(axis, count) for axis, size in enumerate(value.shape) for count in (2, 3)
                                           if size % count == 0])
        number = self._constant(scope, INT, [], [axis])
        name = self._add("Split", number, value.name, T=Type(FLOAT), num_split=count)
        shape = value.shape[:axis] + [value.shape[axis] // count] + value.shape[axis + 1:]
        for port in range(count):
            self._keep(scope, f"{name}:{port}" if port > 0 else name, shape)

    def _slice(self, scope):
        value = self._pick(scope, lambda value: len(value.shape) > 0)
        if value is None:
            return
        begin = [self._random.randrange(size) for size in value.shape]
        shape = [self._random.randint(1, size - first) for size, first in zip(value.shape, begin)]
        name = self._add("Slice", value.name, self._ints(scope, begin), self._ints(scope, shape), T=Type(FLOAT),
                         Index=Type(INT))
        self._keep(scope, name, shape)

    def _transpose(self, scope):
        value = self._pick(scope, lambda value: len(value.shape) > 1)
        if value is None:
            return
        order = self._random.sample(range(len(value.shape)), len(value.shape))
        name = self._add("Transpose", value.name, self._ints(scope, order), T=Type(FLOAT), Tperm=Type(INT))
        self._keep(scope, name, [value.shape[axis] for axis in order])

    def _reshape(self, scope):
        value = self._pick(scope)
        shape = self._random.choice([[value.count()], [1, value.count()], value.shape + [1], value.shape[::-1]])
        name = self._add("Reshape", value.name, self._ints(scope, shape), T=Type(FLOAT), Tshape=Type(INT))
        self._keep(scope, name, shape)

    def _pack(self, scope):
        value = self._pick(scope, lambda value: len(value.shape) < 4 and value.count() < SIZE_MAX // 4)
        if value is None:
            return
        other = self._pick(scope, lambda other: other.shape == value.shape)
        axis = self._random.randint(0, len(value.shape))
        name = self._add("Pack", value.name, other.name, T=Type(FLOAT), N=2, axis=axis)
        self._keep(scope, name, value.shape[:axis] + [2] + value.shape[axis:])

    def _unpack(self, scope):
        value = self._pick(scope, lambda value: any(size <= 4 for size in value.shape))
        if value is None:
            return
        axis, count = self._random.choice([(axis, size) for axis, size in enumerate(value.shape) if size <= 4])
        name = self._add("Unpack", value.name, T=Type(FLOAT), num=count, axis=axis)
        for port in range(count):
            self._keep(scope, f"{name}:{port}" if port > 0 else name, value.shape[:axis] + value.shape[axis + 1:])

    def _gather(self, scope):
        value = self._pick(scope, lambda value: len(value.shape) > 0 and value.count() < SIZE_MAX // 4)
        if value is None:
            return
        chosen = [self._random.randrange(value.shape[0]) for _ in range(self._random.randint(1, 3))]
        number = self._constant(scope, INT, [], [0])
        name = self._add("GatherV2", value.name, self._ints(scope, chosen), number, Tparams=Type(FLOAT),
                         Tindices=Type(INT), Taxis=Type(INT))
        self._keep(scope, name, [len(chosen)] + value.shape[1:])

    def _pad(self, scope):
        value = self._pick(scope, lambda value: len(value.shape) > 0 and value.count() < 1000)
        if value is None:
            return
        sizes = [self._random.randint(0, 2) for _ in range(2 * len(value.shape))]
        paddings = self._constant(scope, INT, [len(value.shape), 2], sizes)
        name = self._add("Pad", value.name, paddings, T=Type(FLOAT), Tpaddings=Type(INT))
        self._keep(scope, name, [size + sum(sizes[2 * axis:2 * axis + 2]) for axis, size in enumerate(value.shape)])

    def _sum_up(self, scope):
        value = self._pick(scope, lambda value: len(value.shape) > 0)
        if value is None:
            return
        axis = self._constant(scope, INT, [], [self._random.randrange(len(value.shape))])
        name = self._add("Cumsum", value.name, axis, T=Type(FLOAT), Tidx=Type(INT),
                         exclusive=self._random.random() < 0.5, reverse=self._random.random() < 0.5)
        self._keep(scope, name, value.shape)

    def _where_largest(self, scope):
        value = self._pick(scope, lambda value: len(value.shape) > 0)
        if value is None:
            return
        axis = self._random.randrange(len(value.shape))
        place = self._add("ArgMax", value.name, self._constant(scope, INT, [], [axis]), T=Type(FLOAT), Tidx=Type(INT),
                          output_type=Type(INT))
        name = self._add("Cast", place, SrcT=Type(INT), DstT=Type(FLOAT))
        self._keep(scope, name, value.shape[:axis] + value.shape[axis + 1:])

    def _tile(self, scope):
        value = self._pick(scope, lambda value: 0 < len(value.shape) and value.count() < 1000)
        if value is None:
            return
        times = [self._random.randint(1, 3) for _ in value.shape]
        name = self._add("Tile", value.name, self._ints(scope, times), T=Type(FLOAT), Tmultiples=Type(INT))
        self._keep(scope, name, [size * count for size, count in zip(value.shape, times)])

    def _select(self, scope):
        value = self._pick(scope)
        other = self._pick(scope, lambda other: other.shape == value.shape)
        chosen = self._add(self._random.choice(COMPARISONS), value.name, other.name, T=Type(FLOAT))
        self._keep(scope, self._add("Select", chosen, value.name, other.name, T=Type(FLOAT)), value.shape)

    def _softmax(self, scope):
        value = self._pick(scope, lambda value: len(value.shape) == 2)
        if value is not None:
            self._keep(scope, self._add("Softmax", value.name, T=Type(FLOAT)), value.shape)

    # --- Control flow ---------------------------------------------------------------------------------------

    def _predicate(self, scope):
        total = self._reduce_all(scope, "Mean", self._pick(scope))
        limit = self._constant(scope, FLOAT, [], [self._float()])
        return self._add(self._random.choice(COMPARISONS), total.name, limit, T=Type(FLOAT))

    def _same_shape(self, scope, value, count):
        """A chain over `value` that keeps its shape and mixes in what the scope has."""
        for _ in range(count):
            others = [other for other in scope.values
                      if other.dtype == FLOAT and broadcast(value.shape, other.shape) == value.shape]
            if others and self._random.random() < 0.6:
                op = self._random.choice(["Add", "Sub", "Mul", "Maximum", "Minimum"])
                name = self._add(op, value.name, self._random.choice(others).name, T=Type(FLOAT))
            else:
                name = self._add(self._random.choice(["Tanh", "Sigmoid", "Neg", "Relu", "Sin"]), value.name, T=Type(FLOAT))
            value = self._keep(scope, name, value.shape)
        return value

    def _branch(self, scope, switches, port):
        """The nodes of one side; its first switch's value, worked upon."""
        pivot = self._add("Identity", f"{switches[0][0]}:{port}", T=Type(FLOAT))
        inner = Scope([], (pivot,), scope.depth + 1)
        for name, value in switches:
            self._keep(inner, f"{name}:{port}" if port > 0 else name, value.shape)
        first = inner.values[0]
        for _ in range(self._random.randint(0, 3)):
            self._grow(inner)
        return self._same_shape(inner, first, self._random.randint(1, 3))

    def _conditional(self, scope):
        predicate = self._predicate(scope)
        values = [self._pick(scope) for _ in range(self._random.randint(1, 3))]
        switches = [(self._add("Switch", value.name, predicate, T=Type(FLOAT)), value) for value in values]
        sides = [self._branch(scope, switches, port).name for port in (0, 1)]
        merge = self._add("Merge", *sides, T=Type(FLOAT), N=2)
        if scope is self._root:
            self.dead.append(sides[0])
        self._keep(scope, merge, values[0].shape)
        if self._random.random() < 0.3:
            index = self._add("Cast", f"{merge}:1", SrcT=Type(INT), DstT=Type(FLOAT))
            self._keep(scope, index, [])

    def _enter(self, name, dtype, frame, device, is_constant=False):
        count = self._random.choice(PARALLEL_ITERATIONS)
        return self._add("Enter", name, T=Type(dtype), frame_name=frame, is_constant=is_constant, device=device,
                         parallel_iterations=self._parallel_iterations or count)

    def _loop_variable(self, name, dtype, frame):
        """The Merge of a loop's variable, and the place that its ends share."""
        device = self._place()
        merge = self._add("Merge", self._enter(name, dtype, frame, device), T=Type(dtype), N=2, device=device)
        return merge, device

    def _go_round(self, merge, device, name, dtype):
        self._graph.add_input(merge, self._add("NextIteration", name, T=Type(dtype), device=device))

    def _loop(self, scope):
        self._frames += 1
        frame = f"loop{self._frames}"
        fixed = [self._pick(scope) for _ in range(self._random.randint(0, 2))]
        values = [self._pick(scope, lambda value: value.count() <= FETCHED_MAX) for _ in range(self._random.randint(1, 2))]
        if None in values:
            return
        counter, counter_device = self._loop_variable(self._constant(scope, INT, [], [0]), INT, frame)
        merges = [self._loop_variable(value.name, FLOAT, frame) for value in values]
        limit = self._graph.constant(INT, [], [self._random.randint(0, 5)], control=(counter,))
        goes_on = self._add("LoopCond", self._add("Less", counter, limit, T=Type(INT)))
        count_switch = self._add("Switch", counter, goes_on, T=Type(INT))
        switches = [self._add("Switch", merge, goes_on, T=Type(FLOAT)) for merge, _ in merges]
        pivot = self._add("Identity", f"{count_switch}:1", T=Type(INT))
        body = Scope([], (pivot,), scope.depth + 1)
        states = [self._keep(body, f"{switch}:1", value.shape) for switch, value in zip(switches, values)]
        for value in fixed:
            entered = self._enter(value.name, FLOAT, frame, self._place(), is_constant=True)
            self._keep(body, entered, value.shape)
        self._keep(body, self._add("Cast", pivot, SrcT=Type(INT), DstT=Type(FLOAT)), [])
        for _ in range(self._random.randint(0, 2)):
            self._grow(body)
        one = self._constant(body, INT, [], [1])
        self._go_round(counter, counter_device, self._add("Add", pivot, one, T=Type(INT)), INT)
        for (merge, device), state in zip(merges, states):
            result = self._same_shape(body, state, self._random.randint(1, 3))
            self._go_round(merge, device, result.name, FLOAT)
        for switch, value in zip(switches, values):
            self._keep(scope, self._add("Exit", switch, T=Type(FLOAT)), value.shape)

    # --- Functions ------------------------------------------------------------------------------------------

    def _name(self, kind):
        self._names += 1
        return f"{kind}{self._names}"

    def _function(self, values, depth, work, dtypes=None):
        """A function over arguments like `values`; `work(scope)` gives its outputs, as Values, and its effects. Its
        nodes are written as those of the graph are, and turned into a body's form at the end."""
        name = self._name("function")
        arguments = [(f"a{index}", dtype) for index, dtype in enumerate(dtypes or [FLOAT] * len(values))]
        around, self._graph = self._graph, GraphBuilder([argument for argument, _ in arguments])
        scope = Scope([], (), depth + 1)
        for (argument, dtype), value in zip(arguments, values):
            self._keep(scope, argument, value.shape, dtype)
        outputs, effects = work(scope)
        body, self._graph = self._graph, around
        forms = body_form(body, [value.name for value in outputs])
        returns = [(f"r{index}", value.dtype, form) for index, (value, form) in enumerate(zip(outputs, forms))]
        self._root_graph.add_function(name, arguments, returns, body, effects)
        return Function(name)

    def _arguments(self, scope):
        return [self._pick(scope) for _ in range(self._random.randint(1, 3))]

    def _work(self, scope):
        """Some nodes; a value of the first argument's shape."""
        first = scope.values[0]
        for _ in range(self._random.randint(0, 3)):
            self._grow(scope)
        return [self._same_shape(scope, first, self._random.randint(1, 3))], ()

    def _lowering(self):
        """What its author says of a branch: that it be called, that it be lowered, nothing."""
        return self._random.choice([{}, {"_lower_using_switch_merge": True}, {"_lower_using_switch_merge": False},
                                    {"_lower_using_switch_merge": False}])

    def _types(self, values):
        return {"Tin": [Type(FLOAT)] * len(values), "Tout": [Type(FLOAT)]}

    def _call(self, scope):
        fit = [(name, values) for name, shapes in self._functions
               for values in [[self._pick(scope, lambda value, shape=shape: value.shape == shape) for shape in shapes]]
               if None not in values]
        if fit and self._random.random() < 0.5:
            name, values = self._random.choice(fit)
        else:
            values = self._arguments(scope)
            name = self._function(values, scope.depth, self._work)
            self._functions.append((name, [value.shape for value in values]))
        call = self._add("StatefulPartitionedCall", *(value.name for value in values), f=name, **self._types(values))
        self._keep(scope, call, values[0].shape)

    def _if(self, scope):
        values = self._arguments(scope)
        sides = [self._function(values, scope.depth, self._work) for _ in range(2)]
        name = self._add(self._random.choice(["If", "StatelessIf"]), self._predicate(scope),
                         *(value.name for value in values), then_branch=sides[0], else_branch=sides[1],
                         Tcond=Type(BOOL), **self._types(values), **self._lowering())
        self._keep(scope, name, values[0].shape)

    def _case(self, scope):
        values = self._arguments(scope)
        branches = [self._function(values, scope.depth, self._work) for _ in range(self._random.randint(1, 4))]
        total = self._reduce_all(scope, "Max", self._pick(scope))
        low, high = (self._constant(scope, FLOAT, [], [limit]) for limit in (-1.5, 4.5))
        bounded = self._add("Minimum", self._add("Maximum", total.name, low, T=Type(FLOAT)), high, T=Type(FLOAT))
        number = self._add("Cast", bounded, SrcT=Type(FLOAT), DstT=Type(INT))
        name = self._add(self._random.choice(["Case", "StatelessCase"]), number, *(value.name for value in values),
                         branches=branches, **self._types(values), **self._lowering())
        self._keep(scope, name, values[0].shape)

    def _while(self, scope):
        values = [self._pick(scope, lambda value: value.count() <= FETCHED_MAX) for _ in range(self._random.randint(1, 2))]
        if None in values:
            return
        counter = Value(self._constant(scope, INT, [], [0]), INT, [])
        variables, dtypes = [counter, *values], [INT] + [FLOAT] * len(values)
        turns = self._random.randint(0, 4)

        def go_on(inner):
            limit = self._constant(inner, INT, [], [turns])
            return [Value(self._add("Less", inner.values[0].name, limit, T=Type(INT)), BOOL, [])], ()

        def turn(inner):
            states = [value for value in inner.values if value.dtype == FLOAT]
            one = self._constant(inner, INT, [], [1])
            following = Value(self._add("Add", inner.values[0].name, one, T=Type(INT)), INT, [])
            for _ in range(self._random.randint(0, 2)):
                self._grow(inner)
            return [following, *(self._same_shape(inner, state, self._random.randint(1, 3)) for state in states)], ()

        count = self._random.choice(PARALLEL_ITERATIONS)
        name = self._add(self._random.choice(["While", "StatelessWhile"]), *(value.name for value in variables),
                         cond=self._function(variables, scope.depth, go_on, dtypes),
                         body=self._function(variables, scope.depth, turn, dtypes),
                         T=[Type(dtype) for dtype in dtypes],
                         parallel_iterations=self._parallel_iterations or count)
        for port, value in enumerate(values, 1):
            self._keep(scope, f"{name}:{port}", value.shape)

    # --- What has effects -----------------------------------------------------------------------------------

    def _tensor_array(self, scope):
        value = self._pick(scope, lambda value: value.count() < SIZE_MAX // 4)
        if value is None:
            return
        parts = [value] + [self._pick(scope, lambda other: other.shape == value.shape)
                           for _ in range(self._random.randint(0, 2))]
        place = self._place()
        size = self._constant(scope, INT, [], [len(parts)])
        array = self._add("TensorArrayV3", size, dtype=Type(FLOAT), clear_after_read=False, device=place)
        flow = f"{array}:1"
        for index, part in enumerate(parts):
            number = self._constant(scope, INT, [], [index])
            flow = self._add("TensorArrayWriteV3", array, number, part.name, flow, T=Type(FLOAT), device=place)
        order = [self._random.randrange(len(parts)) for _ in range(self._random.randint(1, 3))]
        name = self._add("TensorArrayGatherV3", array, self._ints(scope, order), flow, dtype=Type(FLOAT),
                         element_shape=Shape(value.shape), device=place)
        self._keep(scope, name, [len(order), *value.shape])

    def _write(self, op, shared_name, shape, place, **options):
        """(node that writes, what is read behind it) of a variable."""
        handle = self._add("VarHandleOp", dtype=Type(FLOAT), shape=Shape(shape), shared_name=shared_name, device=place)
        source, control = options["source"], options.get("control", ())
        written = self._add(op, handle, source, dtype=Type(FLOAT), device=place, control=control)
        return written, self._add("ReadVariableOp", handle, dtype=Type(FLOAT), device=place, control=(written,))

    def _variable(self, scope):
        """Assigned, changed in a branch, read: each behind the one before, in every run."""
        value = self._pick(scope)
        shared_name, place = self._name("v"), self._place()
        written, first = self._write("AssignVariableOp", shared_name, value.shape, place, source=value.name)

        def changed(op):
            def work(inner):
                write, read = self._write(op, shared_name, value.shape, place, source=inner.values[0].name)
                return [Value(read, FLOAT, value.shape)], (write,)
            return work

        sides = [self._function([value], scope.depth, changed(op)) for op in ("AssignAddVariableOp", "AssignSubVariableOp")]
        chosen = self._add("If", self._predicate(scope), first, then_branch=sides[0], else_branch=sides[1],
                           Tcond=Type(BOOL), control=(written,), device=place, **self._types([value]), **self._lowering())
        _, last = self._write("AssignAddVariableOp", shared_name, value.shape, place, source=first, control=(chosen,))
        for name in (first, chosen, last):
            self._keep(scope, name, value.shape)
