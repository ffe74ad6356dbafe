"""The time of rows that a step created again: which column it is, as the user says."""

from __future__ import annotations

from millstream.errors import did_you_mean
from millstream.plan.connectors import FieldType
from millstream.plan.errors import Step
from millstream.plan.expressions import same
from millstream.plan.node import Node, walk
from millstream.plan.nodes import Source, Timed, Union
from millstream.plan.operators import Aggregate
from millstream.plan.python import Call, Process

TIME_TYPES = ("TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMPLTZ")


def timed(node: Node, time: str | None, schema: tuple[FieldType, ...], step: Step) -> Node:
    """The output of code, with its own time. It comes when the code's input does, so it may wait as long."""
    if time is None:
        return node
    found = next((part for part in schema if same(part.name, time)), None)
    if found is None or found.type.upper() not in TIME_TYPES:
        raise step.error(
            "MS-PROCESS-011",
            f"takes the time of its rows from {time}, which is {'no column of them' if found is None else found.type}.",
            found="columns: " + ", ".join(f"{part.name} {part.type}" for part in schema),
            hint=did_you_mean(time, [part.name for part in schema]) if found is None else "use a TIMESTAMP",
        )
    if not node.append_only:
        raise step.error("MS-PROCESS-011", "has time=, and gives a table, whose rows change.", hint="leave out time=")
    if not any(isinstance(part, Source) and part.holds_time for part in walk((node,))):
        raise step.error(
            "MS-PROCESS-011",
            f"takes the time of its rows from {found.name}, but time does not pass in its input.",
            hint='say at the source how it does: job.stream(…, time="at"), or time=ms.processing_time()',
        )
    return Timed(None, step.at, node, found.name)


def time_hint(node: Node) -> str:
    """Where the time of a relation's rows can be declared."""
    while node.inputs:
        if isinstance(node, Union) and node.event_time is None:
            untimed = next((part for part in node.parts if part.event_time is None), None)
            if untimed is None:
                return union_hint([str(part.event_time) for part in node.parts])
            node = untimed
            continue
        if isinstance(node, Aggregate) and node.closing is not None:
            return 'say it after the window: agg(…).final(time="window_time"), and keep the column'
        if isinstance(node, Process) or (isinstance(node, Call) and node.kind != "filter"):
            return 'say it where rows are made: map(…, time="at"), process(…, time="at"), and keep the column'
        node = node.inputs[0]
    return 'say it at the source: job.stream(…, time="at", lateness="10 seconds"), and keep the column'


def union_hint(times: list[str]) -> str:
    """For a union of streams whose times have different names."""
    one, other = times[0], next(name for name in times if name != times[0])
    return f'its parts have their time in {one} and in {other}: rename it before union(): select(…, {one}="{other}")'
