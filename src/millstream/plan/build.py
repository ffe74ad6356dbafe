"""Builds nodes from what users wrote, and refuses what makes no sense."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from millstream.errors import did_you_mean
from millstream.plan import aggregates, nodes, operators
from millstream.plan.aggregates import Closing
from millstream.plan.changing import refuse, refuse_changing
from millstream.plan.columns import Column, Columns, labels
from millstream.plan.connectors import FieldType, ReceivedSource, SinkOptions, SourceOptions, WriteMode, record_columns
from millstream.plan.errors import Step, here
from millstream.plan.expressions import (
    Expr,
    NamedExpr,
    bind,
    field,
    parse,
    refuse_aggregates,
    resolve,
    same,
    scalar,
    unknown,
)
from millstream.plan.history import check_history
from millstream.plan.modes import ProcessingTime, milliseconds
from millstream.plan.node import Key, Node
from millstream.plan.schema import read_schema

RAW = (
    FieldType("key", "BINARY"),
    FieldType("value", "BINARY"),
    FieldType("partition", "INT"),
    FieldType("offset", "BIGINT"),
    FieldType("timestamp", "TIMESTAMP"),
)
HAVING = "_having"
AFTER = "add it when results no longer change: after final() or changes()"
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
        raise step.error("MS-SOURCE-002", f"takes its time from {name}, which is a {type_}.", hint="use a TIMESTAMP")
    return name


def known(name: str, names: list[str], step: Step) -> str:
    found = [other for other in names if same(other, name)]
    if found:
        return found[0]
    raise step.error(
        "MS-EXPR-002",
        f"uses {name}, which its input does not have.",
        found="columns: " + ", ".join(names),
        hint=did_you_mean(name, names),
    )


def table(read: nodes.Source, key: tuple[str, ...]) -> Node:
    """A source as a table: a changelog as it is, upserts by the latest row of each key."""
    if read.options.format == "raw":
        raise Step(read.name, read.at).error("MS-SOURCE-004", "reads raw records as a table.", hint='use format="json"')
    by = keys(key, read.schema, Step(read.name, read.at))
    if read.options.system == "files" and not read.options.changelog:
        raise Step(read.name, read.at).error(
            "MS-SOURCE-004", "reads files as upserts, and rows in files have no order.", hint="use changelog=True"
        )
    if read.options.changelog:
        return nodes.Declared(None, read.at, read, by)
    return operators.Latest(f"latest_{read.name}", read.at, read, by)


def alias(input: Node, name: str) -> nodes.Alias:
    step = Step(input.name, here())
    if not name.isidentifier():
        raise step.error("MS-PLAN-003", f"cannot be called {name!r}.", hint="use letters, digits and _")
    return nodes.Alias(None, step.at, input, name)


def select(input: Node, plain: tuple[str, ...], named: dict[str, str]) -> nodes.Project:
    step = Step("select", here())
    return project(input, listed(input.columns, plain, named, step), step)


def listed(columns: Columns, plain: tuple[str, ...], named: dict[str, str], step: Step) -> list[NamedExpr]:
    chosen = [part for sql in plain for part in selected(sql, columns, step)]
    return chosen + [NamedExpr(name, scalar(sql, columns, step)) for name, sql in named.items()]


def project(input: Node, chosen: list[NamedExpr], step: Step) -> nodes.Project:
    refuse_changing((part.expr for part in chosen), input, step)
    return nodes.Project(None, step.at, input, distinct_names(chosen, step))


def selected(sql: str, columns: Columns, step: Step) -> list[NamedExpr]:
    """`*`, `a.*`, a column, or an expression with `AS name`."""
    tree = parse(sql, step)
    if isinstance(tree, exp.Star):
        return [carried(column) for column in columns]
    if isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star):
        found = [carried(column) for column in columns if same(column.qualifier, tree.table)]
        if not found:
            raise unknown(sql, columns, step)
        return found
    refuse_aggregates(tree, step)
    if isinstance(tree, exp.Alias):
        return [NamedExpr(tree.alias, bind(tree.this, columns, step))]
    if not isinstance(tree, exp.Column | exp.Dot):
        raise step.error("MS-PLAN-002", f"has no name for {sql!r}.", hint=f"write it as name={sql!r}")
    name = tree.name
    if isinstance(tree, exp.Column):
        column, rest = resolve([part.name for part in tree.parts], columns, step)
        name = rest[-1] if rest else column.name
    return [NamedExpr(name, bind(tree, columns, step))]


def carried(column: Column) -> NamedExpr:
    return NamedExpr(column.name, Expr(field(column.field)))


def distinct_names(chosen: list[NamedExpr], step: Step) -> tuple[NamedExpr, ...]:
    if not chosen:
        raise step.error("MS-PLAN-002", "selects nothing.")
    seen: set[str] = set()
    for part in chosen:
        if part.name.startswith("_"):
            raise step.error(
                "MS-PLAN-005", f"calls a column {part.name}; names with _ in front are Millstream's.", hint="rename it"
            )
        if part.name.lower() in seen:
            raise step.error(
                "MS-PLAN-004",
                f"has two columns called {part.name}.",
                found=", ".join(f"{other.name} = {other.expr.shown}" for other in chosen),
                hint=f"name one of them: other_{part.name}={part.expr.shown!r}",
            )
        seen.add(part.name.lower())
    return tuple(chosen)


def with_columns(input: Node, named: dict[str, str]) -> nodes.Project:
    """The input's columns, some replaced, some added."""
    step = Step("with_columns", here())
    new = {name.lower(): NamedExpr(name, scalar(sql, input.columns, step)) for name, sql in named.items()}
    chosen = [new.pop(column.name.lower(), carried(column)) for column in input.columns]
    return project(input, [*chosen, *new.values()], step)


