"""One broker for all tests of Kafka, and topics with names of their own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from broker import Topics
from servers.kafka import Kafka, running

NUMBERS = itertools.count()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.server)


@pytest.fixture(scope="session")
def broker() -> Iterator[Kafka]:
    with running() as kafka:
        yield kafka


@pytest.fixture
def topics(broker: Kafka, monkeypatch: pytest.MonkeyPatch) -> Topics:
    monkeypatch.setenv("MILLSTREAM_KAFKA", broker.servers)
    return Topics(broker.servers, f"t{next(NUMBERS)}")
