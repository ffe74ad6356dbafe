"""A job in its own folder: the user's plan, with sources and sinks that can be killed without harm.

<folder>/input/          a journal: a topic for each source
<folder>/run/input       in real time: as much of it as the job was given
<folder>/run/checkpoint  the job's
<folder>/run/broker      what brokers would keep: which messages were acknowledged
<folder>/run/output      a journal: a topic for each sink; folders of files; databases

With `millstream verify --storage`, the checkpoint, topics and folders of files lie there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from millstream.connectors.files import FileSink
from millstream.connectors.journal import JournalSink, JournalSource
from millstream.connectors.message_sink import MessageSink
from millstream.connectors.message_source import MessageSource
from millstream.errors import MillstreamError
from millstream.journal.topics import create, exists
from millstream.plan.connectors import CarriedSink, Format, SinkOptions, record_columns
from millstream.plan.node import Node
from millstream.plan.nodes import Sink, Source
from millstream.planner.dataflow import Dataflow, rewrite
from millstream.planner.stages import JobPlan
from millstream.testing.changelog import Rows
from millstream.verify.broker import Broker
from millstream.verify.standin import QueueStandIn, StandIn

PARTITIONS = 2
PARTS = ("key", "partition", "offset", "timestamp")
"""What a record of a topic has besides its value, in the same form in every system."""
OF_DELIVERY = ("redelivered", "receive_count")
"""What differs when a message is delivered again."""
INPUT, OUTPUT, CHECKPOINT, BROKER = "input", "output", "checkpoint", "broker"


@runtime_checkable
class Movable(SinkOptions, Protocol):
    """A user's sink that can be tried out in a folder."""

    def moved(self, folder: Path) -> SinkOptions:
        """The same sink, writing there."""

    def contents(self, folder: Path) -> Rows:
        """What a reader finds in it, each row as text."""


@dataclass(frozen=True)
class Recorded(JournalSource):
    """A topic that stands in for a source of another system, with that system's columns of a record."""

    record_columns: tuple[tuple[str, str, str], ...] = ()


def sandboxed(
    flow: Dataflow,
    whole: Path,
    place: Path,
    rows_per_epoch: dict[str, int] | None,
    portions: bool = False,
    elsewhere: str | None = None,
) -> Dataflow:
    """The same dataflow with sources and sinks in a folder. `portions`: the input comes bit by bit (portions.py).
    `elsewhere`: a folder on another storage, in which topics and files are written."""

    received = f"{elsewhere or place}/{CHECKPOINT}/received"

    def change(node: Node) -> Node:
        match node:
            case Source(options=MessageSource() as messages):
                limit = rows_per_epoch[node.name] if rows_per_epoch else None
                broker = Broker.of(messages, node.name, place / INPUT if portions else whole, place / BROKER)
                options = received_from(broker, messages, received, limit)
                return replace(node, options=options, idle_after=None if portions else node.idle_after, history=None)
            case Source(static=False) if portions:
                limit = rows_per_epoch[node.name] if rows_per_epoch else None
                # All input will come: no source is ever idle, as in a run that processes what there is.
                return replace(node, options=recorded(node, place / INPUT, limit), idle_after=None, history=None)
            case Source():
                limit = rows_per_epoch[node.name] if rows_per_epoch else None
                return replace(node, options=recorded(node, whole, limit), history=None)
            case Sink():
                return replace(
                    node, options=moved(node, place / OUTPUT, f"{elsewhere}/{OUTPUT}" if elsewhere else None)
                )
            case _:
                return node

    return rewrite(flow, change)


def recorded(source: Source, inputs: Path, rows_per_epoch: int | None) -> Recorded:
    options = source.options
    return Recorded(
        source.name,
        str(inputs),
        "raw" if options.format == "raw" else "json",
        options.changelog,
        options.on_error,
        max_rows_per_epoch=rows_per_epoch,
        record_columns=record_columns(options),
    )


def received_from(broker: Broker, options: MessageSource, folder: str, rows_per_epoch: int | None) -> MessageSource:
    """The user's source, by its own front. One receiver: the order of messages is the same in every run."""
    return replace(
        options,
        stand_in=broker,
        folder=folder,
        format="raw" if options.format == "raw" else "json",
        schemas=None,
        key_format="json",
        max_rows_per_epoch=rows_per_epoch,
        limits=replace(options.limits, receivers=1),
    )


def refuse_strange_parts(source: Source) -> None:
    received = isinstance(source.options, MessageSource)
    for name, part, _ in record_columns(source.options):
        if received and part in OF_DELIVERY:
            raise MillstreamError(
                "MS-VERIFY-008",
                f'source "{source.name}" takes {name} from the {part} of its messages, which a fault changes.',
                at=source.at,
                hint=f"leave {part} out of record=, or verify the job without it",
            )
        if not received and part not in PARTS:
            raise MillstreamError(
                "MS-VERIFY-008",
                f'source "{source.name}" takes {name} from the {part} of its records, which recorded rows do not have.',
                at=source.at,
                hint=f"leave {part} out of record=, or verify the job without it",
            )


def refuse_queues(plan: JobPlan) -> None:
    """What such a job has received stays in its checkpoint: it cannot be moved to another one."""
    source = next((one for one in plan.sources if isinstance(one.options, MessageSource)), None)
    if source is not None:
        raise MillstreamError(
            "MS-VERIFY-010",
            f'source "{source.name}" receives messages into the checkpoint, so the job cannot be moved to another one.',
            at=source.at,
            hint="verify the job without --savepoint and --rescale",
        )


def moved(sink: Sink, place: Path, elsewhere: str | None = None) -> SinkOptions:
    options, where = sink.options, elsewhere or str(place)
    if isinstance(options, FileSink):
        return replace(options, path=f"{where}/{sink.name}")
    if isinstance(options, Movable):
        return options.moved(place / sink.name)
    if isinstance(options, MessageSink):
        return QueueStandIn(str(place / f"{sink.name}.db"), sink.name, options.modes, options.key)
    if isinstance(options, CarriedSink):
        return StandIn(str(place / f"{sink.name}.db"), sink.name, options.modes, options.key)
    if not exists(where, sink.name):
        create(where, sink.name, PARTITIONS)
    form: Format = "raw" if options.format == "raw" else "json"
    changelog = sink.mode == "changelog"
    return JournalSink(topic=sink.name, path=where, format=form, changelog=changelog, key=options.key)


def told(sink: Sink, storage: str | None = None) -> str:
    """What a sink is tried out as."""
    options = sink.options
    if isinstance(options, FileSink | JournalSink | Movable):
        return f"in a folder of its own{f' in {storage}' if storage and not isinstance(options, Movable) else ''}"
    if isinstance(options, MessageSink):
        return "a queue in a file stands in for it, whose reader drops duplicates by their ids"
    return "a table of SQLite stands in for it" if isinstance(options, CarriedSink) else "a topic stands in for it"
