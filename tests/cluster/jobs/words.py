"""A user's module, which is not installed anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import millstream as ms


def shout(word: str) -> str:
    return word.upper()


class Pair(ms.Process):
    output = "liker STRING, liked STRING"
    seen = ms.ValueState("INT")

    def on_row(self, key: Any, row: Any) -> Iterator[dict[str, str]]:
        self.seen.set(self.seen.get(0) + 1)
        yield {"liker": row.liker, "liked": f"{row.liked}-{self.seen.get()}"}
