"""One broker for all tests of RabbitMQ, and queues with their own names."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from servers.rabbitmq import RabbitMQ, running
from tests.rabbitmq.broker import Queues
from tests.reception.jobs import Jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NUMBERS = itertools.count()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.server)
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def rabbit() -> Iterator[RabbitMQ]:
    with running() as made:
        yield made


@pytest.fixture
def queues(rabbit: RabbitMQ, monkeypatch: pytest.MonkeyPatch) -> Queues:
    monkeypatch.setenv("MILLSTREAM_RABBITMQ", rabbit.url)
    monkeypatch.setenv("MILLSTREAM_RABBITMQ_STREAMS", rabbit.url_streams)
    return Queues(rabbit, f"t{next(NUMBERS)}")


@pytest.fixture
def jobs(tmp_path: Path, spark: SparkSession) -> Jobs:
    return Jobs(tmp_path, spark)
