"""Builds the errors of a plan: each names its step and the user's line."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from millstream.errors import Location, MillstreamError

PACKAGE = str(Path(__file__).parent.parent)
"""As frames name it: not by where links lead."""


@dataclass(frozen=True)
class Step:
    """A call of the user's that adds to the plan."""

    name: str
    at: Location | None

    def error(self, code: str, message: str, found: str | None = None, hint: str | None = None) -> MillstreamError:
        return MillstreamError(code, f'step "{self.name}" {message}', at=self.at, found=found, hint=hint)


def here(package: str | None = None) -> Location | None:
    """The nearest line outside Millstream, and outside a package that adds to it: the user's."""
    frame = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        inside = package is not None and f"{module}.".startswith(f"{package}.")
        if module.startswith("click."):  # the command line: not a line of the user's
            return None
        if not inside and not frame.f_code.co_filename.startswith(PACKAGE):
            return Location(shown(frame.f_code.co_filename), frame.f_lineno)
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return None


def shown(file: str) -> str:
    """Relative to the working folder where that is shorter to read."""
    path = Path(file)
    cwd = Path.cwd()
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else file
