"""Code that is made for a shape: what is right as it is passes one expression; all else goes the long way.

A check that walks over the fields of each row, calling a function for each, costs more than most users' code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from itertools import islice
from types import GeneratorType
from typing import Any

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from millstream.spark.python.fits import BITS, fits

Checked = Callable[[Any], Any]
Tests = dict[type[DataType], str]
PLAIN: Tests = {
    BooleanType: "({0} is True or {0} is False)",
    DoubleType: "type({0}) is float",
    StringType: "type({0}) is str",
    BinaryType: "type({0}) is bytes",
    DateType: "type({0}) is date",
    TimestampNTZType: "type({0}) is datetime and {0}.tzinfo is None",
    TimestampType: "type({0}) is datetime and {0}.tzinfo is UTC",
}
"""Whether a value fits, and is in the form in which it would come back from state."""
OUT: Tests = {**PLAIN, FloatType: "type({0}) is float", TimestampType: "type({0}) is datetime"}
"""The same for values that only go out."""
ROWS_LOOP = "each_row_of_a_key"
"""What the function is called that calls a process: by that its variables are found when it fails."""
NAMES = {
    "date": date,
    "datetime": datetime,
    "UTC": UTC,
    "new": tuple.__new__,
    "generator": GeneratorType,
    "first": islice,
}


def test(type_: DataType, value: str, tests: Tests) -> str | None:
    """An expression that is true only of what is right as it is; None: it must be looked into."""
    bits = BITS.get(type(type_))
    if bits is not None:
        return f"type({value}) is int and {-(1 << bits - 1)} <= {value} <= {(1 << bits - 1) - 1}"
    found = tests.get(type(type_))
    return None if found is None else found.format(value)


def fields(schema: StructType) -> str:
    """Whether all fields of a row that goes out, which stand in `v0` …, are NULL or right."""
    tests = []
    for i, part in enumerate(schema.fields):
        found = test(part.dataType, f"v{i}", OUT)
        tests.append(f"(v{i} is None or {f'checks[{i}](v{i})' if found is None else found})")
    return " and ".join(tests)


def unpacked(schema: StructType, otherwise: str) -> list[str]:
    """The fields of `given`, a tuple or a dict, as `v0` …; `given` is a tuple then."""
    width = len(schema.fields)
    names = "".join(f"v{i}, " for i in range(width))
    by_name = "".join(f"given[{name!r}], " for name in schema.names)
    return [
        f"if type(given) is tuple and len(given) == {width}:",
        f"    {names}= given",
        f"elif type(given) is dict and len(given) == {width} and given.keys() == known:",
        f"    {names}= given = ({by_name})",
        "else:",
        f"    {otherwise}",
    ]


def kept(type_: DataType) -> list[str] | None:
    """Lines that leave `value` in `found`, in the form in which it would come back from state, if it is right at first
    sight, and else hand it to `slow`. None: all values must be looked into."""
    if not isinstance(type_, StructType):
        right = test(type_, "value", PLAIN)
        return None if right is None else ["found = value", f"if not ({right}):", "    return slow(value)"]
    tests = [test(part.dataType, f"v{i}", PLAIN) for i, part in enumerate(type_.fields)]
    if not tests or None in tests:
        return None
    right = " and ".join(f"(v{i} is None or {found})" for i, found in enumerate(tests))
    return [
        "given = value",
        *unpacked(type_, "return slow(value)"),
        f"if not ({right}):",
        "    return slow(value)",
        "found = new(row, given)",
    ]


def kept_check(type_: DataType, row: type[tuple[Any, ...]] | None, slow: Checked) -> Checked:
    """A value that state is to hold, in the form in which it would come back. `row`: of structs, what they come as."""
    lines = kept(type_)
    if lines is None:
        return slow
    lines = ["def checked(value):", *indented(lines, 1), "    return found"]
    return made(lines, "checked", schema_of(type_), slow, row=row)  # type: ignore[no-any-return]


def value_setter(
    type_: DataType, row: type[tuple[Any, ...]] | None, slow: Callable[[Any], None], store: Any
) -> Callable[[Any], None]:
    """Sets the value that a variable has of the key in hand, where values do not expire: it is called for most rows.

    `slow`: does so for a value that must be looked into."""
    lines = kept(type_)
    if lines is None:
        return slow
    lines = [
        "def set_value(value):",
        *indented(lines, 1),
        "    group = store.group",
        "    group.values[at] = (found, None)",
        "    group.written = True",
    ]
    return made(lines, "set_value", schema_of(type_), slow, row=row, store=store, at=store.at)  # type: ignore[no-any-return]


def schema_of(type_: DataType) -> StructType:
    return type_ if isinstance(type_, StructType) else StructType()


def row_check(schema: StructType, slow: Checked) -> Checked:
    """A row of a user's as a tuple of the columns' values."""
    lines = [
        "def checked(given):",
        *indented(unpacked(schema, "return slow(given)"), 1),
        f"    return given if {fields(schema)} else slow(given)",
    ]
    found: Checked = made(lines, "checked", schema, slow)
    return found


def map_loop(schema: StructType, slow: Checked) -> Callable[[Callable[..., Any], Any, Callable[[Any], None]], None]:
    """Calls a function for each row, and appends what it gave, as tuples; up to the row on which it fails."""
    lines = [
        "def each(function, rows, append):",
        "    for row in rows:",
        "        given = function(row)",
        *indented(unpacked(schema, "append(slow(given)); continue"), 2),
        f"        append(given if {fields(schema)} else slow(given))",
    ]
    found: Callable[..., None] = made(lines, "each", schema, slow)
    return found


def calls(schema: StructType) -> list[str]:
    """The call for one row, and what becomes of its result."""
    return [
        "result = function(key, row)",
        "if result is None:",
        "    continue",
        "if type(result) is not generator:",
        "    take(result)",
        "    continue",
        "for given in result:",
        *indented(unpacked(schema, "take([given]); continue"), 1),
        f"    append(given if {fields(schema)} else slow(given))",
    ]


def rows_loop(schema: StructType, take: Callable[[Any], None], slow: Checked) -> Callable[..., None]:
    """Calls a process for each row of a key, and appends the rows that it yields, as tuples. `take`: does so for all
    that is not a generator of rows of its main output."""
    lines = [f"def {ROWS_LOOP}(function, key, rows, append):", "    for row in rows:", *indented(calls(schema), 2)]
    return made(lines, ROWS_LOOP, schema, slow, take=take)  # type: ignore[no-any-return]


def keys_loop(schema: StructType, take: Callable[[Any], None], slow: Checked) -> Callable[..., None]:
    """The same for the rows of many keys. `group` stands for one key after the other: see `ValuesOnly`. `changed`: told
    the place of a key whose values were set."""
    lines = [
        f"def {ROWS_LOOP}(function, keys, rows, append, group, changed):",
        "    for place, key, count, group.values in keys:",
        "        for row in first(rows, count):",
        *indented(calls(schema), 3),
        "        if group.written:",
        "            group.written = False",
        "            changed(place)",
    ]
    return made(lines, ROWS_LOOP, schema, slow, take=take)  # type: ignore[no-any-return]


def made(lines: Sequence[str], name: str, schema: StructType, slow: Checked, **more: Any) -> Any:
    """The function of that name, which these lines define; `more`: what else they call."""
    checks = [fits(part.dataType) for part in schema.fields]
    space: dict[str, Any] = {**NAMES, "checks": checks, "known": set(schema.names), "slow": slow, **more}
    exec(compile("\n".join(lines), f"{__file__} {name}", "exec"), space)
    return space[name]


def indented(lines: Sequence[str], by: int) -> list[str]:
    return ["    " * by + line for line in lines]
