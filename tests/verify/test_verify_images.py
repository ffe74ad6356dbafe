"""A process that is stopped while its folder is copied."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.verify import images
from millstream.verify.faults import Fault, Visit
from millstream.verify.visits import Watch

COUNTING = """
import pathlib, sys, threading
def count(name):
    file = pathlib.Path(sys.argv[1]) / name
    n = 0
    while True:
        n += 1
        file.write_text(str(n))
        (file.parent / f"{name}.then").write_text(str(n))
        print(flush=True)
for name in "ab":
    threading.Thread(target=count, args=[name]).start()
"""


@pytest.fixture
def counting(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """A process whose threads write without a pause, each number to one file and then to another."""
    folder = tmp_path / "counts"
    folder.mkdir()
    command = [sys.executable, "-c", COUNTING, str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    for _ in range(50):
        process.stdout.readline()
    yield process.pid, folder
    process.kill()
    process.wait()


@pytest.mark.parametrize("way", ["threads", "processes"])
def test_nothing_moves_while_an_image_is_taken(
    way: str, counting: tuple[int, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group, folder = counting
    if way == "processes":
        monkeypatch.setattr(images, "PROC", tmp_path / "no such system")
    with images.frozen(group):
        images.copy(folder, tmp_path / "image")
        images.copy(folder, tmp_path / "again")
    read = {name: {file.name: file.read_text() for file in (tmp_path / name).iterdir()} for name in ("image", "again")}
    assert read["image"] == read["again"]
    assert len(read["image"]) == 4


def test_a_process_that_does_not_stop_is_let_go_and_stopped_again(
    counting: tuple[int, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that was stopped while it started another process: it waits for that one."""
    group, folder = counting
    really, looks = images.stopped, iter([False, False])
    monkeypatch.setattr(images, "STOPS_WITHIN", 0.0)
    monkeypatch.setattr(images, "stopped", lambda group: next(looks, True) and really(group))
    with images.frozen(group):
        images.copy(folder, tmp_path / "image")
        images.copy(folder, tmp_path / "again")
    assert list(looks) == []
    read = [{file.name: file.read_text() for file in (tmp_path / name).iterdir()} for name in ("image", "again")]
    assert read[0] == read[1]


def test_an_image_that_fails_ends_the_trial() -> None:
    def fail(fault: Fault) -> None:
        raise TimeoutError("no image")

    watch = Watch([Fault(Visit("commits.after", 3))], fail)
    watch.visit("commits.after", 3, "")
    with pytest.raises(TimeoutError, match="no image"):
        watch.end()
