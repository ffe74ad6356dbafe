"""SQS, by ElasticMQ."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import ClassVar

from servers.sqs import running
from soak.brokers.broker import COPIES, NUMBERS, body, number_in, way_to

AT_ONCE = 10


class Sqs:
    name, title = "sqs", "SQS"
    settles: ClassVar[bool] = True
    forgets_repeats: ClassVar[bool] = False
    unsettling: ClassVar[str] = "messages taken and given back by another consumer"

    def __init__(self, stack: ExitStack) -> None:
        self._server = stack.enter_context(running())
        self.way = way_to(stack, self._server.port)
        self._client = self._server.client()
        self._urls = {name: self._client.create_queue(QueueName=name)["QueueUrl"] for name in (NUMBERS, COPIES)}
        self._found: list[tuple[int, str]] = []

    def send(self, numbers: Sequence[int]) -> None:
        entries = [{"Id": str(n), "MessageBody": body(number)} for n, number in enumerate(numbers)]
        if failed := self._client.send_message_batch(QueueUrl=self._urls[NUMBERS], Entries=entries).get("Failed"):
            raise ConnectionError(str(failed))

    def restart(self) -> None:
        self._server.restart()

    def unsettle(self) -> None:
        """A request with a visibility of 0 hides nothing from others."""
        self._client.receive_message(QueueUrl=self._urls[NUMBERS], MaxNumberOfMessages=AT_ONCE, VisibilityTimeout=0)

    def copies(self) -> list[tuple[int, str]]:
        url, asked = self._urls[COPIES], {"MaxNumberOfMessages": AT_ONCE, "MessageAttributeNames": ["All"]}
        while given := self._client.receive_message(QueueUrl=url, **asked).get("Messages", []):
            for one in given:
                token = one["MessageAttributes"]["millstream-id"]["StringValue"]
                self._found.append((number_in(one["Body"]), token))
            read = [{"Id": str(n), "ReceiptHandle": one["ReceiptHandle"]} for n, one in enumerate(given)]
            if failed := self._client.delete_message_batch(QueueUrl=url, Entries=read).get("Failed"):
                raise ConnectionError(str(failed))
        return self._found
