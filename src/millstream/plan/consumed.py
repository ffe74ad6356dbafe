"""What a job receives: each queue, and each table, by one source only."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from millstream.plan.errors import Step
from millstream.plan.node import walk
from millstream.plan.nodes import Sink, Source
from millstream.plan.received import Consumes, ReceivedSource

ONCE = "declare the source once, and use its stream or table in both places"


def refuse_divided(sinks: tuple[Sink, ...]) -> None:
    """A queue hands each message to one consumer: two sources would each get a part of them."""
    for source, other in clashes((source, (source.options.system, queue)) for source, queue in consumers(sinks)):
        raise Step(source.name, source.at).error(
            "MS-SOURCE-010",
            f'consumes "{source.options.label}", as step "{other.name}" does: each message would reach only one of '
            "them.",
            found=f"the other one is at {other.at}",
            hint=ONCE,
        )


def refuse_mixed(sinks: tuple[Sink, ...]) -> None:
    """What is received for two sources must not come into one journal."""
    received = ((each, each.options.topic) for each in sources(sinks) if isinstance(each.options, ReceivedSource))
    for source, other in clashes(received):
        raise Step(source.name, source.at).error(
            "MS-SOURCE-012",
            f'receives "{source.options.label}", as step "{other.name}" does, but with other options or columns.',
            found=f"the other one is at {other.at}",
            hint=ONCE,
        )


def clashes(read: Iterable[tuple[Source, Hashable]]) -> Iterator[tuple[Source, Source]]:
    """Sources that read what another one reads, with that one."""
    seen: dict[Hashable, Source] = {}
    for source, what in read:
        other = seen.setdefault(what, source)
        if other != source:
            yield source, other


def consumers(sinks: tuple[Sink, ...]) -> Iterator[tuple[Source, str]]:
    for source in sources(sinks):
        if isinstance(source.options, Consumes) and source.options.consumed is not None:
            yield source, source.options.consumed


def sources(sinks: tuple[Sink, ...]) -> Iterator[Source]:
    return (node for node in walk(sinks) if isinstance(node, Source))
