"""A queue of SQS as a sink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from millstream.connectors.aws import ERRORS, Account, explained
from millstream.connectors.message_sink import MessageSink
from millstream.connectors.sqs.carrier import SqsCarrier
from millstream.plan.connectors import Errors, RowShape, WriteMode


@dataclass(frozen=True, kw_only=True)
class SqsSink(MessageSink):
    account: Account

    system: ClassVar[str] = "sqs"
    errors: ClassVar[Errors] = ERRORS

    @property
    def guarantee(self) -> str:
        if self.topic.endswith(".fifo"):
            return "exactly once within 5 minutes (deduplication id), then at least once"
        return "at least once (attribute millstream-id tells duplicates)"

    def check(self) -> None:
        with explained("SQS", self.topic):
            self.account.client("sqs").get_queue_url(QueueName=self.topic)

    def carrier(self, writer: str, mode: WriteMode, shape: RowShape) -> SqsCarrier:
        return SqsCarrier(self.account, self.topic, writer, raw=self.binary)
