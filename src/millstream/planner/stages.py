"""Cuts a dataflow into levels: routers between them, one stage of stateful operators per level.

sources ─▶ router ─▶ stage 1 ─▶ router ─▶ stage 2 ─▶ … ─▶ router ─▶ sinks
"""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.plan.node import Node, Stateful, Stateless, walk
from millstream.plan.nodes import Sink, Source, Union
from millstream.plan.python import Process
from millstream.plan.two_sides import Enrich
from millstream.planner.dataflow import Dataflow
from millstream.planner.horizon import horizon_ms
from millstream.planner.rules import apply_rules


@dataclass(frozen=True)
class Pass:
    """Lets the rows of a node ride through a level untouched."""

    node: Node
    level: int

    @property
    def name(self) -> str:
        return f"pass_{self.node.name}"


Operator = Stateful | Pass
Producer = Source | Operator


@dataclass(frozen=True)
class Port:
    """An input of an operator: a join has two."""

    operator: Operator
    side: int = 0


@dataclass(frozen=True)
class Route:
    """Rows of a producer that go, after stateless steps, to an operator or a sink."""

    producer: Producer
    steps: tuple[Stateless, ...]
    to: Port | Sink
    """Counts up where a union holds the same rows several times."""
    copy: int = 0


@dataclass(frozen=True)
class Stage:
    operators: tuple[Operator, ...]
    routes: tuple[Route, ...]


@dataclass(frozen=True)
class JobPlan:
    sources: tuple[Source, ...]
    stages: tuple[Stage, ...]
    sinks: tuple[Sink, ...]
    """The last router: from the last stage to the sinks."""
    routes: tuple[Route, ...]
    flow: Dataflow = field(repr=False)

    @property
    def statics(self) -> tuple[Source, ...]:
        """What is read once, when the job starts."""
        return tuple(node for node in walk(self.flow) if isinstance(node, Source) and node.static)

    @property
    def timed(self) -> bool:
        """Whether event time passes in the job: then every stage receives it."""
        return any(source.holds_time for source in self.sources)

    @property
    def horizon_ms(self) -> int:
        """How long after a row's time nothing waits for time any more."""
        operators = (op for stage in self.stages for op in stage.operators)
        return max((horizon_ms(op) for op in operators if isinstance(op, Stateful)), default=0)

    @property
    def clocked(self) -> bool:
        """Whether something waits for the clock: then epochs must go by when no rows come."""
        return any(isinstance(node, Process) and node.run.clocks for node in walk(self.flow))

    def upserted(self, operator: Operator) -> bool:
        """Whether all that reads an operator upserts by its key: then an update need not take the old row back."""
        routes = [route for stage in self.stages for route in stage.routes] + list(self.routes)
        return all(self.ends_in_upserts(route) for route in routes if route.producer == operator)

    def ends_in_upserts(self, route: Route) -> bool:
        if not all(step.row_for_row for step in route.steps):
            return False
        if isinstance(route.to, Sink):
            return route.to.mode == "upsert"
        operator = route.to.operator
        if isinstance(operator, Enrich):
            return route.to.side == 1 and operator.replaces
        return isinstance(operator, Pass) and self.upserted(operator)


def plan_job(flow: Dataflow) -> JobPlan:
    flow = apply_rules(flow)
    cut = Cut(flow)
    for node in walk(flow):
        if isinstance(node, Stateful):
            for side, part in enumerate(node.inputs):
                cut.connect(part, Port(node, side), cut.levels[node])
        if isinstance(node, Sink):
            cut.connect(node.input, node, cut.depth + 1)
    return cut.plan()


class Cut:
    """The routes into each level, as they are found."""

    def __init__(self, flow: Dataflow) -> None:
        self.flow = flow
        self.levels = levels(flow)
        self.depth = max(self.levels.values(), default=0)
        self.routes: dict[int, dict[Route, None]] = {i: {} for i in range(1, self.depth + 2)}

    def connect(self, node: Node, to: Port | Sink, level: int) -> None:
        """Routes a node's rows to a consumer on a level, through every level in between."""
        parts = node.parts if isinstance(node, Union) else (node,)
        for i, tail in enumerate(parts):
            producer, steps = chain(tail)
            at = self.levels[producer] + 1
            while at < level:
                ride = Pass(tail, at)
                self.routes[at][Route(producer, steps, Port(ride))] = None
                producer, steps, at = ride, (), at + 1
            self.routes[level][Route(producer, steps, to, parts[:i].count(tail))] = None

    def plan(self) -> JobPlan:
        stages = []
        for level in range(1, self.depth + 1):
            routes = tuple(self.routes[level])
            operators = {route.to.operator for route in routes if isinstance(route.to, Port)}
            # What only passes comes last: state is found by an operator's place, which new passing routes must not
            # move.
            ordered = sorted(operators, key=lambda op: (isinstance(op, Pass), op.name))
            stages.append(Stage(tuple(ordered), routes))
        sources = tuple(node for node in walk(self.flow) if isinstance(node, Source) and not node.static)
        return JobPlan(sources, tuple(stages), self.flow, tuple(self.routes[self.depth + 1]), self.flow)


def chain(tail: Node) -> tuple[Producer, tuple[Stateless, ...]]:
    """From a node up to the source or operator that it comes from, through stateless steps only."""
    steps: list[Stateless] = []
    node = tail
    while isinstance(node, Stateless):
        steps.insert(0, node)
        node = node.inputs[0]  # the other input of a lookup is not part of the stream
    assert isinstance(node, Source | Stateful)
    return node, tuple(steps)


def levels(flow: Dataflow) -> dict[Node | Pass, int]:
    """How many stages are above each node."""
    found: dict[Node | Pass, int] = {}
    for node in walk(flow):
        above = max((found[part] for part in node.inputs), default=0)
        found[node] = above + isinstance(node, Stateful)
    return found
