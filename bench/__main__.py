"""`python -m bench basics [--events N] [--rounds N]`"""

from __future__ import annotations

import click

from bench import basics


@click.group()
def main() -> None:
    """Counts CPU seconds, not wall time: machines are noisy."""


@main.command("basics")
@click.option("--events", default=1_000_000, help="How many events each case reads.")
@click.option("--rounds", default=3, help="How often each is measured; the median counts.")
@click.option("--only", default="", help="Some of: filter, aggregate, join.")
def run_basics(events: int, rounds: int, only: str) -> None:
    """A filter, a keyed aggregate and a join, against hand-written PySpark."""
    basics.run(events, rounds, tuple(part for part in only.split(",") if part))


if __name__ == "__main__":
    main()
