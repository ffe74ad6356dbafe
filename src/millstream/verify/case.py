"""One case of `millstream verify`, for a test."""

from __future__ import annotations

from pathlib import Path

from millstream.verify.faults import Chain
from millstream.verify.inputs import Input
from millstream.verify.trial import Trial
from millstream.verify.worker import load


def check(
    file: Path,
    folder: Path,
    chain: Chain,
    given: Input,
    mode: str = "micro-batch",
    storage: str | None = None,
    moved: str | None = None,
) -> None:
    """Fails if a sink differs after the job was killed at these places in turn."""
    with Trial(load(file), file.resolve(), folder, given, mode=mode, storage=storage, moved=moved) as trial:
        trial.straight()
        outcome = trial.chain(chain)
    assert outcome.error is None, outcome.error
    assert outcome.differences == (), "\n".join(f"{part.sink}: {part.first()}" for part in outcome.differences)
