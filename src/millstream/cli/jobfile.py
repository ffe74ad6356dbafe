"""A file with a job in it: executed, with errors that show the user's own lines."""

from __future__ import annotations

import sys
import sysconfig
import traceback
import types
from pathlib import Path

from millstream.api.command import Command, NotToRun, commanded
from millstream.api.job import Job
from millstream.errors import MillstreamError
from millstream.plan.errors import PACKAGE
from millstream.storage import CheckpointFolder

LIBRARIES = (PACKAGE, *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")), "<frozen")


def execute(file: Path, command: Command) -> None:
    """Executes the file as if it were imported: what is under `if __name__ == "__main__"` is left out."""
    try:
        source = file.read_bytes()
    except FileNotFoundError:
        raise MillstreamError("MS-CLI-002", f"there is no file {file}.", found=f"searched in {Path.cwd()}") from None
    except IsADirectoryError:
        raise MillstreamError("MS-CLI-002", f"{file} is a folder.", hint="name the file that has the job") from None
    module = types.ModuleType(f"job_{file.stem}")
    module.__file__ = str(file)
    sys.modules[module.__name__] = module
    sys.path.insert(0, str(file.resolve().parent))
    with commanded(command):
        try:
            exec(compile(source, str(file), "exec"), module.__dict__)
        except NotToRun:
            pass
        except MillstreamError:
            raise
        except Exception as error:
            raise failed(file, error) from error


def failed(file: Path, error: Exception) -> MillstreamError:
    """A Python error in the file: the traceback without the lines of libraries."""
    told = traceback.TracebackException.from_exception(error)
    told.stack = traceback.StackSummary.from_list(
        [frame for frame in told.stack if not frame.filename.startswith(LIBRARIES)]
    )
    told.__cause__ = told.__context__ = None
    lines = [line for part in told.format(chain=False) for line in part.rstrip().split("\n")]
    if lines and lines[0].startswith("Traceback"):
        del lines[0]
    shown = "\n".join(f"  {line.rstrip()}" for line in lines)
    return MillstreamError("MS-CLI-003", f"{file} stopped with a Python error.\n{shown}")


def the_job(file: Path, command: Command) -> Job:
    """The one job that the file declares."""
    if not command.jobs:
        raise MillstreamError("MS-CLI-004", f"{file} makes no job.", hint='it needs a job = ms.Job("name")')
    if len(command.jobs) > 1:
        names = ", ".join(job.name for job in command.jobs)
        raise MillstreamError(
            "MS-CLI-005",
            f"{file} makes {len(command.jobs)} jobs and runs none of them.",
            found=f"jobs: {names}",
            hint="call run() on the one that is meant, or put each into a file of its own",
        )
    return command.jobs[0]


def job_of(file: Path, checkpoint: str | None = None, parallelism: int | None = None) -> Job:
    """The job in a file, without running it: the one that it would run, or the only one that it declares."""
    command = Command(checkpoint=checkpoint, parallelism=parallelism, explain=True)
    execute(file, command)
    return command.reached or the_job(file, command)


def folder_of(job: str) -> CheckpointFolder:
    """The checkpoint of a job that is named by its file, by its checkpoint's folder, or by its name."""
    if job.endswith(".py"):
        return CheckpointFolder.at(job_of(Path(job)).checkpoint)
    named = f".millstream/{job}"
    return CheckpointFolder.at(named if "/" not in job and not Path(job).exists() else job)
