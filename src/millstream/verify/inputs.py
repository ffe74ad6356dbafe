"""What a job is verified with: recorded rows, or rows made from the schema of each source."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from millstream.connectors.message_source import Identity, MessageSource
from millstream.errors import MillstreamError, did_you_mean
from millstream.journal.producer import producer
from millstream.journal.reader import read
from millstream.journal.topics import create, topics
from millstream.plan.connectors import FieldType, record_columns
from millstream.plan.node import walk
from millstream.plan.nodes import Declared, Sink, Source
from millstream.testing import cases
from millstream.testing.cases import Change, Column, Edit, Fact, Row, Upsert
from millstream.testing.feed import feed
from millstream.verify.sandbox import PARTITIONS, refuse_strange_parts

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
STEP = timedelta(seconds=15)
PAUSE, EVERY = timedelta(hours=1), 40
"""After every `EVERY` rows, and before the last one, nothing happens for `PAUSE`, so that windows and sessions end. The
last pause leaves that to an epoch that reads nothing."""
BROKEN = 0.02
"""The share of records that cannot be read, where the job says what to do with them."""


@dataclass(frozen=True)
class Input:
    """`recorded`: for sources by their names, files of JSON lines, or topics of a journal as `folder/topic`."""

    rows: int
    seed: int
    recorded: Mapping[str, str] = field(default_factory=dict)


def fill(sinks: tuple[Sink, ...], folder: Path, given: Input) -> dict[str, tuple[int, str]]:
    """Writes the input of every source into a journal; how much it is, and where it is from."""
    sources = [node for node in walk(sinks) if isinstance(node, Source)]
    refuse_unknown(sources, given.recorded)
    keys = {node.input.name: node.declared for node in walk(sinks) if isinstance(node, Declared)}
    told = {}
    for source in sources:
        refuse_strange_parts(source)
        # Rows in the order of their time: partitions are not read in step.
        received = isinstance(source.options, MessageSource)
        partitions = 1 if source.time or received else PARTITIONS
        create(folder, source.name, partitions)
        if source.name in given.recorded:
            place = given.recorded[source.name]
            count = copied(source, folder, place, partitions, given.rows)
            told[source.name] = (count, f"recorded, from {place}{way_of(source)}")
        else:
            changes = made(source, keys.get(source.name, ()), given.rows, Random(f"{given.seed} {source.name}"))
            feed(folder, source.name, changes, partitions)
            told[source.name] = (len(changes), f"made from its schema{way_of(source)}")
    return told


def way_of(source: Source) -> str:
    """How a source that cannot be read again comes to its input."""
    if not isinstance(source.options, MessageSource):
        return ""
    kind = "log" if source.options.consumed is None else "queue"
    return f"; the job's own receiver takes them from a {kind} in a file"


def refuse_unknown(sources: list[Source], recorded: Mapping[str, str]) -> None:
    names = [source.name for source in sources]
    for name in recorded:
        if name not in names:
            raise MillstreamError(
                "MS-VERIFY-005",
                f'the job has no source "{name}".',
                found="sources: " + ", ".join(names),
                hint=did_you_mean(name, names),
            )


# --- recorded


def copied(source: Source, folder: Path, place: str, partitions: int, most: int) -> int:
    path = Path(place).expanduser()
    if path.is_dir() and path.name in topics(path.parent):
        with producer(folder, source.name, durable=False) as out:
            count = 0
            for record in islice(read(path.parent, path.name), most):
                where = record.partition % partitions
                headers, when = record.headers, record.timestamp
                out.send(record.value, key=record.key, headers=headers, timestamp=when, partition=where)
                count += 1
        return count
    if not path.is_file():
        raise MillstreamError(
            "MS-VERIFY-006",
            f'the recorded input of source "{source.name}" is neither a file nor a topic of a journal.',
            found=str(path),
            hint="name a file with a row as JSON on each line, or the folder of a topic: journal/likes",
        )
    with path.open() as lines:
        changes = [change_of(source, line, n, path) for n, line in enumerate(islice(lines, most), 1) if line.strip()]
    feed(folder, source.name, changes, partitions)
    return len(changes)


def change_of(source: Source, line: str, number: int, path: Path) -> Change:
    """A line as a record: a row, which may have an `op` if its source is a table."""
    if source.options.format == "raw":
        return cases.Broken(line.rstrip("\n").encode())
    try:
        row = json.loads(line)
    except ValueError:
        return cases.Broken(line.encode())
    if not isinstance(row, dict):
        raise MillstreamError("MS-VERIFY-006", f"line {number} of {path} is not a row.", found=line.strip()[:200])
    if source.options.changelog:
        return Edit(row.pop("op", "insert"), row, ())
    if source.upserts:
        key = {name: row.get(name) for name in source.upserts}
        return Upsert(key, None if row.pop("op", "insert") == "delete" else row)
    return Fact(row)


# --- made


def made(source: Source, key: tuple[str, ...], count: int, random: Random) -> list[Change]:
    """Inserts, updates and deletes, in the form in which the source gives them."""
    if source.options.format == "raw":
        return [cases.Broken(json.dumps({"n": n}).encode()) for n in range(count)]
    unique = {*key, *(source.upserts or ())}
    own = {source.arrival, source.time, *(name for name, _, _ in record_columns(source.options))}
    columns = {part.name: column(part, part.name in unique) for part in source.schema if part.name not in own}
    identity = source.options.identity if isinstance(source.options, MessageSource) else Identity()
    if identity.column in columns and identity.column not in unique and not source.options.changelog:
        columns[identity.column] = numbered(next(part for part in source.schema if part.name == identity.column))
    row = cases.rows(**columns)
    if source.options.changelog:
        changes = cases.changelog(random, row, count, key=key)
    elif source.upserts:
        changes = cases.upserts(random, row, source.upserts, count)
    else:
        # What tells a message apart cannot be read in one that is broken.
        broken = BROKEN if source.options.on_error != "fail" and identity.column is None else 0.0
        changes = cases.stream(random, row, count, broken=broken)
    return timed(source, changes, random) if source.time and source.time != source.arrival else changes


def timed(source: Source, changes: list[Change], random: Random) -> list[Change]:
    """With times that go on row by row, no row later than its source allows. What is taken back keeps its time."""
    assert source.time is not None
    jitter = min(source.lateness_ms / 1000, 60) / 2
    given: dict[str, list[str]] = {}
    out: list[Change] = []
    for number, change in enumerate(changes):
        pauses = number // EVERY + (number == len(changes) - 1)
        when = BEGIN + STEP * number + PAUSE * pauses - timedelta(seconds=random.uniform(0, jitter))
        text = when.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        match change:
            case Fact(row):
                out.append(Fact(with_time(row, source.time, text)))
            case Edit(op, row):
                times = given.setdefault(json.dumps(row), [])
                if op == "insert":
                    times.append(text)
                out.append(
                    replace(change, row=with_time(row, source.time, times[-1] if op == "insert" else times.pop()))
                )
            case Upsert(key, row) if row is not None:
                out.append(Upsert(key, with_time(row, source.time, text)))
            case _:
                out.append(change)
    return out


def with_time(row: Row, column: str, when: str) -> Row:
    return {**row, column: when}


def numbered(part: FieldType) -> Column:
    """Another value for each message: it is known by it."""
    numbers = itertools.count()
    return (lambda random: f"m{next(numbers)}") if part.type.upper() == "STRING" else (lambda random: next(numbers))


def column(part: FieldType, unique: bool) -> Column:
    """Few different values, the same in all sources, so that keys meet; no NULL where rows are told apart by it."""
    nulls = 0.0 if unique else 0.02
    kind = part.type.upper().split("(")[0].split("<")[0].strip()
    match kind:
        case "TINYINT" | "SMALLINT" | "INT" | "INTEGER" | "BIGINT" | "BYTE" | "SHORT" | "LONG":
            return cases.whole(0, 20, nulls=nulls)
        case "FLOAT" | "DOUBLE" | "REAL":
            return cases.doubles(nulls=nulls, special=0)
        case "DECIMAL" | "NUMERIC":
            return cases.decimals(whole=3, scale=0, nulls=nulls)
        case "BOOLEAN":
            return cases.nullable(lambda random: random.random() < 0.5, nulls)
        case "DATE":
            return lambda random: f"2026-01-{random.randint(1, 28):02d}"
        case "TIMESTAMP" | "TIMESTAMP_LTZ" | "TIMESTAMP_NTZ":
            return moments
        case "STRING" | "VARCHAR" | "CHAR":
            return cases.words(20, nulls=nulls)
        case "ARRAY":
            return cases.lists(column(FieldType("", inner(part.type)), True), 3, nulls=nulls)
        case _:
            return nothing


def inner(type_: str) -> str:
    return type_[type_.index("<") + 1 : type_.rindex(">")] if "<" in type_ else "STRING"


def moments(random: Random) -> str:
    return f"2026-01-01T{random.randint(0, 23):02d}:{random.randint(0, 59):02d}:{random.randint(0, 59):02d}Z"


def nothing(random: Random) -> Any:
    """Maps, structs and bytes are left NULL."""
    return None
