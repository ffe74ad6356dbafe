"""Arrow columns as Python values, and back: column by column, because a call per cell would be most of the cost."""

from __future__ import annotations

import keyword
from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from typing import Any

import pyarrow as pa

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Decode = Callable[[pa.Array], list[Any]]


@lru_cache(maxsize=256)
def row_class(names: tuple[str, ...]) -> type[tuple[Any, ...]]:
    """A row: a tuple whose fields have names, as attributes and as `row["name"]`."""
    taken = [name if name.isidentifier() and not keyword.iskeyword(name) else f"_{i}" for i, name in enumerate(names)]
    base = namedtuple("Row", taken, rename=True)  # type: ignore[misc]
    places = {name: i for i, name in enumerate(names)}

    def __getitem__(self: Any, at: Any) -> Any:
        return tuple.__getitem__(self, places[at] if isinstance(at, str) else at)

    def asdict(self: Any) -> dict[str, Any]:
        return dict(zip(names, self, strict=True))

    def __repr__(self: Any) -> str:
        return "Row(" + ", ".join(f"{name}={value!r}" for name, value in zip(names, self, strict=True)) + ")"

    body = {"__slots__": (), "__getitem__": __getitem__, "asdict": asdict, "__repr__": __repr__, "columns": names}
    return type("Row", (base,), body)


@lru_cache(maxsize=1024)
def decoder(type_: pa.DataType) -> Decode:
    if pa.types.is_timestamp(type_):
        return instants if type_.tz else naive
    if pa.types.is_struct(type_):
        return structs(type_)
    if pa.types.is_map(type_):
        return maps(type_)
    if pa.types.is_list(type_):
        return lists(type_)
    if pa.types.is_integer(type_) or pa.types.is_floating(type_):
        return numbers
    return plain


def plain(column: pa.Array) -> list[Any]:
    found: list[Any] = column.to_pylist()
    return found


def numbers(column: pa.Array) -> list[Any]:
    if column.null_count:
        return plain(column)
    values = memoryview(column.buffers()[1]).cast(FORMATS[column.type])  # type: ignore[call-overload]
    found: list[Any] = values[column.offset : column.offset + len(column)].tolist()
    return found


FORMATS = {
    pa.int8(): "b",
    pa.int16(): "h",
    pa.int32(): "i",
    pa.int64(): "q",
    pa.float32(): "f",
    pa.float64(): "d",
}


def instants(column: pa.Array) -> list[Any]:
    return [None if at is None else EPOCH + timedelta(microseconds=at) for at in numbers(column.cast(pa.int64()))]


def naive(column: pa.Array) -> list[Any]:
    start = EPOCH.replace(tzinfo=None)
    return [None if at is None else start + timedelta(microseconds=at) for at in numbers(column.cast(pa.int64()))]


def structs(type_: pa.StructType) -> Decode:
    fields = [type_.field(i) for i in range(type_.num_fields)]
    decoders = [decoder(part.type) for part in fields]
    make = partial(tuple.__new__, row_class(tuple(part.name for part in fields)))

    def decode(column: pa.StructArray) -> list[Any]:
        parts = [decode(part) for decode, part in zip(decoders, column.flatten(), strict=True)]
        rows = list(map(make, zip(*parts, strict=True))) if parts else [make(())] * len(column)
        if not column.null_count:
            return rows
        return [row if there else None for row, there in zip(rows, column.is_valid().to_pylist(), strict=True)]

    return decode


def lists(type_: pa.ListType) -> Decode:
    inner = decoder(type_.value_type)

    def decode(column: pa.ListArray) -> list[Any]:
        items = inner(column.flatten())
        return cut(items, column)

    return decode


def maps(type_: pa.MapType) -> Decode:
    keys, values = decoder(type_.key_type), decoder(type_.item_type)

    def decode(column: pa.MapArray) -> list[Any]:
        pairs = column.cast(pa.list_(pa.struct([("key", type_.key_type), ("value", type_.item_type)])))
        flat = pairs.flatten()
        items = list(zip(keys(flat.field(0)), values(flat.field(1)), strict=True))
        return [None if part is None else dict(part) for part in cut(items, pairs)]

    return decode


def cut(items: list[Any], column: pa.ListArray) -> list[Any]:
    """The items of all lists, put back into lists."""
    found: list[Any] = []
    at = 0
    for length in column.value_lengths().to_pylist():
        if length is None:
            found.append(None)
        else:
            found.append(items[at : at + length])
            at += length
    return found


def encode(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """Python values, which were checked before, as a column."""
    if pa.types.is_struct(type_):
        return encode_structs(values, type_)
    if pa.types.is_map(type_):
        pairs = [None if value is None else list(value.items()) for value in values]
        flat = [pair for value in pairs if value for pair in value]
        keys, items = encode([key for key, _ in flat], type_.key_type), encode([v for _, v in flat], type_.item_type)
        return pa.MapArray.from_arrays(offsets(pairs), keys, items).cast(type_)
    if pa.types.is_list(type_):
        flat = [item for value in values if value is not None for item in value]
        if not flat:
            return pa.array(values, type=type_)
        return pa.ListArray.from_arrays(offsets(values), encode(flat, type_.value_type)).cast(type_)
    return pa.array(values, type=type_)


def offsets(values: Sequence[Sequence[Any] | None]) -> pa.Array:
    found: list[int | None] = []
    at = 0
    for value in values:
        found.append(None if value is None else at)
        at += len(value) if value is not None else 0
    return pa.array([*found, at], pa.int32())


def encode_structs(values: Sequence[Any], type_: pa.StructType) -> pa.Array:
    fields = [type_.field(i) for i in range(type_.num_fields)]
    mask = None
    kinds = set(map(type, values))
    if type(None) in kinds:
        mask = pa.array([value is None for value in values], pa.bool_())
        nothing = (None,) * len(fields)
        values = [nothing if value is None else value for value in values]
    if dict in kinds:
        names = [part.name for part in fields]
        values = [tuple(map(value.get, names)) if type(value) is dict else value for value in values]
    columns: Iterable[Any] = zip(*values, strict=True) if values else [()] * len(fields)
    parts = [encode(column, part.type) for column, part in zip(columns, fields, strict=True)]
    return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)


def to_stream(columns: Iterable[pa.Array], schema: pa.Schema) -> bytes:
    batch = pa.RecordBatch.from_arrays(list(columns), schema=schema)
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, schema) as writer:
        writer.write_batch(batch)
    found: bytes = out.getvalue().to_pybytes()
    return found


def from_stream(message: bytes) -> pa.RecordBatch:
    with pa.ipc.open_stream(pa.py_buffer(message)) as reader:
        batch: pa.RecordBatch = reader.read_next_batch()
    return batch
