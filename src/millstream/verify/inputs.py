"""What a job is verified with: records of its own topics where there are some, otherwise rows made from the schema."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from millstream.connectors.journal import JournalSource
from millstream.journal.producer import producer
from millstream.journal.reader import read
from millstream.journal.topics import create, topics
from millstream.plan.connectors import FieldType
from millstream.plan.nodes import Source
from millstream.testing import cases
from millstream.testing.cases import Change, Column
from millstream.testing.feed import feed

PARTITIONS = 2


def fill(source: Source, folder: Path, count: int, seed: int) -> str:
    """Writes a source's input, and says where it is from."""
    create(folder / "input", source.name, PARTITIONS)
    recorded = copied(source, folder, count)
    if recorded:
        return f"{recorded} records of {source.options.system} {source.options.label}"
    changes = made(source, count, Random(f"{seed} {source.name}"))
    feed(folder / "input", source.name, changes, PARTITIONS)
    return f"{len(changes)} records made from the schema, seed {seed}"


def copied(source: Source, folder: Path, count: int) -> int:
    options = source.options
    if not isinstance(options, JournalSource) or options.topic not in topics(options.path):
        return 0
    number = 0
    with producer(folder / "input", source.name) as out:
        for record in islice(read(options.path, options.topic), count):
            out.send(record.value, key=record.key, headers=record.headers, partition=record.partition % PARTITIONS)
            number += 1
    return number


def made(source: Source, count: int, random: Random) -> list[Change]:
    row = cases.rows(**{part.name: column(part) for part in source.schema})
    if source.options.format == "raw":
        return [cases.Broken(json.dumps({"n": n}).encode()) for n in range(count)]
    if source.options.changelog:
        return cases.changelog(random, row, count)
    if source.upserts:
        return cases.upserts(random, row, source.upserts, count)
    return cases.stream(random, row, count)


def column(part: FieldType) -> Column:
    """Few different values, so that keys meet."""
    kind = part.type.upper().split("(")[0].split("<")[0].strip()
    match kind:
        case "TINYINT" | "SMALLINT" | "INT" | "INTEGER" | "BIGINT" | "BYTE" | "SHORT" | "LONG":
            return cases.whole(0, 20, nulls=0.02)
        case "FLOAT" | "DOUBLE" | "REAL":
            return cases.doubles(nulls=0.02, special=0)
        case "DECIMAL" | "NUMERIC":
            return cases.decimals(whole=3, scale=0, nulls=0.02)
        case "BOOLEAN":
            return lambda random: random.random() < 0.5
        case "DATE":
            return lambda random: f"2026-01-{random.randint(1, 28):02d}"
        case "TIMESTAMP" | "TIMESTAMP_LTZ" | "TIMESTAMP_NTZ":
            return moments
        case "STRING" | "VARCHAR" | "CHAR":
            return cases.words(20, nulls=0.02)
        case _:
            return nothing


def moments(random: Random) -> str:
    return f"2026-01-01T{random.randint(0, 23):02d}:{random.randint(0, 59):02d}:{random.randint(0, 59):02d}Z"


def nothing(random: Random) -> Any:
    """Arrays, maps and structs are left NULL."""
    return None
