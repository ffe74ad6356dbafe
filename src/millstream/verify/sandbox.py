"""A job in a folder of its own: the user's plan, with sources and sinks that can be killed without harm.

Sources are topics of a journal there. A sink that can be moved (journal, files) is moved; every other one is stood
in for by a topic, which is published by the same two phases.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from millstream.connectors.files import FileSink
from millstream.connectors.journal import JournalSink, JournalSource
from millstream.journal.reader import read
from millstream.journal.topics import create
from millstream.plan.connectors import Format, SinkOptions
from millstream.plan.node import Node
from millstream.plan.nodes import Sink, Source
from millstream.planner.dataflow import Dataflow, rewrite
from millstream.testing.changelog import Appends, Changelog, Rows, Upserts, text

PARTITIONS = 2


@runtime_checkable
class Movable(SinkOptions, Protocol):
    """A sink of a kind that Millstream does not know, which can be tried out in a folder."""

    def moved(self, folder: Path) -> SinkOptions: ...

    def contents(self, folder: Path) -> Rows:
        """What a reader finds in it, each row as text."""


def sandboxed(flow: Dataflow, folder: Path, rows_per_epoch: dict[str, int]) -> Dataflow:
    """The same dataflow between sources and sinks in a folder."""

    def change(node: Node) -> Node:
        match node:
            case Source(options=options):
                source = JournalSource(
                    node.name,
                    str(folder / "input"),
                    "raw" if options.format == "raw" else "json",
                    options.changelog,
                    options.on_error,
                    max_rows_per_epoch=rows_per_epoch[node.name],
                )
                return replace(node, options=source)
            case Sink():
                return replace(node, options=moved(node, folder))
            case _:
                return node

    return rewrite(flow, change)


def moved(sink: Sink, folder: Path) -> SinkOptions:
    options, place = sink.options, folder / "output"
    if isinstance(options, FileSink):
        return replace(options, path=str(place / sink.name))
    if isinstance(options, Movable):
        return options.moved(place / sink.name)
    if not (place / sink.name).exists():
        create(place, sink.name, PARTITIONS)
    form: Format = "raw" if options.format == "raw" else "json"
    return JournalSink(sink.name, str(place), form, sink.mode == "changelog", options.key)


def contents(sink: Sink, folder: Path) -> Rows:
    """What a reader finds in a sink that was moved."""
    options, place = sink.options, folder / "output"
    if isinstance(options, FileSink):
        return in_files(options, place / sink.name)
    if isinstance(options, Movable):
        return options.contents(place / sink.name)
    if options.format == "raw":
        return Counter(repr((record.key, record.value)) for record in read(place, sink.name))
    kinds: dict[str, Appends | Changelog | Upserts] = {
        "append": Appends(),
        "changelog": Changelog(),
        "upsert": Upserts(),
    }
    kinds[sink.mode].read(read(place, sink.name))
    return kinds[sink.mode].rows


def in_files(options: FileSink, folder: Path) -> Rows:
    """Every row of every published file, with the folders that it lies in below its epoch."""
    found: Rows = Counter()
    for epoch in sorted(folder.glob("epoch=*")):
        for file in sorted(epoch.rglob(f"*.{options.files}")):
            where = str(file.parent.relative_to(epoch))
            found.update(f"{where} {row}" for row in lines(file))
    return found


def lines(file: Path) -> list[str]:
    if file.suffix == ".parquet":
        from pyarrow import parquet

        return [repr(row) for row in parquet.read_table(file, partitioning=None).to_pylist()]
    if file.suffix == ".json":
        return [text(json.loads(line)) for line in file.read_text().splitlines()]
    return file.read_text().splitlines()
