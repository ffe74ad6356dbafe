"""One server for all tests of SQS, and queues with their own names."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from servers.sqs import Sqs, running
from tests.reception.jobs import Jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NUMBERS = itertools.count()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.server)
            item.add_marker(pytest.mark.slow)


@dataclass(frozen=True)
class Queues:
    """A test's own queues: made, filled and read by Amazon's own client."""

    server: Sqs
    prefix: str

    def create(self, name: str, **attributes: str) -> str:
        fifo = {"FifoQueue": "true"} if name.endswith(".fifo") else {}
        self.server.client().create_queue(QueueName=f"{self.prefix}-{name}", Attributes={**fifo, **attributes})
        return f"{self.prefix}-{name}"

    def url(self, queue: str) -> str:
        return str(self.server.client().get_queue_url(QueueName=queue)["QueueUrl"])

    def send(self, queue: str, *values: Any, **more: Any) -> None:
        """Values as JSON, or texts as they are. In a queue with order, each has the id of its text."""
        client, url = self.server.client(), self.url(queue)
        texts = [value if isinstance(value, str) else json.dumps(value) for value in values]
        for at in range(0, len(texts), 10):
            ordered = queue.endswith(".fifo")
            entries = [
                {
                    "Id": str(n),
                    "MessageBody": text,
                    **({"MessageGroupId": "g", "MessageDeduplicationId": str(hash(text))} if ordered else {}),
                    **more,
                }
                for n, text in enumerate(texts[at : at + 10])
            ]
            assert not client.send_message_batch(QueueUrl=url, Entries=entries).get("Failed")

    def count(self, queue: str) -> int:
        """Those that are there, hidden ones included."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        answer = self.server.client().get_queue_attributes(QueueUrl=self.url(queue), AttributeNames=names)
        return sum(int(answer["Attributes"][name]) for name in names)

    def read(self, queue: str) -> list[dict[str, Any]]:
        """Takes all there is now."""
        client, url, found = self.server.client(), self.url(queue), list[dict[str, Any]]()
        while True:
            asked = {"AttributeNames": ["All"], "MessageAttributeNames": ["All"], "MaxNumberOfMessages": 10}
            given = client.receive_message(QueueUrl=url, **asked).get("Messages", [])
            if not given:
                return found
            for one in given:
                client.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])
            found += given


@pytest.fixture(scope="session")
def server() -> Iterator[Sqs]:
    with running() as made:
        yield made


@pytest.fixture
def queues(server: Sqs, monkeypatch: pytest.MonkeyPatch) -> Queues:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return Queues(server, f"t{next(NUMBERS)}")


@pytest.fixture
def jobs(tmp_path: Path, spark: SparkSession) -> Jobs:
    return Jobs(tmp_path, spark)
