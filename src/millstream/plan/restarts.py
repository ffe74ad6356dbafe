"""What happens to a job that fails: a policy says after how long to restart it, or that it is over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from millstream.errors import MillstreamError
from millstream.plan.errors import here
from millstream.plan.modes import milliseconds


class Restarts(Protocol):
    """A policy is a plain function of the failures so far: no clock, nothing to wait for."""

    def delay_ms(self, failures: Sequence[float]) -> int | None:
        """How long to wait after the last of the failures, given in seconds; None: it is over."""


@dataclass(frozen=True)
class Never:
    def delay_ms(self, failures: Sequence[float]) -> int | None:
        return None


@dataclass(frozen=True)
class FixedDelay:
    attempts: int
    wait_ms: int

    def delay_ms(self, failures: Sequence[float]) -> int | None:
        return self.wait_ms if len(failures) <= self.attempts else None


@dataclass(frozen=True)
class ExponentialDelay:
    """Each failure in a row waits longer. The row ends when a run has gone well for `calm_ms`."""

    first_ms: int
    most_ms: int
    factor: float
    calm_ms: int

    def delay_ms(self, failures: Sequence[float]) -> int | None:
        in_a_row = 0
        for before, after in pairwise(failures):
            in_a_row = in_a_row + 1 if (after - before) * 1000 < self.calm_ms + self.most_ms else 0
        return round(min(self.most_ms, self.first_ms * self.factor**in_a_row))


@dataclass(frozen=True)
class FailureRate:
    most: int
    within_ms: int
    wait_ms: int

    def delay_ms(self, failures: Sequence[float]) -> int | None:
        recent = [moment for moment in failures if (failures[-1] - moment) * 1000 < self.within_ms]
        return self.wait_ms if len(recent) <= self.most else None


def no_restart() -> Restarts:
    """A failure ends the job. This is the default."""
    return Never()


def fixed_delay(attempts: int = 3, delay: str = "10 seconds") -> Restarts:
    """Restarts up to `attempts` times, each after the same delay."""
    return FixedDelay(counted("attempts", attempts), milliseconds(delay))


def exponential_delay(
    first: str = "1 second", most: str = "1 minute", factor: float = 2.0, calm: str = "10 minutes"
) -> Restarts:
    """Restarts without limit: after 1 s, 2 s, 4 s … up to `most`; from 1 s again once it has run well for `calm`."""
    if factor < 1:
        raise wrong("factor", factor, "1 or more")
    return ExponentialDelay(milliseconds(first), milliseconds(most), factor, milliseconds(calm))


def failure_rate(most: int = 3, within: str = "5 minutes", delay: str = "10 seconds") -> Restarts:
    """Restarts as long as there are at most `most` failures within a time."""
    return FailureRate(counted("most", most), milliseconds(within), milliseconds(delay))


def counted(what: str, number: int) -> int:
    if number < 1:
        raise wrong(what, number, "1 or more, or leave out restarts=")
    return number


def wrong(what: str, value: float, hint: str) -> MillstreamError:
    return MillstreamError("MS-RUN-006", f"restarts cannot have {what} = {value}.", at=here(), hint=hint)
