"""`millstream run --deploy-mode cluster`: the job's file goes to the cluster, which runs its driver, too."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import click

from millstream.api.command import Command
from millstream.cli.jobfile import execute, the_job
from millstream.plan.cluster import Cluster
from millstream.runtime.needs import jars_of
from millstream.runtime.shared_disk import refuse_local_disks
from millstream.spark import ahead
from millstream.spark.submit import Listener, Submission, submit


@dataclass(frozen=True)
class Options:
    """The options of `millstream run` that are passed to the driver."""

    mode: str | None
    every: str | None
    checkpoint: str | None
    backfill: bool
    restarts: bool
    metrics_port: int | None
    parallelism: int | None

    def words(self) -> Iterator[str]:
        named = {
            "--mode": self.mode,
            "--every": self.every,
            "--checkpoint": self.checkpoint,
            "--metrics-port": self.metrics_port,
            "--parallelism": self.parallelism,
        }
        for name, value in named.items():
            if value is not None:
                yield from (name, str(value))
        yield from ["--backfill"] * self.backfill
        yield from ["--restarts"] * self.restarts


def hand_over(file: Path, on: Cluster, options: Options) -> None:
    """Errors in the job, and missing requirements, are reported here, before the job reaches the cluster."""
    looked = Command(checkpoint=options.checkpoint, on=on, parallelism=options.parallelism, explain=True)
    execute(file, looked)
    job = looked.reached or the_job(file, looked)
    plan, on = job.plan(), replace(on, shared_disk=on.shared_disk or job.shared_disk)
    refuse_local_disks(job.name, plan, job.checkpoint, on, on.master)
    ahead.check(on, driver_too=True)
    shared = ("--shared-disk",) if on.shared_disk else ()
    said = ("--master", str(on.master), "--quiet", *shared, *options.words())
    # A relative path in the job means the same there as here.
    folder = str(Path.cwd()) if on.shared_disk else ""
    click.echo(f"{job.name}: starting on {on.master}", err=True)
    names: list[str] = []
    try:
        submit(Submission(job.name, file, on, jars_of(plan, job.checkpoint), folder, said), listener(job.name, names))
    except KeyboardInterrupt:
        if not names:
            click.echo(f"{job.name}: interrupted before {on.master} had said that it takes it", err=True)
            sys.exit(130)
        click.echo(f"{job.name}: goes on running on {on.master}", err=True)
        return
    click.echo(f"{job.name}: finished", err=True)


def listener(job: str, names: list[str]) -> Listener:
    """`names` gets the one under which the cluster knows the job."""

    def named(name: str) -> None:
        names.append(name)
        click.echo(f"{job}: handed over, as {name}; Ctrl-C leaves it running", err=True)

    def waits(reason: str) -> None:
        click.echo(f"{job}: its driver does not start: {reason}", err=True)

    return Listener(named, waits)
