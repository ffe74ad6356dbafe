"""Likes in a journal, and the expected results."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from millstream import journal


class Likes:
    """Everyone likes everyone else once, in arbitrary order."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "journal")
        for topic in ("likes", "matches", "popular"):
            journal.create(self.path, topic, 2)
        self.sent: list[tuple[str, str]] = []

    def send(self, people: range) -> None:
        """Those between these people; a tenth of the likes is not returned."""
        pairs = [(a, b) for a in people for b in people if a != b]
        pairs.sort(key=lambda pair: (pair[0] * 7919 + pair[1] * 104729) % 10007)
        with journal.producer(self.path, "likes") as producer:
            for a, b in pairs:
                if a < b or (a + b) % 10:
                    producer.send({"liker": f"u{a}", "liked": f"u{b}"}, key=f"u{a}")
                    self.sent.append((f"u{a}", f"u{b}"))

    @property
    def expected_matches(self) -> list[tuple[str, str]]:
        there = set(self.sent)
        return sorted((a, b) for a, b in there if a < b and (b, a) in there)

    @property
    def expected_popular(self) -> dict[str, int]:
        return dict(Counter(liked for _, liked in self.sent))

    @property
    def matches(self) -> list[tuple[str, str]]:
        """What a reader of committed rows sees: more than expected if one came twice."""
        rows = (record.json() for record in journal.read(self.path, "matches"))
        return sorted((row["liker"], row["liked"]) for row in rows)

    @property
    def popular(self) -> dict[str, int]:
        rows = (record.json() for record in journal.read(self.path, "popular"))
        return {row["liked"]: row["likes"] for row in rows}

    @property
    def whole(self) -> bool:
        return len(self.matches) >= len(self.expected_matches) and self.popular == self.expected_popular
