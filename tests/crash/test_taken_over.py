"""A run that hangs, is replaced by another, and wakes up: it can do no harm, whatever it was about to do.

There are no locks here: their files are deleted first, as if the disk had none.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream import journal
from millstream.testing.faults import Fault
from tests.crash.likes import ENOUGH, Generator, expected
from tests.crash.lives import Lives
from tests.crash.process import committed, until
from tests.crash.test_kill import finish

pytestmark = pytest.mark.slow

POINTS = {
    "micro-batch": ("offsets.before", "state.before", "decision.before", "commits.before", "sink.publish.between"),
    "real-time": ("sink.prepare.before", "decision.before", "decision.after", "sink.publish.before"),
}
"""Where the first run stops: what it was about to write comes when the second run has written the same."""


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lives, Lives]]:
    folders = (tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("second"))
    with Lives("tests.crash.match_job", folders[0]) as first, Lives("tests.crash.match_job", folders[1]) as second:
        yield first, second


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "run"
    journal.create(tmp_path / "likes", "likes", 2)
    journal.create(made / "journal", "matches", 2)
    journal.create(made / "journal", "popular", 1)
    return made


def unlock(folder: Path) -> None:
    for lock in (*folder.rglob("lock"), *folder.glob("files/_lock/*")):
        lock.unlink()


def take_over(second: Lives, folder: Path) -> None:
    """The second run continues from where the first one stands, and commits."""
    before = committed(folder / "checkpoint")
    unlock(folder)
    second.begin()
    until(lambda: committed(folder / "checkpoint") >= before + 2)


@pytest.mark.parametrize("mode", POINTS)
def test_a_run_that_is_held_back(folder: Path, mode: str, two: tuple[Lives, Lives]) -> None:
    """It goes on while the second run is alive, which notices nothing."""
    first, second = (lives.of(folder, mode) for lives in two)
    with Generator(str(folder.parent / "likes"), seed=3) as generator:
        for point in POINTS[mode]:
            fault = Fault(point, committed(folder / "checkpoint") + 2)
            first.held(fault, lambda: take_over(second, folder))
            assert "MS-CHECKPOINT-006" in (first.failure() or ""), point
            before = committed(folder / "checkpoint")
            until(lambda b=before: committed(folder / "checkpoint") > b)  # type: ignore[misc]
            second.stop()
        until(lambda: expected(generator.likes)[0].total() > ENOUGH)
        generator.finish()
        finish(second, folder, generator.likes)


def test_a_run_that_is_suspended(folder: Path, two: tuple[Lives, Lives]) -> None:
    """Its whole process stands still, wherever it is."""
    first, second = (lives.of(folder, "real-time") for lives in two)
    with Generator(str(folder.parent / "likes"), seed=4) as generator:
        first.begin()
        until(lambda: committed(folder / "checkpoint") >= 2)
        with first.hanging():
            take_over(second, folder)
        assert "MS-CHECKPOINT-006" in (first.failure() or "")
        second.stop()
        until(lambda: expected(generator.likes)[0].total() > ENOUGH)
        generator.finish()
        finish(second, folder, generator.likes)
