"""Connections are cut, the consumer, the job and the broker are killed: every message is counted once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream import rabbitmq
from servers.proxy import Proxy
from servers.rabbitmq import RabbitMQ
from tests.crash.lives import Lives
from tests.crash.process import until
from tests.rabbitmq.broker import Queues
from tests.reception.copy_job import copied


def source(target: str) -> Any:
    """For the job's process. `target`: queue and address."""
    queue, address = target.split(" ")
    return rabbitmq.source(queue, server=address, prefetch=50)


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lives]:
    with Lives("tests.reception.copy_job", tmp_path_factory.mktemp("lives")) as made:
        yield made


@pytest.fixture
def proxy(rabbit: RabbitMQ) -> Iterator[Proxy]:
    with Proxy() as made:
        made.to = rabbit.port
        yield made


@pytest.mark.parametrize(
    ("mode", "kind"), [("real-time", "quorum"), pytest.param("micro-batch", "classic", marks=pytest.mark.long)]
)
def test_counted_once(mode: str, kind: str, queues: Queues, lives: Lives, proxy: Proxy, tmp_path: Path) -> None:
    queue, sent = queues.create("numbers", kind), 0
    folder = tmp_path / "run"
    address = f"amqp://127.0.0.1:{proxy.port}/"
    lives.of(folder, "tests.rabbitmq.test_rabbitmq_faults", f"{queue} {address}", mode)

    def send(count: int = 300) -> None:
        nonlocal sent
        queues.send(queue, *({"n": n} for n in range(sent, sent + count)))
        sent += count

    def arrived() -> bool:
        return (folder / "journal" / "out").exists() and len(copied(folder)) >= sent

    send()
    lives.begin()
    until(arrived)
    for _ in range(3):
        send()
        proxy.cut()  # some messages are appended, and their acknowledgement is lost
        proxy.mend()
        until(arrived)
    send()
    lives.kill()
    lives.begin()
    until(arrived)
    send()
    queues.broker.restart()
    until(lambda: queues.answers(queue))
    send()
    until(arrived)
    until(lambda: queues.count(queue) == 0)  # what is delivered again, too
    lives.stop()
    assert sorted(copied(folder)) == list(range(sent))
