"""A queue of SQS as a source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from millstream.connectors.aws import ERRORS, Account
from millstream.connectors.message_source import MessageSource
from millstream.connectors.sqs.client import Queue
from millstream.connectors.sqs.sink import SqsSink
from millstream.plan.connectors import Errors


@dataclass(frozen=True, kw_only=True)
class SqsSource(MessageSource):
    queue: str
    account: Account
    visibility: int
    dead_letter_queue: str | None = None

    system: ClassVar[str] = "sqs"
    library: ClassVar[tuple[str, str]] = ("botocore", "sqs")
    own_parts: ClassVar[dict[str, str]] = {"group": "STRING", "sequence_number": "STRING", "receive_count": "INT"}
    errors: ClassVar[Errors] = ERRORS

    @property
    def label(self) -> str:
        return self.queue

    @property
    def consumed(self) -> str:
        return f"{self.account.endpoint or self.account.region or 'SQS'} {self.queue}"

    @property
    def guarantee(self) -> str:
        fifo = self.queue.endswith(".fifo") and self.identity.shown == "message id"
        known = "deduplication id" if fifo else self.identity.shown
        return f"exactly once (by {known}, of the last {self.limits.remember:,} messages)"

    @property
    def dead_letters(self) -> SqsSink | None:
        return SqsSink(topic=self.dead_letter_queue, account=self.account) if self.dead_letter_queue else None

    def connection(self) -> Queue:
        parts = frozenset(part for _, part in self.record)
        return Queue(self.account, self.queue, self.identity, self.visibility, parts)
