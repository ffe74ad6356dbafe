"""Builds sinks, and refuses what makes no sense."""

from __future__ import annotations

from millstream.plan import nodes
from millstream.plan.columns import labels
from millstream.plan.connectors import SinkOptions, WriteMode
from millstream.plan.errors import Step, here
from millstream.plan.named import known
from millstream.plan.node import Node


def sink(input: Node, options: SinkOptions, mode: WriteMode | None, name: str | None) -> nodes.Sink:
    step = Step(name or options.label, here())
    names = [column.name.lower() for column in input.columns]
    double = next((column for column in input.columns if names.count(column.name.lower()) > 1), None)
    if double is not None:
        raise step.error(
            "MS-SINK-003",
            f"would write two columns called {double.name}.",
            found=labels(input.columns),
            hint="select() the columns to write, each with its own name",
        )
    for column in options.partition_by:
        known(column, [part.name for part in input.columns], step)
    return nodes.Sink(name or options.label, step.at, input, options, write_mode(input, options, mode, step))


def write_mode(input: Node, options: SinkOptions, mode: WriteMode | None, step: Step) -> WriteMode:
    others = [other for other in options.modes if other != "append"]
    appends = "append" in options.modes and (input.append_only or not others)
    chosen = mode or ("append" if appends else others[0])
    if chosen not in options.modes:
        raise step.error(
            "MS-SINK-001",
            f"writes to {options.system} {options.label!r}, which cannot be written to as {chosen}.",
            found="possible: " + ", ".join(options.modes),
        )
    if chosen == "append" and not input.append_only:
        raise step.error(
            "MS-SINK-001",
            f"writes a table, whose rows change, to {options.system} {options.label!r}, which only appends.",
            hint="choose another mode or another sink",
        )
    if chosen == "upsert" and input.key is None:
        raise step.error(
            "MS-SINK-004",
            "writes upserts, but its input has no key.",
            found=labels(input.columns),
            hint='keep the key columns in select(), or write changelog=True: every change with an "op" column',
        )
    check_record_key(input, options, chosen, step)
    return chosen


def check_record_key(input: Node, options: SinkOptions, mode: WriteMode, step: Step) -> None:
    """Upserts by anything but the table's key would overwrite other rows, and leave old ones behind."""
    by = [known(name, [column.name for column in input.columns], step) for name in options.key]
    names = [column.name for name in input.key or () for column in input.columns if column.field == name]
    if mode == "upsert" and by and set(by) != set(names):
        raise step.error(
            "MS-SINK-006",
            f"writes upserts by {', '.join(by)}, but that is not what tells its rows apart.",
            found="its key: " + ", ".join(names),
            hint='leave out key=, or write changelog=True: every change with an "op" column',
        )
