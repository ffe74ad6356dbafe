"""What can go wrong with files, as users see it."""

from __future__ import annotations

import re

from millstream.errors import MillstreamError
from millstream.plan.connectors import Affected, ErrorPattern, Errors
from millstream.plan.options import OptionChecks

CHECKS = OptionChecks("MS-FILES-002")


def unread(job: str, found: re.Match[str], steps: tuple[Affected, ...]) -> MillstreamError:
    return MillstreamError(
        "MS-FILES-003",
        f'job "{job}" stopped because a file does not fit the schema, or is damaged.',
        found=found.group(1).rstrip("."),
        hint="mend it or take it away, and start the job again: it goes on where it was",
    )


ERRORS = Errors(patterns=(ErrorPattern(re.compile(r"while reading file (\S+)"), unread),))
