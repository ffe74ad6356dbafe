"""Checks of the options of sources and sinks: the same words for every connector, under its own code."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.errors import Location, MillstreamError, did_you_mean
from millstream.plan.connectors import OnError
from millstream.plan.errors import here

ON_ERROR: tuple[OnError, ...] = ("fail", "skip", "dead_letter")


@dataclass(frozen=True)
class OptionChecks:
    """`code`: of the error. `package`: of a connector outside Millstream, whose own lines are not the user's."""

    code: str
    package: str | None = None

    def at(self) -> Location | None:
        return here(self.package)

    def wrong(self, message: str, hint: str | None = None, found: str | None = None) -> MillstreamError:
        return MillstreamError(self.code, message, at=self.at(), found=found, hint=hint)

    def one_of(self, what: str, value: str, allowed: tuple[str, ...], hint: str | None = None) -> None:
        if value not in allowed:
            near = did_you_mean(str(value), allowed)
            raise self.wrong(f"{what} cannot be {value!r}.", near or hint, "one of: " + ", ".join(allowed))

    def above_zero(self, what: str, value: int | None) -> None:
        if value is not None and value < 1:
            raise self.wrong(f"{what} is {value}.", "give a number above 0, or leave it out")

    def policy(self, on_error: OnError | None, dead_letters: object | None, place: str, example: str) -> OnError:
        """What happens to records that cannot be read: as given, or as `dead_letters` implies."""
        policy: OnError = on_error or ("fail" if dead_letters is None else "dead_letter")
        self.one_of("on_error", policy, ON_ERROR)
        if (policy == "dead_letter") != (dead_letters is not None):
            raise self.wrong(f"dead letters need {place}.", f'on_error="dead_letter", dead_letters={example}')
        return policy


def columns(given: str | tuple[str, ...]) -> tuple[str, ...]:
    """One column may be named without brackets."""
    return (given,) if isinstance(given, str) else tuple(given)
