"""`millstream verify`: kills a job at every place, and shows that nothing is lost and nothing is there twice."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import click
from rich.progress import Progress

from millstream.api.job import Job
from millstream.cli import verbose
from millstream.errors import MillstreamError
from millstream.plan.modes import milliseconds
from millstream.testing.faults import Fault


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--faults", default=26, show_default=True, type=click.IntRange(min=1), help="How often it is killed.")
@click.option("--for", "length", metavar="TIME", help="End after so long, whatever number of faults it was: 10m.")
@click.option("--rows", default=400, show_default=True, type=click.IntRange(min=10), help="Rows of each source.")
@click.option("--seed", default=1, show_default=True, help="The same one gives the same input and the same faults.")
@verbose.option
def verify(file: Path, faults: int, length: str | None, rows: int, seed: int) -> None:
    """Prove on the job in FILE that each message counts once.

    The job runs in a folder of its own, on records of its topics or on rows made from its schemas; no other system is
    touched. It is killed at one place after the other, started again each time, and its sinks are compared with a run
    without faults, and with the same job as batch SQL.
    """
    from millstream.verify.child import load
    from millstream.verify.inputs import fill
    from millstream.verify.trial import Trial

    job = load(file)
    refuse_moving(job)
    folder = Path(tempfile.mkdtemp(prefix="millstream-verify-"))
    click.echo(f"{job.name}: seed {seed}, in {folder}")
    for source in job.plan().sources:
        click.echo(f"  source {source.name}: {fill(source, folder, rows, seed)}")
    counted = {source.name: rows for source in job.plan().sources}
    until = time.monotonic() + milliseconds(length) / 1000 if length else None
    certify(Trial(job, file.resolve(), folder, counted, seed), faults, until)


def certify(trial: object, faults: int, until: float | None) -> None:
    """Runs the trial and prints what came out; the last line says it all."""
    from millstream.verify.report import Certificate
    from millstream.verify.trial import Trial, differences

    assert isinstance(trial, Trial)
    expected = trial.expected()
    certificate = Certificate(trial)
    with Progress(transient=True) as progress:
        task = progress.add_task("killing", total=faults)

        def met(fault: Fault) -> None:
            certificate.faults += 1
            progress.update(task, advance=1, description=f"killed at {fault.point}")

        for planned in trial.rounds():
            chosen = planned[: faults - certificate.faults]
            place = trial.killed(f"round-{certificate.rounds}", chosen, met)
            certificate.take(chosen, differences(expected, trial.held(place)))
            trial.clean(place)
            if certificate.faults >= faults or (until is not None and time.monotonic() > until):
                break
    click.echo(certificate.text())
    sys.exit(0 if certificate.good else 1)


def refuse_moving(job: Job) -> None:
    from millstream.verify.determinism import moving_steps

    found = list(moving_steps(job._sinks))
    if found:
        node, function = found[0]
        raise MillstreamError(
            "MS-VERIFY-003",
            f'step "{node.name}" uses {function}, whose result is another one each time: runs cannot be compared.',
            at=node.at,
            found=f"{len(found)} such steps" if len(found) > 1 else None,
            hint="take the time from a column of the rows, and random numbers from a hash of them",
        )
