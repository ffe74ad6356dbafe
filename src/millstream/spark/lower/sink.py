"""Sinks: rows as records with key and value, tagged with the sink that they go to."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, IntegerType, LongType

from millstream.errors import MillstreamError
from millstream.plan.expressions import field
from millstream.plan.nodes import Sink
from millstream.planner.stages import Route
from millstream.spark.lower.router import Cell, Lane, named_struct, route
from millstream.spark.lower.stage import Output

JSON_OPTIONS = """map('timestampFormat', "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX")"""


def lower_sinks(sinks: tuple[Sink, ...], routes: tuple[Route, ...], upstream: list[Output]) -> DataFrame:
    """One frame for all sinks: `sink, key, value, w`."""
    written: DataFrame | None = None
    for output in upstream:
        lanes = [lane(sinks, part, output) for part in routes if part.producer in output.producers]
        if lanes:
            rows = route(output.frame, lanes)
            written = rows if written is None else written.unionByName(rows)
    assert written is not None
    return written


def lane(sinks: tuple[Sink, ...], part: Route, output: Output) -> Lane:
    assert isinstance(part.to, Sink)
    return replace(output.lane(part), cells=cells(part.to, sinks.index(part.to)))


def cells(sink: Sink, tag: int) -> tuple[Cell, ...]:
    key, value = record(sink)
    weight = "abs(`_w`)" if sink.mode == "changelog" else "`_w`"
    return (
        Cell("sink", str(tag), IntegerType()),
        Cell("key", key, BinaryType()),
        Cell("value", value, BinaryType()),
        Cell("w", weight, LongType()),
    )


def record(sink: Sink) -> tuple[str, str]:
    """SQL for a record's key and value."""
    if sink.options.format == "raw":
        return raw(sink)
    columns = [(column.name, field(column.field)) for column in sink.columns]
    key = record_key(sink)
    if sink.mode == "changelog":
        columns = [("op", "CASE WHEN `_w` > 0 THEN 'insert' ELSE 'delete' END"), *columns]
    value = to_json(columns)
    return key, f"CASE WHEN `_w` > 0 THEN {value} END" if sink.mode == "upsert" else value


def record_key(sink: Sink) -> str:
    fields = sink.options.key or (sink.input.key or () if sink.mode != "append" else ())
    wanted = {name.lower() for name in fields}
    chosen = [
        (column.name, field(column.field))
        for column in sink.columns
        if column.name.lower() in wanted or column.field.lower() in wanted
    ]
    return to_json(chosen) if chosen else "NULL"


def to_json(columns: list[tuple[str, str]]) -> str:
    return f"to_json({named_struct(columns)}, {JSON_OPTIONS})"


def raw(sink: Sink) -> tuple[str, str]:
    fields = {column.name: field(column.field) for column in sink.columns}
    if "value" not in fields or not fields.keys() <= {"key", "value"}:
        raise MillstreamError(
            "MS-SINK-005",
            f'step "{sink.name}" writes raw records, which have the columns value and, if wanted, key.',
            at=sink.at,
            found=", ".join(fields),
        )
    return fields.get("key", "NULL"), fields["value"]
