"""One broker for all tests of Kafka, and topics with their own names."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from servers.kafka import Kafka, running
from servers.proxy import TLS_REFUSAL, Proxy
from tests.kafka.broker import Topics

NUMBERS = itertools.count()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.server)


@pytest.fixture(scope="session")
def way() -> Iterator[Proxy]:
    """A proxy to the broker, over TLS: for a job that appears dead to the broker, but not to us."""
    with Proxy(refusal=TLS_REFUSAL) as made:
        yield made


@pytest.fixture(scope="session")
def broker(way: Proxy) -> Iterator[Kafka]:
    with running(told_tls=way.port) as kafka:
        way.to = kafka.port_tls
        yield kafka


@pytest.fixture
def topics(broker: Kafka, monkeypatch: pytest.MonkeyPatch) -> Topics:
    monkeypatch.setenv("MILLSTREAM_KAFKA", broker.servers)
    return Topics(broker.servers, f"t{next(NUMBERS)}")
