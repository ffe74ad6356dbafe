"""Committed epochs are carried whole, each once, whatever is published meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import millstream as ms
from millstream.journal import format as fmt
from millstream.journal.topics import create, open_topic
from millstream.plan.connectors import Carried
from millstream.runtime import carry
from millstream.runtime.carry import Load

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


class Staged:
    """What the kernels do: two files of an epoch, prepared, and published one after the other."""

    def __init__(self, folder: Path) -> None:
        create(folder, TOPIC)
        self.sink = Kept()
        self.load = Load(TOPIC, open_topic(folder, TOPIC), folder, self.sink)
        self._topic = folder / TOPIC

    def list_of(self, epoch: int) -> Path:
        return self._topic / "prepared" / f"job-{epoch:012d}.json"

    def prepare(self, epoch: int) -> None:
        self.list_of(epoch).write_text('{"format": 1, "files": []}')

    def publish(self, epoch: int, task: int, base: int) -> None:
        name = f"{base:020d}-job-{epoch:012d}-{task:05d}.seg"
        (self._topic / "0" / name).write_bytes(fmt.encode_header(0) + fmt.encode(0, None, f"{epoch}.{task}".encode()))


@pytest.fixture
def staged(tmp_path: Path) -> Staged:
    return Staged(tmp_path / "staged")


def meanwhile(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], None]) -> None:
    """Something happens while the lists are looked at: just behind that look."""
    original, happened = carry.describe, []

    def describe(*arguments: Any) -> Any:
        found = original(*arguments)
        if not happened:
            happened.append(True)
            happens()
        return found

    monkeypatch.setattr(carry, "describe", describe)


def test_an_epoch_that_is_published_while_one_looks(staged: Staged, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of it is there, and its list came after the lists were read: it is not whole."""

    def half() -> None:
        staged.prepare(0)
        staged.publish(0, 0, base=0)

    meanwhile(monkeypatch, half)
    staged.load.carry()
    staged.load.carry()
    assert staged.sink.epochs == {}
    staged.publish(0, 1, base=1)
    staged.list_of(0).unlink()
    staged.load.carry()
    assert staged.sink.epochs == {0: ["0.0", "0.1"]}


def test_an_epoch_that_becomes_whole_while_one_looks(staged: Staged, monkeypatch: pytest.MonkeyPatch) -> None:
    staged.prepare(0)
    staged.publish(0, 0, base=0)

    def rest() -> None:
        staged.publish(0, 1, base=1)
        staged.list_of(0).unlink()
        staged.prepare(1)
        staged.publish(1, 0, base=2)

    meanwhile(monkeypatch, rest)
    for _ in range(2):
        staged.load.carry()
    assert staged.sink.epochs == {0: ["0.0", "0.1"]}


def test_a_note_that_is_damaged(staged: Staged) -> None:
    """As a power cut may have left it on a disk that does not keep its word."""
    staged.publish(0, 0, base=0)
    staged.load.note.write_text("")
    with pytest.raises(ms.MillstreamError) as error:
        staged.load.carry()
    assert error.value.code == "MS-CHECKPOINT-007"
    staged.load.note.unlink()
    staged.load.carry()
    assert staged.sink.epochs == {0: ["0.0"]}


def test_topics_that_stand_in_for_sinks() -> None:
    """The sink's own name where a topic can have it; others never become alike."""
    from millstream.plan.connectors import staged_topic

    assert staged_topic("sales.orders-2") == "sales.orders-2"
    names = ["my table", "my_table", "my  table", "größe", ".hidden", "a/b", "a:b"]
    topics = [staged_topic(name) for name in names]
    assert len(set(topics)) == len(names)
    assert all(fmt.is_topic_name(topic) for topic in topics)
