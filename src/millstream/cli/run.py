"""`millstream run`: the job in a file."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from millstream.api.command import Command, commanded
from millstream.api.job import Job
from millstream.cli import verbose
from millstream.cli.hand_over import Options, hand_over
from millstream.cli.jobfile import execute, the_job
from millstream.cli.place import placed
from millstream.plan.cluster import Cluster
from millstream.plan.modes import Mode, available_now, batch, micro_batch, real_time
from millstream.plan.restarts import exponential_delay
from millstream.runtime.states import State

PORT_HELP = "Serve metrics to Prometheus at http://127.0.0.1:PORT/metrics; 0 picks a free port."
MODES = ("batch", "micro-batch", "available-now", "real-time")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--mode", type=click.Choice(MODES), help="By default the file's own, or one that the job can run in.")
@click.option("--every", metavar="TIME", help="How long an epoch lasts: 200ms, 5s.")
@click.option("--checkpoint", metavar="DIR", help="Where the job keeps its progress and state.")
@click.option("--backfill", is_flag=True, help="Read the history= of the sources first, then the sources.")
@click.option("--restarts", is_flag=True, help="Restart the job when it fails, after 1 s, 2 s, … up to a minute.")
@click.option("--quiet", is_flag=True, help="Do not show what the job does.")
@click.option("--metrics-port", metavar="PORT", type=click.IntRange(0, 65535), help=PORT_HELP)
@placed
@verbose.option
def run(
    file: Path,
    mode: str | None,
    every: str | None,
    checkpoint: str | None,
    backfill: bool,
    restarts: bool,
    quiet: bool,
    metrics_port: int | None,
    on: Cluster,
    driver_there: bool,
    parallelism: int | None,
) -> None:
    """Run the job in FILE until its input ends or Ctrl-C.

    If FILE itself calls run() on a job, that job runs, in the mode given here, if any. Otherwise the one job that FILE
    declares runs.
    """
    if driver_there:
        hand_over(file, on, Options(mode, every, checkpoint, backfill, restarts, metrics_port, parallelism))
        return
    policy = exponential_delay() if restarts else None
    command = Command(chosen(mode, every), checkpoint, policy, not quiet, metrics_port, on, parallelism, backfill)
    try:
        execute(file, command)
        if not command.started:
            with commanded(command):
                follow(the_job(file, command), command.mode)
    except KeyboardInterrupt:  # while Spark was starting: a running job is stopped, and ends well
        click.echo("interrupted", err=True)
        sys.exit(130)


def chosen(mode: str | None, every: str | None) -> Mode | None:
    if every is not None and mode in ("batch", "available-now"):
        raise click.UsageError(f"--every has no meaning with --mode {mode}.")
    match mode:
        case "batch":
            return batch()
        case "available-now":
            return available_now()
        case "micro-batch":
            return micro_batch(every) if every else micro_batch()
        case _ if every:
            return real_time(every)
        case _:
            return real_time() if mode else None


def follow(job: Job, mode: Mode | None) -> None:
    """Says on stderr when it runs and how it ended."""
    click.echo(f"{job.name}: starting", err=True)
    run = job.start(mode)
    if run.state is State.RUNNING:
        click.echo(f"{job.name}: running, Ctrl-C stops it; checkpoint {job.checkpoint}", err=True)
    if run.metrics_url is not None and not run.over:
        click.echo(f"{job.name}: metrics at {run.metrics_url}", err=True)
    run.wait()
    if run.state is State.STOPPED and sys.stderr.isatty():
        click.echo(err=True)  # after the terminal's ^C
    progress = run.progress()
    after = f" after epoch {progress.epoch}" if progress else ""
    click.echo(f"{job.name}: {run.state.value}{after}", err=True)
