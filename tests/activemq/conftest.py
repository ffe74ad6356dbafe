"""A broker of each kind for all tests of ActiveMQ, and queues with their own names."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import stomp

from servers.activemq import PASSWORD, USER, ActiveMQ, running
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
    """A test's own queues, filled by its own client."""

    broker: ActiveMQ
    prefix: str

    def name(self, queue: str) -> str:
        return f"{self.prefix}.{queue}"

    @contextmanager
    def connection(self) -> Iterator[Any]:
        made = stomp.Connection12([("127.0.0.1", self.broker.port)])
        made.connect(USER, PASSWORD, wait=True)
        try:
            yield made
        finally:
            made.disconnect()

    def send(self, queue: str, *values: Any, topic: bool = False, headers: dict[str, str] | None = None) -> None:
        """Sends values as JSON, or bytes as they are, in one transaction, so that all of them are there."""
        kind = {"destination-type": "MULTICAST" if topic else "ANYCAST"} if self.broker.kind == "artemis" else {}
        place = queue if kind else f"/{'topic' if topic else 'queue'}/{queue}"
        with self.connection() as connection:
            listener = Waiting()
            connection.set_listener("receipts", listener)
            transaction = connection.begin()
            for value in values:
                body = value if isinstance(value, bytes) else json.dumps(value)
                connection.send(
                    place, body, headers={**kind, "persistent": "true", **(headers or {})}, transaction=transaction
                )
            connection.commit(transaction, receipt="sent")
            listener.wait_on_receipt()


class Waiting(stomp.WaitingListener):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__("sent")


@pytest.fixture(scope="session")
def brokers() -> Iterator[dict[str, ActiveMQ]]:
    with running("classic") as classic, running("artemis") as artemis:
        yield {"classic": classic, "artemis": artemis}


@pytest.fixture(params=["classic", "artemis"])
def queues(request: pytest.FixtureRequest, brokers: dict[str, ActiveMQ], monkeypatch: pytest.MonkeyPatch) -> Queues:
    broker = brokers[request.param]
    monkeypatch.setenv("MILLSTREAM_ACTIVEMQ", broker.url)
    return Queues(broker, f"t{next(NUMBERS)}")


@pytest.fixture
def jobs(tmp_path: Path, spark: SparkSession) -> Jobs:
    return Jobs(tmp_path, spark)
