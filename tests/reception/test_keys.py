"""The keys that have a row are known, whatever was cut off the journal, and wherever a crash came between."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from millstream import journal
from millstream.journal.topics import describe
from millstream.reception import keys, retention
from millstream.reception.keys import LiveKeys

TOPIC = "people"


def cut(folder: Path, end: int) -> None:
    done = retention.committed_segments(str(folder), TOPIC, {0: end})
    if done:
        LiveKeys(str(folder), TOPIC).cut_off(done)


@pytest.mark.parametrize("seed", range(5))
def test_whatever_was_cut(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance, live, end = Random(seed), set[bytes](), 0
    monkeypatch.setattr(retention, "SEGMENT_BYTES", 1024)
    monkeypatch.setattr(keys, "KEYS", 50)
    journal.create(tmp_path, TOPIC)

    def crash(_: object) -> None:
        raise InterruptedError

    for _ in range(60):
        with journal.producer(tmp_path, TOPIC, segment_bytes=512) as out:
            for _ in range(chance.randrange(30)):
                key = b"key %d" % chance.randrange(200)
                gone = chance.random() < 0.3
                (live.discard if gone else live.add)(key)
                end = 1 + out.send(None if gone else b"row", key=key)[1]
        with monkeypatch.context() as patched:
            if chance.random() < 0.3:
                patched.setattr(retention, "delete", crash)
            with suppress(InterruptedError):
                cut(tmp_path, chance.randrange(end + 1))
        found = list(LiveKeys(str(tmp_path), TOPIC).live())
        assert len(found) == len(set(found))
        assert set(found) == live
    assert describe(tmp_path, TOPIC).partitions[0].start > 0


def test_keys_of_a_topic_that_was_never_cut(tmp_path: Path) -> None:
    journal.create(tmp_path, TOPIC)
    assert list(LiveKeys(str(tmp_path), TOPIC).live()) == []
    LiveKeys(str(tmp_path), TOPIC).forget()
