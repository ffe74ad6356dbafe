"""A topic of a journal as a sink."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.connectors.topic_sink import TopicSink


@dataclass(frozen=True, kw_only=True)
class JournalSink(TopicSink):
    path: str

    @property
    def system(self) -> str:
        return "journal"

    def check(self) -> None:
        self._partitions()

    def writer(self) -> dict[str, str]:
        return {"kind": "journal", "path": self.path, "topic": self.topic, "partitions": str(self._partitions())}

    def _partitions(self) -> int:
        # Not at the top: `millstream.journal` offers this class, and whoever is imported first needs the other.
        from millstream.journal.topics import open_topic

        return open_topic(self.path, self.topic).partitions
