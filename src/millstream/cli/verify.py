"""`millstream verify`: kills a job at every place, and shows that nothing is lost or duplicated."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import Progress

from millstream.cli import verbose
from millstream.plan.modes import milliseconds

if TYPE_CHECKING:
    from millstream.verify.report import Certificate
    from millstream.verify.trial import Trial


MODES = {"micro-batch": "in micro-batches", "real-time": "in real time"}
MOVED = {None: "", "savepoint": ", moved by a savepoint", "rescale": ", rescaled"}
MOST = 4
"""Kills at most this many times the number of places, if one of them does not come again."""


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--mode",
    type=click.Choice(MODES),
    default="micro-batch",
    show_default=True,
    help="The mode to kill it in. In real time a fault takes a little longer.",
)
@click.option(
    "--faults", type=click.IntRange(min=1), help="How often to kill it; by default at least once at every place."
)
@click.option("--for", "length", metavar="TIME", help="End after this time, however often it was killed by then: 10m.")
@click.option(
    "--rows", default=300, show_default=True, type=click.IntRange(min=10), help="Rows of each source, at most."
)
@click.option("--at", default="", metavar="TEXT", help="Only kill at places with this in their names: sink.publish.")
@click.option("--seed", default=1, show_default=True, help="The same seed gives the same input and faults.")
@click.option(
    "--input",
    "recorded",
    multiple=True,
    metavar="SOURCE=PLACE",
    help="Recorded rows of a source: a file of JSON lines, or a topic as folder/topic. By default rows are made up.",
)
@click.option(
    "--storage",
    metavar="ADDRESS",
    help="Where to keep the checkpoint and write topics and files: hdfs://… or s3a://…. Every kill is then kill -9.",
)
@click.option(
    "--publish", is_flag=True, help="Send the certificate to the manager that runs the job; its page shows it."
)
@click.option(
    "--manager", "url", metavar="URL", help="The manager; by default MILLSTREAM_MANAGER, or the one on this machine."
)
@click.option("--token", help="By default MILLSTREAM_TOKEN, or the token in the manager's folder.")
@click.option(
    "--savepoint", is_flag=True, help="Continue from a savepoint in the middle of the input; kill it there, too."
)
@click.option("--rescale", is_flag=True, help="Change the parallelism in the middle of the input; kill it there, too.")
@verbose.option
def verify(
    file: Path,
    mode: str,
    faults: int | None,
    length: str | None,
    rows: int,
    at: str,
    seed: int,
    recorded: tuple[str, ...],
    storage: str | None,
    publish: bool,
    url: str | None,
    token: str | None,
    savepoint: bool,
    rescale: bool,
) -> None:
    """Prove on the job in FILE that each message counts once.

    The job runs in a separate folder, on recorded or made-up rows; no other system is touched. It is killed at one
    place after the other and restarted each time. Then the contents of its sinks are compared with a run without
    faults, and with the same job as batch SQL.
    """
    from millstream.runtime.real_time import refuse_slow_sources
    from millstream.verify.determinism import refuse_moving
    from millstream.verify.inputs import Input
    from millstream.verify.process import LOG
    from millstream.verify.sandbox import refuse_queues
    from millstream.verify.trial import Trial
    from millstream.verify.worker import load

    if savepoint and rescale:
        raise click.UsageError("--savepoint and --rescale are two trials: run one after the other.")
    moved = "savepoint" if savepoint else "rescale" if rescale else None
    until = time.monotonic() + milliseconds(length) / 1000 if length else None
    job = load(file)
    plan = job.plan()
    if mode == "real-time":
        refuse_slow_sources(plan)
    refuse_moving(job._sinks)
    if moved:
        refuse_queues(plan)
    given = Input(rows, seed, dict(map(named, recorded)))
    folder = Path(tempfile.mkdtemp(prefix="millstream-verify-"))
    try:
        with Trial(job, file.resolve(), folder, given, at, mode, reached(storage), moved) as trial:
            certificate = certify(trial, faults, until)
    except BaseException:
        if (folder / LOG).exists():
            click.echo(f"what it left is in {folder}", err=True)
        else:
            shutil.rmtree(folder)
        raise
    click.echo(certificate.text())
    if publish:
        from millstream.manager.client import Client

        Client(url, token).put(f"/api/v1/jobs/{job.name}/certificate", certificate.told())
    shutil.rmtree(folder, ignore_errors=True)
    sys.exit(0 if certificate.good else 1)


def reached(storage: str | None) -> str | None:
    """The storage by its full address; this process can reach it, to read what was written there."""
    if storage is None:
        return None
    from millstream.spark.reach import reach
    from millstream.storage import files_at

    files = files_at(storage)
    if files.local:
        raise click.UsageError(f"--storage {storage} is a folder of this machine, where verify works anyway.")
    reach(storage)
    return files.resolved(storage)


def named(text: str) -> tuple[str, str]:
    name, sign, place = text.partition("=")
    if not sign:
        raise click.UsageError(f"--input {text} names no source: --input SOURCE={text}")
    return name, place


def certify(trial: Trial, faults: int | None, until: float | None) -> Certificate:
    """Runs the trial; a bar on stderr says how far it is."""
    from millstream.verify.report import Certificate

    click.echo(f"job {trial.job.name} {MODES[trial.mode]}{MOVED[trial.moved]}, seed {trial.given.seed}")
    for name, (count, source) in trial.inputs.items():
        click.echo(f"  source {name}: {count} records, {source}")
    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("running without faults", total=None)
        trial.straight()
        progress.update(bar, description="running as batch SQL")
        certificate = Certificate(trial, Path.cwd(), trial.batch())
        places = len(trial.choice.places)
        progress.update(bar, total=faults or places, completed=0, description="killing")

        def over() -> bool:
            enough = not certificate.missed or certificate.faults > MOST * places
            done = certificate.faults >= faults if faults else enough
            return done or (until is not None and time.monotonic() > until)

        for outcome in trial.faults():
            if outcome is not None:
                certificate.take(outcome)
                progress.update(bar, completed=certificate.faults if faults else places - certificate.missed)
                progress.update(bar, description=f"killed at {outcome.chain[-1]}")
            if over():
                break
    return certificate
