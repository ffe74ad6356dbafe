"""Sinks: rows as records with key and value, tagged with the sink that they go to; or rows as they are, for one."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, DataType, IntegerType, LongType

from millstream.errors import MillstreamError
from millstream.plan.connectors import WHOLE_ROWS, CarriedSink, ChoosesNulls
from millstream.plan.expressions import field
from millstream.plan.nodes import Sink
from millstream.planner.stages import Route
from millstream.spark.lower.frames import OP
from millstream.spark.lower.router import Cell, Lane, route, rows_of
from millstream.spark.lower.stage import Output
from millstream.spark.lower.types import named_struct, types_of
from millstream.spark.lower.unions import lanes

Whole = dict[int, DataType]
"""By sink, the type of the whole rows that it receives."""
TIMES = (
    """'timestampFormat', "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", """
    """'timestampNTZFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSS'"""
)
CSV_OPTIONS = f"map({TIMES})"
JSON_OPTIONS = f"map({TIMES}, 'ignoreNullFields', 'false')"
"""A record names all its columns, because NULL is a value like any other."""
WITHOUT_NULLS = f"map({TIMES}, 'ignoreNullFields', 'true')"


def lower_sinks(sinks: tuple[Sink, ...], routes: tuple[Route, ...], upstream: list[Output]) -> DataFrame:
    """One frame for all sinks: `sink, key, value, w`, and `row0` … for those that are handed whole rows.

    A sink of rows, which is alone, gets its columns and `_w`.
    """
    written: DataFrame | None = None
    walked = lanes(routes, upstream)
    whole = whole_rows(sinks, walked, upstream)
    for output in upstream:
        own = [lane(sinks, part, walked, whole) for part in routes if part.producer in output.producers]
        if own:
            rows = route(output.frame, own)
            written = rows if written is None else written.unionByName(rows)
    assert written is not None
    return written


def whole_rows(sinks: tuple[Sink, ...], walked: dict[Route, Lane], upstream: list[Output]) -> Whole:
    found: Whole = {}
    for part, way in walked.items():
        assert isinstance(part.to, Sink)
        if part.to.options.format in WHOLE_ROWS:
            output = next(output for output in upstream if part.producer in output.producers)
            found[sinks.index(part.to)] = whole_type(part.to, rows_of(output.frame, way))
    return found


def carried_types(routes: tuple[Route, ...], upstream: list[Output]) -> dict[str, str]:
    """By name, the types of the rows of sinks that Python carries them to."""
    found = {}
    for part, way in lanes(routes, upstream).items():
        assert isinstance(part.to, Sink)
        if isinstance(part.to.options, CarriedSink):
            output = next(output for output in upstream if part.producer in output.producers)
            found[part.to.name] = whole_type(part.to, rows_of(output.frame, way)).json()
    return found


def whole_type(sink: Sink, rows: DataFrame) -> DataType:
    """The type of the rows that a sink is handed."""
    return types_of(rows, [named_struct(columns(sink))])[0]


def lane(sinks: tuple[Sink, ...], part: Route, walked: dict[Route, Lane], whole: Whole) -> Lane:
    assert isinstance(part.to, Sink)
    return replace(walked[part], cells=cells(part.to, sinks.index(part.to), whole))


def cells(sink: Sink, tag: int, whole: Whole) -> tuple[Cell, ...]:
    if sink.options.format == "rows":
        return tuple(Cell(name, field(from_), None) for name, from_ in row(sink))
    key, value = record(sink)
    weight = "abs(`_w`)" if sink.mode == "changelog" else "`_w`"
    return (
        Cell("sink", str(tag), IntegerType()),
        Cell("key", key, BinaryType()),
        Cell("value", value, BinaryType()),
        Cell("w", weight, LongType()),
        *(Cell(f"row{i}", named_struct(columns(sink)) if i == tag else "NULL", type_) for i, type_ in whole.items()),
    )


def row(sink: Sink) -> list[tuple[str, str]]:
    return [("_w", "_w"), *((column.name, column.field) for column in sink.columns)]


def record(sink: Sink) -> tuple[str, str]:
    """SQL for a record's key and value."""
    if sink.options.format == "raw":
        return raw(sink)
    key = parted(sink) if apart(sink) else record_key(sink)
    value = text(sink)
    return key, f"CASE WHEN `_w` > 0 THEN {value} END" if sink.mode == "upsert" else value


def text(sink: Sink) -> str:
    """SQL for a record's value, where it is a text."""
    if sink.options.format in WHOLE_ROWS:
        return "NULL"
    if sink.options.format == "csv":
        return to_csv(columns(sink))
    whole = sink.options.nulls if isinstance(sink.options, ChoosesNulls) else True
    return to_json(columns(sink), JSON_OPTIONS if whole else WITHOUT_NULLS)


def columns(sink: Sink) -> list[tuple[str, str]]:
    """The written part of a row: the name and SQL of each column."""
    folders = {name.lower() for name in apart(sink)}
    chosen = [(part.name, field(part.field)) for part in sink.columns if part.name.lower() not in folders]
    op = [("op", OP)] if sink.mode == "changelog" else []
    return [*op, *chosen]


def apart(sink: Sink) -> tuple[str, ...]:
    """Columns that name folders instead of being written. Carriers in Python get all of them."""
    return () if isinstance(sink.options, CarriedSink) else sink.options.partition_by


def parted(sink: Sink) -> str:
    """The values that say where a row goes, as a JSON list of texts."""
    fields = {part.name.lower(): field(part.field) for part in sink.columns}
    values = [f"CAST({fields[name.lower()]} AS STRING)" for name in apart(sink)]
    return f"to_json(array({', '.join(values)}))"


def to_csv(columns: list[tuple[str, str]]) -> str:
    return f"to_csv({named_struct(columns)}, {CSV_OPTIONS})"


def record_key(sink: Sink) -> str:
    fields = sink.options.key or (sink.input.key or () if sink.mode != "append" else ())
    wanted = {name.lower() for name in fields}
    chosen = [
        (column.name, field(column.field))
        for column in sink.columns
        if column.name.lower() in wanted or column.field.lower() in wanted
    ]
    if not chosen and sink.mode == "upsert":
        return "'{}'"
    return to_json(chosen) if chosen else "NULL"


def to_json(columns: list[tuple[str, str]], options: str = JSON_OPTIONS) -> str:
    return f"to_json({named_struct(columns)}, {options})"


def raw(sink: Sink) -> tuple[str, str]:
    fields = {column.name: field(column.field) for column in sink.columns}
    if "value" not in fields or not fields.keys() <= {"key", "value"}:
        raise MillstreamError(
            "MS-SINK-008",
            f'step "{sink.name}" writes raw records, which have the columns value and, if wanted, key.',
            at=sink.at,
            found=", ".join(fields),
        )
    return fields.get("key", "NULL"), fields["value"]
