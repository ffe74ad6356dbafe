"""The one error that users see: a code, a sentence, where, what was found, and a hint."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Location:
    """A line of the user's code."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class MillstreamError(Exception):
    """`MS-JOIN-002: step "named" joins on p.user, which table "people" does not have.`"""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        at: Location | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.code = code
        self.message = message
        self.at = at
        self.found = found
        self.hint = hint
        super().__init__(self.text())

    def text(self) -> str:
        lines = [f"{self.code}: {self.message}"]
        if self.at is not None:
            lines.append(f"  at:    {self.at}")
        if self.found is not None:
            lines.append(f"  found: {self.found}")
        if self.hint is not None:
            lines.append(f"  hint:  {self.hint}")
        return "\n".join(lines)

    def _render_traceback_(self) -> list[str]:
        """What notebooks show in place of a traceback. If this fails, they show that."""
        if verbose():
            raise NotImplementedError
        return self.text().splitlines()


def verbose() -> bool:
    """Whether the user wants to see all of it: tracebacks, and what the JVM says."""
    return os.environ.get("MILLSTREAM_VERBOSE", "") not in ("", "0")


def did_you_mean(wrong: str, known: Iterable[str]) -> str | None:
    """A hint that names the nearest known word, if one is near."""
    near = difflib.get_close_matches(wrong, list(known), n=1, cutoff=0.5)
    return f"did you mean {near[0]}?" if near else None
