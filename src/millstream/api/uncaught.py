"""Handles our uncaught errors: a script ends with the error's text, not with pages of traceback.

With `MILLSTREAM_VERBOSE=1` all of it is shown: the traceback, and what the JVM said.
"""

from __future__ import annotations

import sys
import traceback
from types import TracebackType

from millstream.errors import Location, MillstreamError, verbose
from millstream.plan.errors import PACKAGE, shown


def text(error: MillstreamError, trace: TracebackType | None) -> str:
    """What is shown. Where the error names no line of the user's, the last one that led to it."""
    own = [frame for frame in traceback.extract_tb(trace) if not frame.filename.startswith(PACKAGE)]
    if error.at is not None or not own or own[-1].lineno is None:
        return "\n".join([error.text(), *getattr(error, "__notes__", ())])
    located = Location(shown(own[-1].filename), own[-1].lineno)
    return MillstreamError(error.code, error.message, at=located, found=error.found, hint=error.hint).text()


def install() -> None:
    """The earlier handler of uncaught errors still gets all others."""
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, MillstreamError) and not verbose():
            print(text(error, trace), file=sys.stderr)
        else:
            before(kind, error, trace)

    sys.excepthook = hook
