"""How a restart policy is written on a command line and in a request."""

from __future__ import annotations

import re

from millstream.errors import MillstreamError
from millstream.plan.restarts import Restarts, exponential_delay, failure_rate, fixed_delay, no_restart

WRITTEN = "never, exponential, TIMES, TIMES/DELAY (3/10s), or TIMES in TIME (5 in 1h)"
TIME = r"\d+ ?[a-z]+"


def policy(text: str) -> Restarts:
    """`never`; `exponential`: without end, after 1 s, 2 s, … a minute; `3/10s`: three times, each after ten seconds;
    `5 in 1h`: as long as no more than five failures come in an hour."""
    if text == "never":
        return no_restart()
    if text == "exponential":
        return exponential_delay()
    if (fixed := re.fullmatch(rf"(\d+)(?:/({TIME}))?", text)) is not None:
        return fixed_delay(int(fixed[1]), fixed[2] or "10 seconds")
    if (rate := re.fullmatch(rf"(\d+) in ({TIME})", text)) is not None:
        return failure_rate(int(rate[1]), rate[2])
    raise MillstreamError("MS-MANAGER-004", f"{text!r} is not a restart policy.", hint=f"write {WRITTEN}")
