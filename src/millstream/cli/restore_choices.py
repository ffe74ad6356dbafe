"""The options that say what happens to steps that were renamed, are gone, or are new."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

OFTEN = "repeatable"
OPTIONS = (
    click.option("--was", metavar="NEW=OLD", multiple=True, help=f"A step's new and old name; {OFTEN}."),
    click.option("--drop", metavar="STEP", multiple=True, help=f"Give up the state of a step; {OFTEN}."),
    click.option("--start-empty", metavar="STEP", multiple=True, help=f"Start a new step with nothing; {OFTEN}."),
    click.option("--from-now", metavar="STEP", multiple=True, help=f"Let its new results count from now on; {OFTEN}."),
    click.option("--new-source", metavar="SOURCE", multiple=True, help=f"Read a source as a new job would; {OFTEN}."),
)


@dataclass(frozen=True)
class Chosen:
    was: dict[str, str]
    drop: tuple[str, ...]
    start_empty: tuple[str, ...]
    from_now: tuple[str, ...] = ()
    new_source: tuple[str, ...] = ()

    def asked(self) -> dict[str, Any]:
        """As a request to a manager."""
        if self.from_now or self.new_source:
            raise click.UsageError("a manager does not know --from-now and --new-source: name the job's file.")
        return {"was": self.was, "drop": list(self.drop), "start_empty": list(self.start_empty)}


def choices(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command these options, as `chosen`."""

    @functools.wraps(command)
    def call(
        *,
        was: tuple[str, ...],
        drop: tuple[str, ...],
        start_empty: tuple[str, ...],
        from_now: tuple[str, ...],
        new_source: tuple[str, ...],
        **others: Any,
    ) -> None:
        command(chosen=Chosen(renamed(was), drop, start_empty, from_now, new_source), **others)

    for option in reversed(OPTIONS):
        call = option(call)
    return call


def renamed(pairs: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        new, sign, old = pair.partition("=")
        if not sign or not new or not old:
            raise click.UsageError(f"--was {pair}: write it as NEW=OLD.")
        found[new] = old
    return found
