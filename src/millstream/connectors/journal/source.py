"""A topic of a journal as a source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millstream.connectors.journal.sink import JournalSink
from millstream.plan.connectors import Format, OnError, Reader


@dataclass(frozen=True)
class JournalSource:
    topic: str
    path: str
    format: Format = "json"
    changelog: bool = False
    on_error: OnError = "fail"
    dead_letter_topic: str | None = None
    max_rows_per_epoch: int | None = None
    starting: str = "earliest"

    @property
    def system(self) -> str:
        return "journal"

    @property
    def label(self) -> str:
        return self.topic

    @property
    def dead_letters(self) -> JournalSink | None:
        return JournalSink(topic=self.dead_letter_topic, path=self.path) if self.dead_letter_topic else None

    @property
    def real_time(self) -> bool:
        return True

    def lag(self, told: Mapping[str, str], read: str) -> int | None:
        return int(told["rowsBehind"]) if "rowsBehind" in told else None

    def partitions(self) -> int:
        # Not at the top: `millstream.journal` offers this class, and whichever is imported first needs the other.
        from millstream.journal.topics import open_topic

        return open_topic(self.path, self.topic).partitions

    def reader(self) -> Reader:
        options = {"path": self.path, "topic": self.topic, "starting": self.starting}
        if self.max_rows_per_epoch is not None:
            options["maxRowsPerEpoch"] = str(self.max_rows_per_epoch)
        return Reader("millstream-journal", tuple(options.items()))
