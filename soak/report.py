"""What was broken, and what came of it: the table of the docs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import median

from soak.faults import KINDS, killed
from soak.judge import Verdict


@dataclass(frozen=True)
class Struck:
    """One fault: how long until two more epochs were committed, and why the job was started again, if it was."""

    kind: str
    seconds: float
    reasons: tuple[str, ...]
    given_up: bool = False
    """Whether it ended for good, and was started by hand."""


def table(struck: list[Struck]) -> str:
    """By itself: by the job's policy. Back at work: from when the fault is over to the second epoch after it."""
    lines = ["| fault | times | waited through | started again by itself | gave up | back at work, median / longest |"]
    lines.append("|---|--:|--:|--:|--:|--:|")
    for kind in KINDS:
        mine = [part for part in struck if part.kind == kind.name]
        if mine:
            ended = sum(part.given_up for part in mine)
            again = sum(bool(part.reasons) and not part.given_up for part in mine)
            waited = 0 if kind.strike is killed else len(mine) - again - ended
            times = [part.seconds for part in mine]
            length = f"{median(times):.1f} s / {max(times):.1f} s"
            lines.append(f"| {kind.name} | {len(mine)} | {waited} | {again} | {ended} | {length} |")
    return "\n".join(lines)


def reasons(struck: list[Struck]) -> str:
    found = Counter(reason for part in struck for reason in part.reasons)
    return "\n".join(f"{count:4} started again: {reason}" for reason, count in found.most_common())


def sinks(verdicts: list[Verdict]) -> str:
    return "\n".join(
        f"sink {part.sink}: {part.expected} rows expected, lost {part.lost}, duplicated {part.duplicated}"
        for part in verdicts
    )


def last_line(faults: int, verdicts: list[Verdict]) -> str:
    lost, duplicated = (sum(part.lost for part in verdicts), sum(part.duplicated for part in verdicts))
    return f"{faults} faults, lost {lost}, duplicated {duplicated}"
