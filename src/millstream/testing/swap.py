"""A job's own plan, with the outside world swapped for a test's memory. Names, keys and formats stay."""

from __future__ import annotations

from dataclasses import dataclass, replace

from millstream.plan.connectors import Format, OnError, Reader, SinkOptions, WriteMode, record_columns
from millstream.plan.node import Node
from millstream.plan.nodes import Sink, Source
from millstream.planner.dataflow import Dataflow, rewrite

FORMAT = "millstream-given"


@dataclass(frozen=True)
class GivenSource:
    """Reads what a test gives. `marked`: watermarks, too."""

    test: str
    label: str
    format: Format
    changelog: bool
    on_error: OnError
    record_columns: tuple[tuple[str, str, str], ...]
    marked: bool

    @property
    def system(self) -> str:
        return "test"

    @property
    def dead_letters(self) -> SinkOptions | None:
        return None  # its sink is in the plan already

    def partitions(self) -> int:
        return 1

    @property
    def real_time(self) -> bool:
        return False

    def reader(self) -> Reader:
        marks = self._reader(marks_of(self.label)) if self.marked else None
        return replace(self._reader(self.label), marks=marks)

    def _reader(self, source: str) -> Reader:
        return Reader(FORMAT, (("test", self.test), ("source", source)))


@dataclass(frozen=True)
class KeptSink:
    """Keeps what it is given for the test to look at."""

    test: str
    label: str
    format: Format
    modes: tuple[WriteMode, ...]
    key: tuple[str, ...]

    @property
    def system(self) -> str:
        return "test"

    @property
    def partition_by(self) -> tuple[str, ...]:
        return ()  # a test sees every column

    @property
    def guarantee(self) -> str:
        return "exactly once (two phases)"

    def check(self) -> None:
        pass

    def writer(self) -> dict[str, str]:
        return {"kind": "memory", "place": place(self.test, self.label)}


def marks_of(source: str) -> str:
    return f"{source} marks"


def place(test: str, sink: str) -> str:
    return f"{test} {sink}"


def swapped(flow: Dataflow, test: str, marked: set[str]) -> Dataflow:
    """The same dataflow between a test's sources and sinks."""

    def change(node: Node) -> Node:
        match node:
            case Source(options=options):
                form: Format = "raw" if options.format == "raw" else "json"
                told = (options.changelog, options.on_error, record_columns(options))
                return replace(node, options=GivenSource(test, node.name, form, *told, node.name in marked))
            case Sink(options=options):
                form = "raw" if options.format == "raw" else "json"
                return replace(node, options=KeptSink(test, node.name, form, options.modes, options.key))
            case _:
                return node

    return rewrite(flow, change)
