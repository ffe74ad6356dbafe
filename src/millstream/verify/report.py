"""The certificate: what was done, and the results."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from millstream.verify.faults import Chain, Place, label
from millstream.verify.sandbox import told
from millstream.verify.trial import Outcome, Trial

TEST = '''"""A case that `millstream verify` found: {what}."""

from pathlib import Path

from millstream.verify.case import check
from millstream.verify.faults import Fault, Visit
from millstream.verify.inputs import Input

JOB = Path({job!r})
CHAIN = (
{faults}
)


def test_nothing_is_lost_and_nothing_is_there_twice(tmp_path: Path) -> None:
    check(JOB, tmp_path, CHAIN, {given!r}, {mode!r}{storage})
'''
MOMENTS = ("before", "during", "between", "after")
SHOWN = 3
"""How many failures are shown in full."""


@dataclass
class Certificate:
    trial: Trial
    folder: Path
    """Where failing cases are saved."""
    notes: dict[str, str]
    """On sinks that rightly differ from batch SQL."""
    places: Counter[Place] = field(default_factory=Counter)
    faults: int = 0
    real: int = 0
    lost: int = 0
    duplicated: int = 0
    failures: list[tuple[Outcome, Path]] = field(default_factory=list)

    @property
    def missed(self) -> int:
        """Places that it meets, and was not killed at."""
        return sum(place not in self.places for place in self.trial.choice.places)

    @property
    def good(self) -> bool:
        return not self.failures

    def take(self, outcome: Outcome) -> None:
        last = outcome.chain[-1]
        self.faults += 1
        self.real += outcome.real
        self.places[last.visit.place] += 1
        for difference in outcome.differences:
            self.lost += difference.lost.total()
            self.duplicated += difference.duplicated.total()
        if not outcome.good:
            self.failures.append((outcome, self.save(outcome)))

    def save(self, outcome: Outcome) -> Path:
        """The failing case as a test that can be run again."""
        job = self.trial.job.name.replace("-", "_")
        file = self.folder / f"test_verify_{job}_{len(self.failures) + 1}.py"
        listed = "\n".join(f"    {fault!r}," for fault in outcome.chain)
        told = {"what": then(outcome.chain), "job": str(self.trial.file), "faults": listed}
        options = {"storage": self.trial.storage, "moved": self.trial.moved}
        storage = "".join(f", {name}={value!r}" for name, value in options.items() if value)
        file.write_text(TEST.format(**told, given=self.trial.given, mode=self.trial.mode, storage=storage))
        return file

    def told(self) -> dict[str, object]:
        """As a manager keeps it: its file, and the results."""
        return {
            "sha256": hashlib.sha256(self.trial.file.read_bytes()).hexdigest(),
            "mode": self.trial.mode,
            "faults": self.faults,
            "points": len(self.places),
            "lost": self.lost,
            "duplicated": self.duplicated,
            "good": self.good,
            "text": self.text(),
        }

    def text(self) -> str:
        lines = [f"  {line}".rstrip() for line in (*self._sinks(), "", *self._places(), "", *self._failures())]
        told = f"{self.faults} faults at {len(self.places)} points"
        return "\n".join([*lines, f"{told}, lost {self.lost}, duplicated {self.duplicated}"])

    def _sinks(self) -> list[str]:
        lines = []
        for sink in self.trial.sinks:
            lines.append(f"sink {sink.name}: {sink.options.guarantee}; {told(sink, self.trial.storage)}")
            if sink.name in self.notes:
                lines.append(f"  {self.notes[sink.name]}")
        return lines

    def _places(self) -> list[str]:
        """In the order in which a run meets them; those around one moment on one line."""
        lines: dict[str, list[str]] = {}
        for place in self.trial.choice.places:
            shown, moment = split(place)
            lines.setdefault(shown, []).append(f"{moment} {self.places[place]}".strip())
        width = max(map(len, lines))
        told = [f"{shown:{width}}  {', '.join(counts)}" for shown, counts in lines.items()]
        how = (
            "all of them with kill -9"
            if self.trial.storage
            else f"{self.real} of them with kill -9, the others as images"
        )
        return ["killed at", *(f"  {line}" for line in told), how]

    def _failures(self) -> list[str]:
        lines: list[str] = []
        for outcome, file in self.failures[:SHOWN]:
            lines.append(f"FAILED after {then(outcome.chain)}")
            lines += [f"  sink {part.sink}: {part.first()}" for part in outcome.differences]
            lines += [f"  it does not go on: {line}" for line in (outcome.error or "").splitlines()[:1]]
            lines.append(f"  saved as {file}")
        if len(self.failures) > SHOWN:
            lines.append(f"and {len(self.failures) - SHOWN} others, saved beside it")
        return [*lines, ""] if lines else []


def split(place: Place) -> tuple[str, str]:
    """`sink.publish of matches`, and which moment of it: before, between, after."""
    point, sink = place
    stem, _, moment = point.rpartition(".")
    return (label((stem, sink)), moment) if moment in MOMENTS else (label(place), "")


def then(chain: Chain) -> str:
    return "; then ".join(map(str, chain))
