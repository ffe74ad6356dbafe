"""The shards of a stream: which may be read now. Parents come before their children, so that a key keeps its order."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Shard:
    id: str
    parents: tuple[str, ...]
    closed: bool = False
    """It was split or merged: it has an end."""

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Shard:
        named = (given.get("ParentShardId"), given.get("AdjacentParentShardId"))
        closed = "EndingSequenceNumber" in given["SequenceNumberRange"]
        return cls(given["ShardId"], tuple(parent for parent in named if parent), closed)


def ready(shards: Collection[Shard], ended: Collection[str]) -> list[str]:
    """Those not read to their end whose parents are, as far as these are still there."""
    there = {shard.id for shard in shards}
    return [
        shard.id
        for shard in shards
        if shard.id not in ended and all(parent in ended or parent not in there for parent in shard.parents)
    ]
