"""`millstream verify` on another storage: all kills are real."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.storage import files_at
from millstream.verify.faults import Fault, Visit
from millstream.verify.inputs import Input
from millstream.verify.trial import Trial
from millstream.verify.worker import load

pytestmark = [pytest.mark.slow, pytest.mark.server, pytest.mark.long]
JOB = Path(__file__).parents[2] / "examples" / "matches.py"


def test_on_hdfs(hdfs_folder: str, tmp_path: Path) -> None:
    chain = (Fault(Visit("state.during", 1)), Fault(Visit("sink.publish.before", 2, "matches")))
    with Trial(load(JOB), JOB, tmp_path, Input(100, 1), storage=hdfs_folder) as trial:
        trial.straight()
        assert trial.expected["matches"].records
        outcome = trial.chain(chain)
        assert (outcome.error, outcome.differences) == (None, ())
        outcome = next(found for found in trial.faults() if found is not None)
        assert (outcome.real, outcome.error, outcome.differences) == (True, None, ())
    assert files_at(hdfs_folder).names(hdfs_folder) == []
