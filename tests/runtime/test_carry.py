"""Committed epochs are carried whole, each once, whatever is published meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import millstream as ms
from millstream.journal import format as fmt
from millstream.journal.topics import create, open_topic
from millstream.journal.topics import prepared as prepared_epochs
from millstream.plan.connectors import Carried
from millstream.runtime import carry
from millstream.runtime.carry import Load
from millstream.storage import CheckpointFolder
from millstream.storage.checkpoint import outbox_topic

TOPIC = "orders"


class Kept:
    """A sink that keeps what it is brought."""

    def __init__(self) -> None:
        self.epochs: dict[int, list[str]] = {}

    def last(self) -> int:
        return max(self.epochs, default=-1)

    def carry(self, epoch: int, records: Iterable[Carried]) -> None:
        self.epochs[epoch] = [(record.value or b"").decode() for record in records]

    def close(self) -> None: ...


class Outbox:
    """What the kernels do: two files of an epoch, prepared, and published one after the other."""

    def __init__(self, folder: CheckpointFolder) -> None:
        create(folder.outbox, TOPIC)
        self.sink = Kept()
        self.load = Load(TOPIC, open_topic(folder.outbox, TOPIC), folder, self.sink)
        self._topic = Path(folder.outbox) / TOPIC

    def list_of(self, epoch: int) -> Path:
        return self._topic / "prepared" / f"job-{epoch:012d}.json"

    def prepare(self, epoch: int) -> None:
        self.list_of(epoch).write_text('{"format": 1, "files": []}')

    def publish(self, epoch: int, task: int, base: int) -> None:
        name = f"{base:020d}-job-{epoch:012d}-{task:05d}.seg"
        (self._topic / "0" / name).write_bytes(fmt.encode_header(0) + fmt.encode(0, None, f"{epoch}.{task}".encode()))


@pytest.fixture
def outbox(tmp_path: Path) -> Outbox:
    return Outbox(CheckpointFolder(str(tmp_path)))


def meanwhile(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], None]) -> None:
    """Something happens while the lists are looked at: just behind that look."""
    happened: list[bool] = []

    def prepared(*arguments: Any) -> Any:
        found = prepared_epochs(*arguments)
        if not happened:
            happened.append(True)
            happens()
        return found

    monkeypatch.setattr(carry, "prepared", prepared)


def test_an_epoch_that_is_published_while_one_looks(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of it is there, and its list came after the lists were read: it is not whole."""

    def half() -> None:
        outbox.prepare(0)
        outbox.publish(0, 0, base=0)

    meanwhile(monkeypatch, half)
    outbox.load.carry()
    outbox.load.carry()
    assert outbox.sink.epochs == {}
    outbox.publish(0, 1, base=1)
    outbox.list_of(0).unlink()
    outbox.load.carry()
    assert outbox.sink.epochs == {0: ["0.0", "0.1"]}


def test_an_epoch_that_becomes_whole_while_one_looks(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    outbox.prepare(0)
    outbox.publish(0, 0, base=0)

    def rest() -> None:
        outbox.publish(0, 1, base=1)
        outbox.list_of(0).unlink()
        outbox.prepare(1)
        outbox.publish(1, 0, base=2)

    meanwhile(monkeypatch, rest)
    for _ in range(2):
        outbox.load.carry()
    assert outbox.sink.epochs == {0: ["0.0", "0.1"]}


def test_a_note_that_is_damaged(outbox: Outbox) -> None:
    """As a power cut may have left it on a disk that does not keep its word."""
    outbox.publish(0, 0, base=0)
    Path(outbox.load.note).write_text("")
    with pytest.raises(ms.MillstreamError) as error:
        outbox.load.carry()
    assert error.value.code == "MS-CHECKPOINT-007"
    Path(outbox.load.note).unlink()
    outbox.load.carry()
    assert outbox.sink.epochs == {0: ["0.0"]}


def test_topics_that_stand_in_for_sinks() -> None:
    """The sink's own name where a topic can have it; others never become alike."""
    assert outbox_topic("sales.orders-2") == "sales.orders-2"
    names = ["my table", "my_table", "my  table", "größe", ".hidden", "a/b", "a:b"]
    topics = [outbox_topic(name) for name in names]
    assert len(set(topics)) == len(names)
    assert all(fmt.is_topic_name(topic) for topic in topics)
