"""`millstream verify --savepoint` and `--rescale`: a job that is moved in the middle of its input, and killed there."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from millstream.cli.verify import MODES
from millstream.cli.verify import verify as command
from tests.verify.test_verify_job import LAST, ROOT, verify

PLACES = {
    "savepoint": ("savepoint.opened", "savepoint.written", "savepoint.done", "restore.marked", "restore.done"),
    "rescale": ("savepoint.opened", "restore.filled", "restore.built", "retire.taken_over", "restore.retired"),
}


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("moved", PLACES)
def test_killed_at_every_place_of_it(moved: str, mode: str, tmp_path: Path) -> None:
    job = str(ROOT / "examples" / "balances.py")
    code, said = verify(tmp_path, job, f"--{moved}", "--mode", mode, "--rows", "60", "--at", "e", "--for", "300s")
    found = LAST.fullmatch(said.splitlines()[-1])
    assert found is not None, said
    assert (code, found[3], found[4]) == (0, "0", "0"), said
    for place in PLACES[moved]:
        assert place in said, said


@pytest.mark.long
def test_killed_when_the_old_checkpoint_is_retired(tmp_path: Path) -> None:
    """The job continues in the new one, of which only the mark was left to be deleted."""
    job = str(ROOT / "examples" / "balances.py")
    code, said = verify(tmp_path, job, "--rescale", "--rows", "30", "--at", "retire", "--faults", "3")
    found = LAST.fullmatch(said.splitlines()[-1])
    assert found is not None, said
    assert (code, found[1], found[3], found[4]) == (0, "3", "0", "0"), said


def test_one_of_both() -> None:
    done = CliRunner().invoke(command, ["job.py", "--savepoint", "--rescale"])
    assert done.exit_code == 2
    assert "two trials" in done.output