def where(input: Node, condition: str) -> nodes.Filter:
    step = Step("where", here())
    met = scalar(condition, input.columns, step)
    refuse_changing([met], input, step)
    return nodes.Filter(None, step.at, input, met)


def explode(input: Node, array: str, name: str) -> nodes.Explode:
    step = Step("explode", here())
    if any(same(column.name, name) for column in input.columns):
        raise step.error("MS-PLAN-004", f"has two columns called {name}.", found=labels(input.columns))
    elements = scalar(array, input.columns, step)
    refuse_changing([elements], input, step)
    return nodes.Explode(None, step.at, input, elements, name)


def changes(input: Node, op: str) -> nodes.Changes:
    step = Step("changes", here())
    if not op.isidentifier() or op.startswith("_") or any(same(column.name, op) for column in input.columns):
        raise step.error(
            "MS-PLAN-004", f"cannot call a column {op}.", found=labels(input.columns), hint='changes(op="change")'
        )
    return nodes.Changes(None, step.at, input, op)


def union(parts: tuple[Node, ...], call: str = "union") -> nodes.Union:
    step = Step(call, here())
    names = tuple(column.name for column in parts[0].columns)
    for part in parts:
        if sorted(column.name.lower() for column in part.columns) != sorted(name.lower() for name in names):
            raise step.error(
                "MS-PLAN-006",
                "puts together inputs with different columns.",
                found=f"{labels(parts[0].columns)}; and {labels(part.columns)}",
                hint=alike(parts[0].event_time, part.event_time),
            )
    if any(part.carries != parts[0].carries for part in parts):
        parts = tuple(select(part, names, {}) for part in parts)
    return nodes.Union(None, step.at, parts)


def alike(time: str | None, other: str | None) -> str:
    """How two inputs come to have the same columns, and their time under one name."""
    if time is None or other is None or same(time, other):
        return "select() the same columns on both sides"
    return f'select() the same columns on both sides, and the time under one name: select(…, {time}="{other}")'


def group(input: Node, plain: tuple[str, ...], named: dict[str, str], step: Step) -> tuple[NamedExpr, ...]:
    chosen = listed(input.columns, plain, named, step)
    if not chosen:
        raise step.error("MS-AGG-005", "groups by nothing.", hint="name at least one column, or use agg(…) by itself")
    return distinct_names(chosen, step)


def aggregate(
    input: Node,
    keys: tuple[NamedExpr, ...],
    named: dict[str, str],
    condition: str | None = None,
    closing: Closing | None = None,
) -> operators.Aggregate:
    """`condition`: what groups must meet, as one more result."""
    step = Step("agg", here())
    named = named if condition is None else {**named, HAVING: condition}
    if not named:
        raise step.error("MS-AGG-004", "computes nothing.", hint='for example agg(n="count(*)")')
    trees = {name: parse(sql, step) for name, sql in named.items()}
    for name, tree in trees.items():
        aggregates.refuse_order(tree, step)
        aggregates.refuse_count(named[name], step)
    bound = {name: bind(tree, input.columns, step) for name, tree in trees.items()}
    refuse_changing([*(part.expr for part in keys), *bound.values()], input, step)
    figures, results = aggregates.split(bound, keys, step)
    refuse((Expr(part.sql) for part in results), "over the results of groups", step, hint=AFTER)
    distinct_names([*keys, *(NamedExpr(name, expr) for name, expr in bound.items() if name != HAVING)], step)
    return operators.Aggregate(None, step.at, input, keys, figures, results, closing)


def having(made: operators.Aggregate) -> Node:
    """An aggregate that has the condition as one more result: it decides, and is then left out."""
    if HAVING not in made.carries:
        return made
    kept = nodes.Filter(None, made.at, made, Expr(field(HAVING)))
    names = (name for name in made.carries if name != HAVING)
    return nodes.Project(None, made.at, kept, tuple(NamedExpr(name, Expr(field(name))) for name in names))


def aggregate_of(node: Node) -> operators.Aggregate | None:
    """What agg() made, even if having() then filtered the groups."""
    if isinstance(node, nodes.Project) and isinstance(node.input, nodes.Filter):
        below = node.input.input
        return below if isinstance(below, operators.Aggregate) and HAVING in below.carries else None
    return node if isinstance(node, operators.Aggregate) else None


def named(node: Node, name: str) -> Node:
    """Names the step that keeps state, because that is where the name is looked up."""
    made = aggregate_of(node)
    return replace(node, given=name) if made is None else having(replace(made, given=name))


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
