"""Finds steps whose result is another one each time: with them, two runs cannot be compared."""

from __future__ import annotations

import re
from collections.abc import Iterator

from millstream.plan.node import Node, walk
from millstream.plan.nodes import Sink

MOVING = re.compile(
    r"\b(rand|randn|random|uuid|shuffle|now|current_timestamp|current_date|current_time|localtimestamp|unix_timestamp"
    r"|monotonically_increasing_id|spark_partition_id|input_file_name)\s*\(|\bcurrent_(timestamp|date)\b",
    re.IGNORECASE,
)


def moving_steps(sinks: tuple[Sink, ...]) -> Iterator[tuple[Node, str]]:
    """Each with the function that makes it so."""
    for node in walk(sinks):
        found = MOVING.search(own(node))
        if found is not None:
            yield node, found.group(0).strip("( ")


def own(node: Node) -> str:
    """A node's content without its inputs, as text."""
    parts = [value for name, value in vars(node).items() if name not in ("given", "at", "options", "schema")]
    return " ".join(repr(value) for value in parts if not holds_nodes(value))


def holds_nodes(value: object) -> bool:
    return isinstance(value, Node) or (isinstance(value, tuple) and any(isinstance(part, Node) for part in value))
