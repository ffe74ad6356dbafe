"""Sources of one name in different systems, or of one stream that all may read, are received apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import millstream as ms
from millstream import activemq, journal, kinesis, postgres, rabbitmq, sqs
from millstream.connectors.message_source import MessageSource
from millstream.errors import MillstreamError
from millstream.plan.nodes import Source

STOMP = "stomp://host:61613"


def topics(folder: Path, *sources: Any) -> list[str]:
    """Into which a job with all of these would receive them."""
    job = ms.Job("shop", checkpoint=str(folder))
    found = []
    for number, source in enumerate(sources):
        stream = job.stream(source, "n BIGINT", name=f"step{number}")
        stream.to(journal.sink(f"out{number}"))
        assert isinstance(stream._node, Source)
        assert isinstance(stream._node.options, MessageSource)
        found.append(stream._node.options.topic)
    return found


def test_the_same_name_elsewhere(tmp_path: Path) -> None:
    servers = ("amqp://one/", "amqp://two/", "amqp://two/shop")
    apart = topics(tmp_path, *(rabbitmq.source("orders", server=server) for server in servers))
    assert apart == ["rabbitmq.step0", "rabbitmq.step1", "rabbitmq.step2"]


def test_two_subscriptions_of_a_topic(tmp_path: Path) -> None:
    sources = [activemq.source(topic="orders", subscription=name, server=STOMP) for name in ("a", "b")]
    assert len(set(topics(tmp_path, *sources))) == 2


def test_a_stream_that_all_may_read(tmp_path: Path) -> None:
    assert topics(tmp_path, kinesis.source("orders"), kinesis.source("orders")) == ["kinesis.step0", "kinesis.step1"]


def test_a_source_without_a_name_is_received_by_the_name_of_its_queue(tmp_path: Path) -> None:
    job = ms.Job("shop", checkpoint=str(tmp_path))
    node = job.stream(rabbitmq.source("orders", server="amqp://host/"), "n BIGINT")._node
    assert isinstance(node, Source)
    assert isinstance(node.options, MessageSource)
    assert node.options.topic == "rabbitmq.orders"


@pytest.mark.parametrize(
    "source",
    [
        rabbitmq.source("orders", server="amqp://host/"),
        activemq.source("orders", server=STOMP),
        activemq.source(topic="orders", subscription="a", server=STOMP),
        sqs.source("orders"),
    ],
    ids=lambda source: source.system,
)
def test_a_queue_that_would_be_divided(source: MessageSource, tmp_path: Path) -> None:
    with pytest.raises(MillstreamError) as raised:
        topics(tmp_path, source, source)
    error = raised.value
    assert error.code == "MS-SOURCE-010"
    assert 'step "step1" consumes "orders", as step "step0" does' in error.text()
    assert error.at is not None


def test_one_source_in_two_places(tmp_path: Path) -> None:
    job = ms.Job("shop", checkpoint=str(tmp_path))
    orders = job.stream(rabbitmq.source("orders", server="amqp://host/"), "n BIGINT")
    orders.where("n > 1").to(journal.sink("large"))
    orders.to(journal.sink("all"))
    assert len(job.plan().sources) == 1


def test_a_table_that_would_be_received_twice_into_one_journal(tmp_path: Path) -> None:
    job = ms.Job("shop", checkpoint=str(tmp_path))
    changes = postgres.changes("people", address="postgresql://shop@localhost/shop")
    for name in ("ages", "again"):
        job.table(changes, "id BIGINT, age INT", key="id", name="ages").to(journal.sink(name))
    with pytest.raises(MillstreamError) as raised:
        job.table(changes, "id BIGINT, name STRING", key="id", name="names").to(journal.sink("names"))
    assert raised.value.code == "MS-SOURCE-012"
    assert 'step "names" receives "people", as step "ages" does' in raised.value.text()
