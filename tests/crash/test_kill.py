"""Proves exactly once: the job is killed at every named place and at random moments. Nothing is lost or duplicated."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import parquet

from millstream import journal
from millstream.testing.faults import BARRIER_POINTS, POINTS, Fault
from tests.crash.likes import ENOUGH, Generator, expected, found
from tests.crash.lives import Lives
from tests.crash.process import committed, until

pytestmark = pytest.mark.slow
IN_EARNEST = {"micro-batch": ("sink.publish.between",), "real-time": ("commits.before",)}
"""Where the process dies; at the other points an image of it continues."""


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
    until(lambda: sum(count for count, _ in found(str(folder / "journal"))[1].values()) >= wanted, every=0.2)
    lives.stop()
    matches, popular = found(str(folder / "journal"))
    want_matches, want_popular = expected(likes)
    assert want_matches.total() > ENOUGH, "the likes were too few to show anything"
    for sink in (matches, in_files(folder / "files")):
        assert sink - want_matches == Counter(), "some are there that should not be, or twice"
        assert want_matches - sink == Counter(), "some are missing"
    assert popular == want_popular


@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_killed_at_each_named_point(folder: Path, mode: str, lives: Lives) -> None:
    lives.of(folder, mode)
    with Generator(str(folder.parent / "likes"), seed=1) as generator:
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
    with Generator(str(folder.parent / "likes"), seed=2) as generator:
        for _ in range(5):
            before = committed(folder / "checkpoint")
            lives.begin()
            until(lambda b=before: committed(folder / "checkpoint") > b)  # type: ignore[misc]
            time.sleep(moments.random())
            lives.kill()
        generator.finish()
        finish(lives, folder, generator.likes)
