"""Exactly once, shown: the job is killed at every named place and at random moments. Nothing is missing, and nothing is
there twice."""

from __future__ import annotations

import itertools
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import parquet

from millstream import journal
from millstream.testing.faults import BARRIER_POINTS, POINTS, Fault
from tests.crash.lives import Lives
from tests.crash.process import committed, until

pytestmark = pytest.mark.slow
IN_EARNEST = {"micro-batch": ("sink.publish.between",), "real-time": ("commits.before",)}
"""Where the process dies; at the other points an image of it goes on."""


USERS = 30
ENOUGH = 20
"""So many matches show something."""


class Generator:
    """Likes that flow until they are stopped, each with its number; among so many users that matches stay few."""

    def __init__(self, path: Path, seed: int) -> None:
        self.likes: list[tuple[str, str, int]] = []
        self._random = random.Random(seed)
        self._producer = journal.producer(path, "likes")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Generator:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def finish(self) -> None:
        if not self._stop.is_set():
            self._stop.set()
            self._thread.join()
            self._producer.close()

    def _run(self) -> None:
        for n in itertools.count():
            one, other = self._random.sample(range(USERS), 2)
            self.likes.append((f"u{one}", f"u{other}", n))
            self._producer.send({"liker": f"u{one}", "liked": f"u{other}", "n": n}, key=f"u{one}")
            if n % 5 == 4:
                self._producer.flush()
                # No more of them than a killed job has worked off by the end.
                if self._stop.wait(0.3):
                    return


def expected(likes: list[tuple[str, str, int]]) -> tuple[Counter[tuple[object, ...]], dict[str, tuple[int, int]]]:
    """The same in ten lines of Python."""
    pairs: dict[tuple[str, str], list[int]] = {}
    for liker, liked, n in likes:
        pairs.setdefault((liker, liked), []).append(n)
    matches: Counter[tuple[object, ...]] = Counter()
    for (one, other), numbers in pairs.items():
        if one < other:
            for a, b in itertools.product(numbers, pairs.get((other, one), [])):
                matches[(one, other, min(a, b), max(a, b))] += 1
    popular: dict[str, tuple[int, int]] = {}
    for _, liked, n in likes:
        popular[liked] = (popular.get(liked, (0, 0))[0] + 1, n)
    return matches, popular


def found(path: Path) -> tuple[Counter[tuple[object, ...]], dict[str, tuple[int, int]]]:
    rows = [json.loads(record.value or b"") for record in journal.read(path, "matches")]
    matches: Counter[tuple[object, ...]] = Counter(
        (row["liker"], row["liked"], row["first"], row["second"]) for row in rows
    )
    popular: dict[str, tuple[int, int]] = {}
    for record in journal.read(path, "popular"):
        row = json.loads(record.value or b"")
        popular[row["liked"]] = (row["likes"], row["last"])
    return matches, popular


def in_files(folder: Path) -> Counter[tuple[object, ...]]:
    tables = [parquet.read_table(file, partitioning=None) for file in folder.glob("epoch=*/*.parquet")]
    return Counter(tuple(row.values()) for table in tables for row in table.to_pylist())


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lives]:
    with Lives("tests.crash.match_job", tmp_path_factory.mktemp("lives")) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the job writes."""
    made = tmp_path / "run"
    journal.create(tmp_path / "likes", "likes", 2)
    journal.create(made / "journal", "matches", 2)
    journal.create(made / "journal", "popular", 1)
    return made


def finish(lives: Lives, folder: Path, likes: list[tuple[str, str, int]]) -> None:
    """A last run without faults, until every like is counted; then all sinks must be right."""
    wanted = sum(count for count, _ in expected(likes)[1].values())
    lives.begin()
    until(lambda: sum(count for count, _ in found(folder / "journal")[1].values()) >= wanted, every=0.2)
    lives.stop()
    matches, popular = found(folder / "journal")
    want_matches, want_popular = expected(likes)
    assert want_matches.total() > ENOUGH, "the likes were too few to show anything"
    for sink in (matches, in_files(folder / "files")):
        assert sink - want_matches == Counter(), "some are there that should not be, or twice"
        assert want_matches - sink == Counter(), "some are missing"
    assert popular == want_popular


@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_killed_at_each_named_point(folder: Path, mode: str, lives: Lives) -> None:
    lives.of(folder, mode)
    with Generator(folder.parent / "likes", seed=1) as generator:
        for point in (*(BARRIER_POINTS if mode == "real-time" else ()), *POINTS):
            fault = Fault(point, committed(folder / "checkpoint") + 3)
            if point in IN_EARNEST[mode]:
                lives.killed(fault)
            else:
                lives.imaged(fault)
        generator.finish()
        finish(lives, folder, generator.likes)


@pytest.mark.long
@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_killed_at_random_moments(folder: Path, mode: str, lives: Lives) -> None:
    lives.of(folder, mode)
    moments = random.Random(2)
    with Generator(folder.parent / "likes", seed=2) as generator:
        for _ in range(5):
            before = committed(folder / "checkpoint")
            lives.begin()
            until(lambda b=before: committed(folder / "checkpoint") > b)  # type: ignore[misc]
            time.sleep(moments.random())
            lives.kill()
        generator.finish()
        finish(lives, folder, generator.likes)
