"""Builds sources, as streams or as tables, and refuses what makes no sense."""

from __future__ import annotations

from dataclasses import replace

from millstream.plan import nodes, operators
from millstream.plan.connectors import FieldType, HasNoOrder, SourceOptions, record_columns
from millstream.plan.errors import Step, here
from millstream.plan.expressions import same
from millstream.plan.history import check_history
from millstream.plan.modes import ProcessingTime, milliseconds
from millstream.plan.named import known
from millstream.plan.node import Key, Node
from millstream.plan.received import ReceivedSource
from millstream.plan.schema import read_schema

RAW = (
    FieldType("key", "BINARY"),
    FieldType("value", "BINARY"),
    FieldType("partition", "INT"),
    FieldType("offset", "BIGINT"),
    FieldType("timestamp", "TIMESTAMP"),
)
TIME_TYPES = ("TIMESTAMP", "TIMESTAMP_LTZ")
PROCESSING_IDLE = "1 second"
"""Processing time moves with the clock as soon as it is known that no more records are waiting."""


def source(
    options: SourceOptions,
    schema: str | None,
    name: str | None = None,
    upserts: tuple[str, ...] | None = None,
    time: str | ProcessingTime | None = None,
    lateness: str | None = None,
    idle_after: str | None = None,
    history: SourceOptions | None = None,
) -> nodes.Source:
    step, arrival = Step(name or options.label, here()), None
    fields = source_schema(options, schema, step)
    if isinstance(time, ProcessingTime):
        arrival = time = new_field(time.column, fields, step)
        fields = (*fields, FieldType(arrival, "TIMESTAMP"))
    elif time is not None:
        time = time_field(time, fields, step)
    check_lengths(time, {"lateness": lateness, "idle_after": idle_after}, step)
    if arrival is not None and idle_after is None:
        idle_after = PROCESSING_IDLE
    by = keys(upserts or (), fields, step) if not options.changelog else ()
    times = (time, lateness, arrival, idle_after)
    found = nodes.Source(step.name, step.at, options, fields, by or None, *times, history=history)
    if history is not None:
        check_history(found, source_schema(history, schema, step), step)
    return found


def static(options: SourceOptions, schema: str | None, name: str | None) -> nodes.Source:
    """All rows of a source as they are when the job starts."""
    step = Step(name or options.label, here())
    if options.changelog or options.format == "debezium" or isinstance(options, ReceivedSource):
        raise step.error("MS-SOURCE-003", "reads changes as rows that do not change.", hint="use job.table()")
    if options.dead_letters is not None:
        raise step.error(
            "MS-SOURCE-008",
            "is read once, when the job starts, and cannot send records that it cannot read elsewhere.",
            hint='on_error="skip" counts them, "fail" refuses to start',
        )
    return replace(source(options, schema, name), static=True)


def new_field(name: str, fields: tuple[FieldType, ...], step: Step) -> str:
    if any(same(part.name, name) for part in fields) or not name.isidentifier() or name.startswith("_"):
        raise step.error(
            "MS-SOURCE-005",
            f"cannot call the column of its processing time {name!r}.",
            found="columns: " + ", ".join(part.name for part in fields),
            hint='give it another name: time=ms.processing_time("seen_at")',
        )
    return name


def check_lengths(time: str | None, lengths: dict[str, str | None], step: Step) -> None:
    for name, length in lengths.items():
        if length is not None and time is None:
            raise step.error("MS-SOURCE-006", f"has {name}=, but no time=.", hint='say which column: time="at"')
        if length is not None and milliseconds(length) < 1 and name == "idle_after":
            raise step.error(
                "MS-SOURCE-006",
                f"is to be idle after {length!r}.",
                hint='give a length above 0: idle_after="10 seconds"',
            )


def keys(names: tuple[str, ...], fields: tuple[FieldType, ...], step: Step) -> Key:
    return tuple(known(name, [part.name for part in fields], step) for name in names)


def source_schema(options: SourceOptions, schema: str | None, step: Step) -> tuple[FieldType, ...]:
    """Raw records have fixed columns; all others need a schema. Columns of the record itself come last."""
    extra = tuple(FieldType(name, type_) for name, _, type_ in record_columns(options))
    if options.format == "raw" and schema is not None:
        raise step.error("MS-SOURCE-001", "reads raw records, whose columns are fixed.", hint="leave out schema=")
    if options.format == "raw":
        return (*RAW, *(part for part in extra if part not in RAW))
    if schema is None:
        raise step.error("MS-SOURCE-001", "has no schema.", hint='add schema="name STRING, at TIMESTAMP"')
    fields = read_schema(schema, step)
    double = next((part.name for part in extra if any(same(part.name, other.name) for other in fields)), None)
    if double is not None:
        raise step.error(
            "MS-SOURCE-001",
            f"has a column {double} in its schema and one of the record itself.",
            hint=f'give the record\'s another name: record={{"record_{double}": …}}',
        )
    return (*fields, *extra)


def time_field(time: str, fields: tuple[FieldType, ...], step: Step) -> str:
    name = known(time, [part.name for part in fields], step)
    type_ = next(part.type for part in fields if part.name == name)
    if type_.upper() not in TIME_TYPES:
        raise step.error(
            "MS-SOURCE-002", f"takes its time from {name}, which is of type {type_}.", hint="use a TIMESTAMP"
        )
    return name


def table(read: nodes.Source, key: tuple[str, ...]) -> Node:
    """A source as a table: a changelog as it is, upserts by the latest row of each key."""
    if read.options.format == "raw":
        raise Step(read.name, read.at).error("MS-SOURCE-004", "reads raw records as a table.", hint='use format="json"')
    by = keys(key, read.schema, Step(read.name, read.at))
    if isinstance(read.options, HasNoOrder) and not read.options.changelog:
        where = read.options.without_order
        raise Step(read.name, read.at).error(
            "MS-SOURCE-004", f"reads {where} as upserts, and rows in {where} have no order.", hint="use changelog=True"
        )
    if read.options.changelog:
        return nodes.Declared(None, read.at, read, by)
    return operators.Latest(f"latest_{read.name}", read.at, read, by)
