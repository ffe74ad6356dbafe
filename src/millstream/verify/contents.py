"""What a reader finds in the sinks of a job that ran in its own folder."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from millstream.connectors.files import FileSink
from millstream.connectors.message_sink import MessageSink
from millstream.journal.reader import read
from millstream.journal.topics import exists
from millstream.plan.connectors import CarriedSink
from millstream.plan.nodes import Changes, Sink
from millstream.storage import files_at
from millstream.testing.changelog import Rows, text
from millstream.verify.sandbox import Movable
from millstream.verify.standin import messages
from millstream.verify.standin import rows as in_database


@dataclass(frozen=True)
class Held:
    """`records`: one by one, as they were written. `table`: what they come to, which batch SQL gives, too."""

    records: Rows
    table: Rows


def held(sink: Sink, place: Path, elsewhere: str | None = None) -> Held:
    """`elsewhere`: where topics and files are, if not in the place itself."""
    options, where = sink.options, elsewhere or str(place)
    if isinstance(options, Movable):
        found = options.contents(place / sink.name)
        return Held(found, found)
    if isinstance(options, FileSink):
        files = Counter(in_files(options, f"{where}/{sink.name}"))
        return Held(files, summed(files) if sink.mode == "changelog" else files)
    if isinstance(options, MessageSink):
        return records_of(sink, messages(place / f"{sink.name}.db"))
    if isinstance(options, CarriedSink):
        rows = Counter(text(json.loads(row)) for row in in_database(place / f"{sink.name}.db").elements())
        return Held(rows, rows)
    return in_topic(sink, where)


def in_topic(sink: Sink, place: str) -> Held:
    if not exists(place, sink.name):
        return Held(Counter(), Counter())
    found = ((record.key, record.value) for record in read(place, sink.name))
    return records_of(sink, found, raw=sink.options.format == "raw")


def records_of(sink: Sink, found: Iterable[tuple[bytes | None, bytes | None]], raw: bool = False) -> Held:
    """Keys and values, in their order."""
    records: Rows = Counter()
    values: Rows = Counter()
    last: dict[bytes | None, str | None] = {}
    for key, content in found:
        value = repr(content) if raw else text(json.loads(content or b"{}"))
        records[f"{key!r} {value}"] += 1
        values[value] += 1
        last[key] = None if content is None else value
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


def in_files(options: FileSink, folder: str) -> Iterator[str]:
    """Every row of every published file, with the folders that it is in below its epoch."""
    at = files_at(folder)
    for name in (name for name in at.names(folder) if name.startswith("epoch=")):
        epoch = f"{folder}/{name}"
        for file in listed(Path(epoch), options) if at.local else manifest(epoch):
            where = {"in": str(Path(file).parent)} if options.partition_by else {}
            for row in rows_of(content(f"{epoch}/{file}"), options):
                yield text({**row, **where})


def listed(epoch: Path, options: FileSink) -> list[str]:
    """What begins with _ is the list of the epoch's files."""
    return [str(file.relative_to(epoch)) for file in epoch.rglob(f"[!_]*.{options.files}")]


def manifest(epoch: str) -> list[str]:
    """None while the epoch is not complete."""
    said = files_at(epoch).read(f"{epoch}/_manifest.json")
    return [] if said is None else [str(file) for file in json.loads(said)["files"]]


def content(path: str) -> bytes:
    file = files_at(path).open(path)
    try:
        return file.read(0, file.size())
    finally:
        file.close()


def rows_of(data: bytes, options: FileSink) -> list[dict[str, object]]:
    if options.files == "parquet":
        from pyarrow import BufferReader, parquet

        rows = parquet.read_table(BufferReader(data), partitioning=None).to_pylist()
        return [{name: plain(value) for name, value in row.items()} for row in rows]
    lines = io.StringIO(data.decode(), newline="")
    if options.files == "json":
        return [json.loads(line) for line in lines]
    first = ["op"] if options.changelog else []
    found = list(csv.reader(lines))[1 if options.header else 0 :]
    return [dict(zip([*first, *map(str, range(len(row)))], row, strict=False)) for row in found]


def plain(value: object) -> object:
    """What JSON cannot express, as text."""
    return value if isinstance(value, bool | int | float | str | list | dict | None) else str(value)
