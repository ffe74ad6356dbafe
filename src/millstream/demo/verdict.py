"""Whether the stream's matches are those of a batch run over the same likes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from millstream import journal


@dataclass(frozen=True)
class Verdict:
    likes: int
    matches: int
    missing: int
    """Matches of the batch run that the stream does not have."""
    extra: int
    """Matches of the stream that the batch run does not have."""

    @property
    def equal(self) -> bool:
        return not self.missing and not self.extra

    def __str__(self) -> str:
        counts = f"{self.likes} likes, {self.matches} matches"
        if self.equal:
            return f"{counts}, equal to batch"
        return f"{counts}, NOT equal to batch: {self.missing} missing, {self.extra} extra"


def compare(path: Path, likes: int, stream: str, batch: str) -> Verdict:
    """Compares two topics as multisets."""
    found, wanted = tally(path, stream), tally(path, batch)
    return Verdict(likes, found.total(), (wanted - found).total(), (found - wanted).total())


def tally(path: Path, topic: str) -> Counter[bytes | None]:
    return Counter(record.value for record in journal.read(path, topic))
