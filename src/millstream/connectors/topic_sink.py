"""The common part of sinks that write records to topics."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.plan.connectors import Format, WriteMode


@dataclass(frozen=True, kw_only=True)
class TopicSink:
    """Records with a key and a value, written exactly once."""

    topic: str
    format: Format = "json"
    changelog: bool = False
    key: tuple[str, ...] = ()
    nulls: bool = True

    @property
    def label(self) -> str:
        return self.topic

    @property
    def modes(self) -> tuple[WriteMode, ...]:
        if self.changelog:
            return ("changelog",)
        return ("append",) if self.format == "raw" else ("upsert", "append")

    @property
    def guarantee(self) -> str:
        return "exactly once (two phases)"

    @property
    def partition_by(self) -> tuple[str, ...]:
        return ()
