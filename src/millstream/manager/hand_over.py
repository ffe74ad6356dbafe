"""Hands a run to a cluster, whose machines run its driver, too: `python -m millstream.manager.hand_over FOLDER`.

manager ─▶ this process ─ spark-submit ─▶ cluster ─▶ driver ── claim, reports ──▶ the run's folder, on a shared disk
                └──── what the cluster says of the driver ────────────────────────────▲

It follows the driver to its end. The driver does not need it: if it dies, heartbeats are what is left.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millstream.errors import MillstreamError
from millstream.manager.process import mine
from millstream.reports.folder import RunFolder

if TYPE_CHECKING:
    from millstream.api.job import Job
    from millstream.plan.cluster import Cluster

CLUSTER = "cluster"
"""The deploy mode in which a driver runs on a machine of the cluster."""
REPORTS = "--reports"
"""Tells the driver's file that the run's folder follows."""
ONCE = {"spark.yarn.maxAppAttempts": "1"}
"""The manager starts a driver again that has died: YARN must not."""
EVERY = 1.0


class Word:
    """What the cluster says of the driver, in the run's folder. Until a driver has come, it is said every second."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._said: dict[str, Any] = {"name": None, "over": None}
        self._beats = 0
        self._writing = threading.Lock()

    def say(self, **more: str) -> None:
        with self._writing:
            self._said |= more
            self._beats += 1
            self._folder.say_of_cluster({"beats": self._beats, **self._said})

    @contextmanager
    def beating(self) -> Iterator[None]:
        over = threading.Event()

        def beat() -> None:
            while not over.wait(EVERY) and self._folder.claimed() is None:
                self.say()

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def main(path: str) -> int:
    folder = RunFolder(Path(path))
    told = json.loads((folder.path / "run.json").read_text())
    word = Word(folder)
    word.say()
    try:
        with word.beating():
            handed_over(folder, told, word)
    except MillstreamError as error:
        print(error.text(), file=sys.stderr, flush=True)
        came_to_nothing(folder, told, error)
        word.say(over=error.found or error.message)
        return 1
    word.say(over="it has ended")
    return 0


def handed_over(folder: RunFolder, told: dict[str, Any], word: Word) -> None:
    from millstream.cli.jobfile import job_of
    from millstream.plan.cluster import cluster
    from millstream.runtime.needs import jars_of
    from millstream.spark.submit import Listener, Submission, submit

    file = Path(told["file"])
    job = job_of(file, told["checkpoint"], told["parallelism"])
    on = cluster(told["master"], conf={**ONCE, **told["conf"]}, shared_disk=True)
    check(job, on)
    said = (REPORTS, str(folder.path))
    work = told["folder"] or str(Path.cwd())

    def named(name: str) -> None:
        print(f"{job.name}: handed over to {on.master}, as {name}", flush=True)
        word.say(name=name)

    def waits(reason: str) -> None:
        print(f"{job.name}: its driver does not start: {reason}", flush=True)

    what = Submission(job.name, file, on, jars_of(job.plan(), job.checkpoint), work, said)
    submit(what, Listener(named, waits))


def check(job: Job, on: Cluster) -> None:
    """What the cluster takes for granted is looked for before it hears of the job."""
    from millstream.runtime.shared_disk import refuse_local_disks
    from millstream.spark import ahead

    refuse_local_disks(job.name, job.plan(), job.checkpoint, on, on.master)
    ahead.check(on, driver_too=True)


def came_to_nothing(folder: RunFolder, told: dict[str, Any], error: MillstreamError) -> None:
    """If no driver has come, none will: the run is this process's, which says what went wrong."""
    from millstream.manager.driver import EARLY
    from millstream.manager.inspection import as_sent
    from millstream.reports.figures import failure

    if not folder.claim(mine()):
        return
    text = json.dumps(failure(error, error.code in EARLY or error.code == "MS-CLUSTER-015"))
    folder.end({"state": "failed", "error": json.loads(as_sent(text, Path(told["file"]).parent, None))})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
