"""One case of `millstream verify`, for a test."""

from __future__ import annotations

from pathlib import Path

from millstream.testing.faults import Fault
from millstream.verify.child import load
from millstream.verify.inputs import fill
from millstream.verify.trial import Trial, differences


def check(file: Path, folder: Path, faults: list[Fault], *, rows: int, seed: int) -> None:
    """Fails if a sink differs after the job was killed at these places in turn."""
    job = load(file)
    for source in job.plan().sources:
        fill(source, folder, rows, seed)
    trial = Trial(job, file, folder, {source.name: rows for source in job.plan().sources}, seed)
    expected = trial.expected()
    place = trial.killed("faults", faults, lambda fault: None)
    assert differences(expected, trial.held(place)) == {}
