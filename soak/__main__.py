"""`python -m soak [--faults N] [--for TIME] [--seed N]`: breaks one thing after the other while a job runs."""

from __future__ import annotations

import sys
import time

import click

from millstream.plan.modes import milliseconds
from soak.report import Struck, last_line, reasons, sinks, table
from soak.run import soak


@click.command()
@click.option("--faults", default=200, show_default=True, type=click.IntRange(min=1), help="How many.")
@click.option("--for", "length", metavar="TIME", help="End after so long, however many faults it were by then: 10m.")
@click.option("--seed", default=1, show_default=True, help="The same one gives the same faults in the same order.")
def main(faults: int, length: str | None, seed: int) -> None:
    """A job from Kafka and Postgres to Kafka, Postgres and files, under load, while its servers fail."""
    until = time.monotonic() + milliseconds(length) / 1000 if length else None

    def tell(struck: Struck) -> None:
        click.echo(f"{struck.kind}: {struck.seconds:.1f} s {'; '.join(struck.reasons)}", err=True)

    struck, found = soak(faults, until, seed, tell)
    click.echo("\n\n".join([table(struck), reasons(struck), sinks(found)]))
    click.echo(last_line(len(struck), found))
    wrong = any(part.lost or part.duplicated for part in found) or any(part.given_up for part in struck)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
