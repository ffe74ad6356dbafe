"""A topic of a journal as a sink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.connectors.journal.errors import changelog_in_a_compacted_topic
from millstream.connectors.topic_sink import TopicSink

if TYPE_CHECKING:
    from millstream.journal.topics import Topic


@dataclass(frozen=True, kw_only=True)
class JournalSink(TopicSink):
    path: str

    @property
    def system(self) -> str:
        return "journal"

    def check(self) -> None:
        found = self._topic()
        if self.changelog and found.keep.tombstones is not None:
            raise changelog_in_a_compacted_topic(self.topic)

    def writer(self) -> dict[str, str]:
        found = self._topic()
        limits = {name: str(limit) for name, limit in found.keep.described().items()}
        where = {"path": self.path, "topic": self.topic, "partitions": str(found.partitions)}
        return {"kind": "journal", **where, **limits}

    def _topic(self) -> Topic:
        # Not at the top: `millstream.journal` offers this class, and whichever is imported first needs the other.
        from millstream.journal.topics import open_topic

        return open_topic(self.path, self.topic)
