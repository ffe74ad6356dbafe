"""Compares what the job has received and written with what was sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from millstream import journal
from soak.brokers.broker import Broker
from soak.judge import Verdict


@dataclass(frozen=True)
class Judged:
    """`repeats`: by broker, how many messages came a second time with the token of the first."""

    sinks: list[Verdict]
    repeats: dict[str, int]

    @property
    def well(self) -> bool:
        return not any(part.lost or part.duplicated for part in self.sinks)


def received(title: str, numbers: Iterable[int], sent: int) -> Verdict:
    """Each number once. One that was sent and not confirmed may be there, too."""
    have = Counter(numbers)
    twice = sum(count - 1 for count in have.values())
    return Verdict(f"received from {title}", sent, len(set(range(sent)) - have.keys()), twice)


def written(title: str, copies: list[tuple[int, str]], sent: int, *, forgets_repeats: bool) -> tuple[Verdict, int]:
    """Each number at least once. A repeat counts as duplicated if a reader could not drop it by its token; if the
    broker should have dropped it, it always does."""
    different = set(copies)
    numbers = {number for number, _ in different}
    repeats = len(copies) - len(different)
    untold = len(different) - len(numbers) + (repeats if forgets_repeats else 0)
    return Verdict(f"copies in {title}", sent, len(set(range(sent)) - numbers), untold), repeats


def judged(out: Path, sent: dict[str, int], brokers: Sequence[Broker]) -> Judged:
    sinks, copies, repeats = list[Verdict](), list[Verdict](), dict[str, int]()
    for broker in brokers:
        title, count = broker.title, sent[broker.title]
        numbers = (record.json()["n"] for record in journal.read(out, broker.name))
        sinks.append(received(title, numbers, count))
        found, repeats[title] = written(title, broker.copies(), count, forgets_repeats=broker.forgets_repeats)
        copies.append(found)
    return Judged(sinks + copies, repeats)
