"""What a reader finds in the sinks of a job that ran in its own folder."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from millstream.connectors.files import FileSink
from millstream.journal.reader import read
from millstream.plan.connectors import CarriedSink
from millstream.plan.nodes import Changes, Sink
from millstream.testing.changelog import Rows, text
from millstream.verify.sandbox import Movable
from millstream.verify.standin import rows as in_database


@dataclass(frozen=True)
class Held:
    """`records`: one by one, as they were written. `table`: what they come to, which batch SQL gives, too."""

    records: Rows
    table: Rows


def held(sink: Sink, place: Path) -> Held:
    options = sink.options
    if isinstance(options, Movable):
        found = options.contents(place / sink.name)
        return Held(found, found)
    if isinstance(options, FileSink):
        files = Counter(in_files(options, place / sink.name))
        return Held(files, summed(files) if sink.mode == "changelog" else files)
    if isinstance(options, CarriedSink):
        rows = Counter(text(json.loads(row)) for row in in_database(place / f"{sink.name}.db").elements())
        return Held(rows, rows)
    return in_topic(sink, place)


def in_topic(sink: Sink, place: Path) -> Held:
    if not (place / sink.name).exists():
        return Held(Counter(), Counter())
    records: Rows = Counter()
    values: Rows = Counter()
    last: dict[bytes | None, str | None] = {}
    for record in read(place, sink.name):
        value = repr(record.value) if sink.options.format == "raw" else text(record.json() or {})
        records[f"{record.key!r} {value}"] += 1
        values[value] += 1
        last[record.key] = None if record.value is None else value
    if sink.mode == "upsert":
        return Held(records, Counter(value for value in last.values() if value is not None))
    changes = sink.mode == "changelog" or (isinstance(sink.input, Changes) and sink.input.op == "op")
    return Held(records, summed(values) if changes else values)


def summed(changes: Rows) -> Rows:
    """Rows that were added less those that were taken back; below zero if there is something wrong."""
    total: Rows = Counter()
    for change, count in changes.items():
        row = json.loads(change)
        total[text({**row, "op": ""})] += count if row["op"] == "insert" else -count
    return Counter({row: count for row, count in total.items() if count})


def in_files(options: FileSink, folder: Path) -> Iterator[str]:
    """Every row of every published file, with the folders that it lies in below its epoch."""
    for epoch in folder.glob("epoch=*"):
        # What begins with _ is the list of the epoch's files.
        for file in epoch.rglob(f"[!_]*.{options.files}"):
            where = {"in": str(file.parent.relative_to(epoch))} if options.partition_by else {}
            for row in rows_of(file, options):
                yield text({**row, **where})


def rows_of(file: Path, options: FileSink) -> list[dict[str, object]]:
    if options.files == "parquet":
        from pyarrow import parquet

        rows = parquet.read_table(file, partitioning=None).to_pylist()
        return [{name: plain(value) for name, value in row.items()} for row in rows]
    with file.open(newline="") as lines:
        if options.files == "json":
            return [json.loads(line) for line in lines]
        first = ["op"] if options.changelog else []
        found = list(csv.reader(lines))[1 if options.header else 0 :]
        return [dict(zip([*first, *map(str, range(len(row)))], row, strict=False)) for row in found]


def plain(value: object) -> object:
    """What JSON has no word for, as text."""
    return value if isinstance(value, bool | int | float | str | list | dict | None) else str(value)
