"""Receivers of a queue on the executors of a real cluster: the driver has no connection to the broker."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from millstream import journal
from servers.rabbitmq import RabbitMQ, running
from servers.standalone import Standalone
from tests.cluster.drivers import PYTHON, Driver, script, until
from tests.rabbitmq.broker import Queues

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def queues() -> Iterator[Queues]:
    with running() as made:
        yield Queues(made, "cluster")


@pytest.fixture
def begin(queues: Queues, cluster: Standalone, driver: Any, tmp_path: Path) -> Callable[..., Driver]:
    journal.create(tmp_path / "journal", "out")

    def begun(queue: str, mode: str, *settings: str) -> Driver:
        known = {"MILLSTREAM_RABBITMQ": queues.broker.url}
        found: Driver = driver(PYTHON, script("orders.py"), cluster.master, queue, mode, *settings, known=known)
        return found

    return begun


def numbers(folder: Path) -> Counter[int]:
    return Counter(record.json()["n"] for record in journal.read(folder / "journal", "out"))


def connected(pid: int, broker: RabbitMQ) -> bool:
    """Whether a process has a connection to the broker, as the kernel knows them."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    theirs = {f"socket:[{line[9]}]" for line in lines if int(line[2].split(":")[1], 16) == broker.port}
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # closed in the meantime
            if os.readlink(file) in theirs:
                return True
    return False


def send(queues: Queues, queue: str, numbered: range) -> None:
    queues.send(queue, *({"n": n} for n in numbered))


def test_all_messages_once(queues: Queues, begin: Callable[..., Driver], tmp_path: Path) -> None:
    queue = queues.create("once", "quorum")
    send(queues, queue, range(500))
    ran = begin(queue, "micro-batch")
    until(lambda: len(numbers(tmp_path)) == 500, ran)
    assert not connected(ran.process.pid, queues.broker)
    ended(ran, tmp_path)
    assert numbers(tmp_path) == Counter(range(500))
    assert 'source "orders": 2 receivers on executors' in ran.stderr
    assert queues.count(queue) == 0


@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_executors_that_die(
    mode: str, queues: Queues, begin: Callable[..., Driver], cluster: Standalone, tmp_path: Path
) -> None:
    queue, sent = queues.create(mode, "quorum"), 300
    send(queues, queue, range(sent))
    ran = begin(queue, mode)
    until(lambda: len(numbers(tmp_path)) == sent, ran)
    for worker in (*cluster.workers, *cluster.workers):
        send(queues, queue, range(sent, sent + 300))
        worker.kill_executor()
        send(queues, queue, range(sent + 300, sent + 600))
        sent += 600
        until(lambda sent=sent: len(numbers(tmp_path)) == sent, ran)  # type: ignore[misc]
    ended(ran, tmp_path)
    assert numbers(tmp_path) == Counter(range(sent))
    assert queues.count(queue) == 0


def test_receivers_that_cannot_run_there(queues: Queues, begin: Callable[..., Driver], tmp_path: Path) -> None:
    queue = queues.create("missing")
    (tmp_path / "pika.py").write_text('raise ImportError("not here")\n')
    (line,) = begin(queue, "micro-batch", f"spark.executorEnv.PYTHONPATH={tmp_path}").lines()
    assert line.startswith(
        'MS-CLUSTER-005: step "orders" has receivers on executors, and what they need is missing on '
    )
    assert "the Python package pika is missing." in line
    assert "hint:  give executors the packages of this environment: millstream pack -o env.tar.gz" in line
    (few,) = begin(queue, "real-time", "spark.cores.max=2").lines()
    wanted = "MS-RUN-003: real time needs 4 task slots at once (2 for the sources' partitions, 0 × 1 for the stages' "
    assert few.startswith(f"{wanted}tasks, 2 for receivers), and spark://")


def test_receivers_that_are_to_stay(queues: Queues, begin: Callable[..., Driver], tmp_path: Path) -> None:
    queue = queues.create("stay")
    send(queues, queue, range(100))
    ran = begin(queue, "micro-batch", "spark.millstream.receivers=driver", "spark.cores.max=1")
    until(lambda: len(numbers(tmp_path)) == 100, ran)
    assert connected(ran.process.pid, queues.broker)
    ended(ran, tmp_path)
    said = 'source "orders": its receivers stay in the driver: spark.millstream.receivers says so'
    assert said in ran.stderr


def ended(ran: Driver, folder: Path) -> None:
    (folder / "stop").touch()
    begun, stopped = ran.lines()
    assert begun == "running"
    assert stopped.startswith("stopped"), ran.stderr
