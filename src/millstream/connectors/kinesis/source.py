"""A stream of Kinesis as a source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from millstream.connectors.aws import ERRORS, Account
from millstream.connectors.kinesis.client import OnLoss, Stream
from millstream.connectors.kinesis.sink import KinesisSink
from millstream.connectors.message_source import MessageSource
from millstream.plan.connectors import Errors


@dataclass(frozen=True, kw_only=True)
class KinesisSource(MessageSource):
    stream: str
    account: Account
    starting: str
    places: tuple[tuple[str, str], ...] = ()
    on_loss: OnLoss = "fail"
    dead_letter_stream: str | None = None

    system: ClassVar[str] = "kinesis"
    own_parts: ClassVar[dict[str, str]] = {"shard": "STRING", "sequence_number": "STRING", "partition_key": "STRING"}
    errors: ClassVar[Errors] = ERRORS

    @property
    def label(self) -> str:
        return self.stream

    @property
    def consumed(self) -> None:
        """A stream keeps its records: each source reads all of them."""
        return

    @property
    def guarantee(self) -> str:
        return "exactly once (by shard and sequence number)"

    @property
    def dead_letters(self) -> KinesisSink | None:
        return KinesisSink(topic=self.dead_letter_stream, account=self.account) if self.dead_letter_stream else None

    def connection(self) -> Stream:
        parts = frozenset(part for _, part in self.record)
        return Stream(self.account, self.stream, self.starting, self.places, self.on_loss, self.identity, parts)
