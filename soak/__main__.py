"""`python -m soak [--faults N] [--for TIME] [--seed N]`: breaks one thing after the other while a job runs.

`python -m soak --cluster [--on s3|hdfs] [--mode …]`: the same on a Spark cluster.
`python -m soak --brokers [--faults N]`: a job between RabbitMQ, ActiveMQ, SQS and Kinesis, while these fail.
`python -m soak --managers [--faults N]`: breaks the manager that leads, while a job runs.
`python -m soak --real-time [--for TIME] [--every TIME]`: breaks nothing, and looks at what grows.
"""

from __future__ import annotations

import sys

import click

from millstream.plan.modes import milliseconds
from soak import faults as of_servers
from soak import steady, takeovers
from soak.brokers import faults as of_brokers
from soak.brokers import run as on_brokers
from soak.cluster import faults as of_clusters
from soak.cluster import run as on_cluster
from soak.cluster.job import MODES
from soak.report import last_line, reasons, sinks, table
from soak.run import soak
from soak.strike import Plan, Struck

STORAGES, HOW = click.Choice(["s3", "hdfs"]), click.Choice(list(MODES))


@click.command()
@click.option("--faults", default=200, show_default=True, type=click.IntRange(min=1), help="How many.")
@click.option("--for", "length", metavar="TIME", help="End after so long, however many faults it were by then: 10m.")
@click.option("--real-time", is_flag=True, help="Breaks nothing: looks at what grows with the number of barriers.")
@click.option("--every", default="100 ms", show_default=True, help="In real time: how often a barrier passes.")
@click.option("--seed", default=1, show_default=True, help="The same one gives the same faults in the same order.")
@click.option("--cluster", is_flag=True, help="On a Spark cluster, with HDFS and S3: these fail.")
@click.option("--on", type=STORAGES, default="s3", show_default=True, help="On a cluster: where the checkpoint lies.")
@click.option("--mode", type=HOW, default="micro-batch", show_default=True, help="On a cluster: how the job runs.")
@click.option("--managers", is_flag=True, help="Breaks the manager that leads, of three; 100 faults if none are said.")
@click.option("--brokers", is_flag=True, help="A job between RabbitMQ, ActiveMQ, SQS and Kinesis: these fail.")
@click.pass_context
def main(
    context: click.Context,
    faults: int,
    length: str | None,
    real_time: bool,
    every: str,
    seed: int,
    cluster: bool,
    on: str,
    mode: str,
    managers: bool,
    brokers: bool,
) -> None:
    """A job under load, while its servers fail: Kafka, Postgres and a disk, or those of a cluster."""
    if real_time:
        sys.exit(1 if steady_real_time(length or "1h", every) else 0)
    if managers:
        said = context.get_parameter_source("faults") is not click.core.ParameterSource.DEFAULT
        sys.exit(0 if taken_over(faults if said else 100, seed) else 1)
    plan = Plan(faults, milliseconds(length) / 1000 if length else None, seed, tell)
    if brokers:
        sys.exit(1 if sent_and_received(plan) else 0)
    sys.exit(1 if (clustered(plan, on, mode) if cluster else served(plan)) else 0)


def taken_over(faults: int, seed: int) -> bool:
    """Whether all is well."""
    found = takeovers.soak(faults, seed, lambda said: click.echo(said, err=True))
    click.echo(f"{found.twice} runs had two processes")
    click.echo(found.last_line())
    return found.well


def tell(struck: Struck) -> None:
    click.echo(f"{struck.kind}: {struck.seconds:.1f} s {'; '.join(struck.reasons)}", err=True)


def served(plan: Plan) -> bool:
    """Whether something is wrong."""
    struck, found = soak(plan)
    click.echo("\n\n".join([table(struck, of_servers.KINDS), reasons(struck), sinks(found)]))
    click.echo(last_line(len(struck), found))
    return any(part.lost or part.duplicated for part in found) or any(part.given_up for part in struck)


def sent_and_received(plan: Plan) -> bool:
    """Whether something is wrong."""
    struck, found = on_brokers.soak(plan)
    repeats = "\n".join(f"copies in {title}: {count} repeats, told by token" for title, count in found.repeats.items())
    click.echo("\n\n".join([table(struck, of_brokers.KINDS), reasons(struck), sinks(found.sinks), repeats]))
    click.echo(last_line(len(struck), found.sinks))
    return not found.well or any(part.given_up for part in struck)


def clustered(plan: Plan, on: str, mode: str) -> bool:
    """Whether something is wrong."""
    struck, found = on_cluster.soak(plan, on, mode)
    click.echo("\n\n".join([table(struck, of_clusters.KINDS), reasons(struck), sinks(found.sinks)]))
    click.echo(last_line(len(struck), found.sinks, found.wrong))
    return not found.well or any(part.given_up for part in struck)


def steady_real_time(length: str, every: str) -> bool:
    """Whether something has grown, or is wrong."""
    first, last, wrong = steady.soak(milliseconds(length) / 1000, every, lambda said: click.echo(said, err=True))
    more = steady.grown(first, last)
    click.echo(steady.report(first, last))
    click.echo(f"{last.barriers} barriers, wrong {wrong}, grown: {', '.join(more) or 'nothing'}")
    return bool(wrong or more)


if __name__ == "__main__":
    main()
