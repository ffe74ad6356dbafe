"""Committed epochs are carried whole, each once, whatever is published meanwhile."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

import millstream as ms
from millstream.journal import format as fmt
from millstream.journal.topics import create, open_topic
from millstream.plan.connectors import Carried
from millstream.runtime.carry import Load
from millstream.storage import CheckpointFolder
from millstream.storage.checkpoint import outbox_topic

TOPIC = "orders"


class Kept:
    """A sink that keeps what it receives."""

    def __init__(self) -> None:
        self.epochs: dict[int, list[str]] = {}

    def last(self) -> int:
        return max(self.epochs, default=-1)

    def carry(self, epoch: int, records: Iterable[Carried]) -> None:
        self.epochs[epoch] = [(record.value or b"").decode() for record in records]

    def close(self) -> None: ...


class Outbox:
    """What the kernels do: two files of an epoch, published one after the other."""

    def __init__(self, folder: CheckpointFolder) -> None:
        create(folder.outbox, TOPIC)
        self.sink = Kept()
        self.load = Load(TOPIC, open_topic(folder.outbox, TOPIC), folder, self.sink)
        self._topic = Path(folder.outbox) / TOPIC

    def publish(self, epoch: int, task: int, base: int) -> None:
        name = f"{base:020d}-job-{epoch:012d}-{task:05d}.seg"
        (self._topic / "0" / name).write_bytes(fmt.encode_header(0) + fmt.encode(0, None, f"{epoch}.{task}".encode()))


@pytest.fixture
def outbox(tmp_path: Path) -> Outbox:
    return Outbox(CheckpointFolder(str(tmp_path)))


def test_an_epoch_that_is_published_in_part_is_not_carried(outbox: Outbox) -> None:
    outbox.publish(0, 0, base=0)
    outbox.load.carry(-1)
    assert outbox.sink.epochs == {}
    outbox.publish(0, 1, base=1)
    outbox.publish(1, 0, base=2)
    outbox.load.carry(0)
    assert outbox.sink.epochs == {0: ["0.0", "0.1"]}
    outbox.publish(1, 1, base=3)
    outbox.load.carry(1)
    assert outbox.sink.epochs == {0: ["0.0", "0.1"], 1: ["1.0", "1.1"]}


def test_a_note_that_is_damaged(outbox: Outbox) -> None:
    """As a power cut may have left it on a disk that does not keep its word."""
    outbox.publish(0, 0, base=0)
    Path(outbox.load.note).write_text("")
    with pytest.raises(ms.MillstreamError) as error:
        outbox.load.carry(0)
    assert error.value.code == "MS-CHECKPOINT-007"
    Path(outbox.load.note).unlink()
    outbox.load.carry(0)
    assert outbox.sink.epochs == {0: ["0.0"]}


def test_topics_that_stand_in_for_sinks() -> None:
    """The sink's own name if a topic can have it; different names stay different."""
    assert outbox_topic("sales.orders-2") == "sales.orders-2"
    names = ["my table", "my_table", "my  table", "größe", ".hidden", "a/b", "a:b"]
    topics = [outbox_topic(name) for name in names]
    assert len(set(topics)) == len(names)
    assert all(fmt.is_topic_name(topic) for topic in topics)
