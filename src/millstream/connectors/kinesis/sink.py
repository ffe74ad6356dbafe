"""A stream of Kinesis as a sink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from millstream.connectors.aws import ERRORS, Account, explained
from millstream.connectors.kinesis.carrier import KinesisCarrier
from millstream.connectors.message_sink import MessageSink
from millstream.plan.connectors import Errors, RowShape, WriteMode


@dataclass(frozen=True, kw_only=True)
class KinesisSink(MessageSink):
    account: Account

    system: ClassVar[str] = "kinesis"
    errors: ClassVar[Errors] = ERRORS

    @property
    def guarantee(self) -> str:
        return "at least once (a token in the partition key tells duplicates; jobs that read it drop them)"

    def check(self) -> None:
        with explained("Kinesis", self.topic):
            self.account.client("kinesis").describe_stream_summary(StreamName=self.topic)

    def carrier(self, writer: str, mode: WriteMode, shape: RowShape) -> KinesisCarrier:
        return KinesisCarrier(self.account, self.topic, writer)
