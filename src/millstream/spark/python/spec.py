"""What the process that runs a user's code knows about it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql.types import ArrayType, BooleanType, DataType, IntegerType, LongType, StructField, StructType

from millstream.spark.python.ship import Shipped


@dataclass(frozen=True)
class Variable:
    """A state variable: its types as Spark writes them in JSON."""

    name: str
    kind: str
    type: str
    key: str | None
    ttl_ms: int | None

    @cached_property
    def data_type(self) -> DataType:
        return read_type(self.type)

    @cached_property
    def key_type(self) -> DataType:
        assert self.key is not None
        return read_type(self.key)

    @cached_property
    def item(self) -> StructType:
        """A value beside the time at which it expires."""
        return StructType([StructField("value", self.data_type), StructField("expires", LongType())])

    @cached_property
    def entry(self) -> StructType:
        return StructType([StructField("key", self.key_type), *self.item.fields])


@dataclass(frozen=True)
class ProcessSpec:
    step: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    """Of the rows that come in."""
    time: int | None
    """Which of them is the event time."""
    outputs: tuple[tuple[str, str], ...]
    """Name and schema of each, the main one first, dead letters last."""
    variables: tuple[Variable, ...]
    on_error: str
    shipped: Shipped
    in_flight: int = 0
    """How many keys are awaited at once, if methods are async; 0: none is."""
    batches: bool = False
    """Whether the rows of many keys are handed over at once."""

    def of_kind(self, kind: str) -> list[Variable]:
        return [var for var in self.variables if var.kind == kind]

    @cached_property
    def schemas(self) -> list[StructType]:
        return [read_struct(schema) for _, schema in self.outputs]

    @cached_property
    def output(self) -> StructType:
        """A row of the result: which output it belongs to, and its columns there."""
        parts = [StructField(f"_o{i}", schema) for i, schema in enumerate(self.schemas)]
        return StructType([StructField("_out", IntegerType()), *parts])

    @cached_property
    def values(self) -> StructType:
        """The row in which all that is small is kept together."""
        kept = [
            StructField("filled", LongType()),
            StructField("clean", LongType()),
            StructField("timers", ArrayType(LongType())),
            StructField("clocks", ArrayType(LongType())),
        ]
        return StructType([*kept, *(StructField(f"v_{var.name}", var.item) for var in self.of_kind("value"))])

    @cached_property
    def changes(self) -> StructType:
        """How changes of state are told; see ProcessState.java."""
        parts = [StructField("group", IntegerType()), StructField("written", BooleanType())]
        parts.append(StructField("values", self.values))
        for i, var in enumerate(self.of_kind("list")):
            change = [StructField("clear", BooleanType()), StructField("add", ArrayType(var.item))]
            parts.append(StructField(f"l{i}", StructType(change)))
        for i, var in enumerate(self.of_kind("map")):
            change = [StructField("clear", BooleanType()), StructField("put", ArrayType(var.entry))]
            change.append(StructField("remove", ArrayType(StructType([StructField("key", var.key_type)]))))
            parts.append(StructField(f"m{i}", StructType(change)))
        longs = ArrayType(LongType())
        times = [StructField(name, longs) for name in ("timers", "untimers", "clocks", "unclocks")]
        return StructType([*parts, *times])


def read_type(text: str) -> DataType:
    """A type from its JSON."""
    wrapped = {"type": "struct", "fields": [{"name": "x", "type": json.loads(text), "nullable": True, "metadata": {}}]}
    return StructType.fromJson(wrapped).fields[0].dataType


def read_struct(text: str) -> StructType:
    return StructType.fromJson(json.loads(text))
