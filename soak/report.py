"""What was broken, and the results: the table in the docs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from statistics import median
from typing import Any

from soak.judge import Verdict
from soak.kinds import Kind
from soak.strike import Struck


def table(struck: list[Struck], kinds: Iterable[Kind[Any]]) -> str:
    """By itself: by the job's policy. Back at work: counted from the end of the fault."""
    lines = ["| fault | times | waited through | started again by itself | gave up | back at work, median / longest |"]
    lines.append("|---|--:|--:|--:|--:|--:|")
    for kind in kinds:
        mine = [part for part in struck if part.kind == kind.name]
        if mine:
            ended = sum(part.given_up for part in mine)
            again = sum(bool(part.reasons) and not part.given_up for part in mine)
            waited = 0 if kind.ends_job else len(mine) - again - ended
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


def last_line(faults: int, verdicts: list[Verdict], wrong: int | None = None) -> str:
    """`wrong`: how many keys have a state that the input does not explain, if it was looked at."""
    lost, duplicated = (sum(part.lost for part in verdicts), sum(part.duplicated for part in verdicts))
    state = "" if wrong is None else f", state wrong {wrong}"
    return f"{faults} faults, lost {lost}, duplicated {duplicated}{state}"
