"""`millstream verify` on whole jobs: one that is right, and one whose sinks are not."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from millstream.cli.verify import MODES

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
LAST = re.compile(r"(\d+) faults at (\d+) points, lost (\d+), duplicated (\d+)")


def verify(folder: Path, *arguments: str) -> tuple[int, str]:
    """Its exit code, and what it printed; with its errors, if it did not end."""
    command = [sys.executable, "-c", "from millstream.cli.main import main; main()", "verify", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=400)
    assert done.returncode in (0, 1), done.stderr
    ended = LAST.search(done.stdout) is not None
    return done.returncode, done.stdout if ended else done.stdout + done.stderr


@pytest.mark.parametrize("mode", MODES)
def test_a_job_that_is_right(mode: str, tmp_path: Path) -> None:
    """Into a database and into files, killed for real once at least."""
    job = str(ROOT / "examples" / "balances.py")
    count = 10 if mode == "micro-batch" else 7
    code, said = verify(tmp_path, job, "--mode", mode, "--faults", str(count), "--rows", "60")
    assert said.splitlines()[0] == f"job balances {MODES[mode]}, seed 1"
    found = LAST.fullmatch(said.splitlines()[-1])
    assert found is not None, said
    faults, points, lost, duplicated = map(int, found.groups())
    assert (code, faults, lost, duplicated) == (0, count, 0, 0), said
    assert points > 4
    assert re.search(r"^  [1-9]\d* of them with kill -9", said, re.MULTILINE), said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", ["micro-batch", pytest.param("real-time", marks=pytest.mark.long)])
def test_broken_sinks_are_found_out(mode: str, tmp_path: Path) -> None:
    """One loses rows, one has them twice; the saved case fails in the same way."""
    job = str(Path(__file__).with_name("broken_sink.py"))
    code, said = verify(tmp_path, job, "--mode", mode, "--at", "carry.during", "--faults", "6", "--rows", "60")
    found = LAST.fullmatch(said.splitlines()[-1])
    assert found is not None, said
    assert code == 1
    assert int(found[3]) > 0, said
    assert int(found[4]) > 0, said
    assert 'sink hasty: missing: {"liker"' in said, said
    assert 'sink hesitant: too much: {"liker"' in said, said
    saved = sorted(tmp_path.glob("test_verify_broken_*.py"))
    assert saved, said
    again = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(saved[0])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert again.returncode == 1, again.stdout + again.stderr
    assert "differences == ()" in again.stdout
