"""Queues that a job consumes: each by one source only."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.plan.errors import Step
from millstream.plan.node import walk
from millstream.plan.nodes import Sink, Source
from millstream.plan.received import Consumes


def refuse_divided(sinks: tuple[Sink, ...]) -> None:
    """A queue hands each message to one consumer: two sources would each get a part of them."""
    seen: dict[tuple[str, str], Source] = {}
    for source, queue in consumers(sinks):
        other = seen.setdefault((source.options.system, queue), source)
        if other != source:
            raise Step(source.name, source.at).error(
                "MS-SOURCE-010",
                f'consumes "{source.options.label}", as step "{other.name}" does: each message would reach only one of '
                "them.",
                found=f"the other one is at {other.at}",
                hint="declare the source once, and use its stream or table in both places",
            )


def consumers(sinks: tuple[Sink, ...]) -> Iterator[tuple[Source, str]]:
    for node in walk(sinks):
        if isinstance(node, Source) and isinstance(node.options, Consumes) and node.options.consumed is not None:
            yield node, node.options.consumed
