"""The process of one run, or of one task of an operation: `python -m millstream.manager.driver FOLDER`.

It claims the run before anything else, so that a run has one process whoever starts it; then it runs the job's file as
`millstream run` does, and reports into the folder. It needs no manager while it runs. In deploy mode `cluster` it is
started there, by `cli/driver.py`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millstream.manager.hand_over import CLUSTER
from millstream.manager.process import mine
from millstream.manager.surroundings import read_env
from millstream.plan.cluster import SHOWS_ROWS
from millstream.reports.folder import RunFolder, replace

if TYPE_CHECKING:
    from millstream.api.job import Job
    from millstream.planner.stages import JobPlan
    from millstream.reports.reporter import Reporter
    from millstream.runtime.run import Run

TAKEN = 75
"""The exit code of a driver whose run belongs to another one."""


class Driver:
    def __init__(self, folder: RunFolder, reporter: Reporter) -> None:
        self._folder = folder
        self._reporter = reporter
        self._run: Run | None = None

    def planned(self, job: Job, plan: JobPlan) -> None:
        from millstream.reports.graph import graph

        replace(self._folder.plan, {"job": job.name, "checkpoint": job.checkpoint, **graph(plan)})

    def started(self, run: Run) -> None:
        self._run = run
        self._reporter.follow(run)
        run.watch(self._reporter)

    def run(self, told: dict[str, Any]) -> dict[str, Any]:
        """The job, to its end; how it ended."""
        from millstream.errors import MillstreamError
        from millstream.manager.inspection import as_sent
        from millstream.reports.figures import failure

        try:
            self._execute(told)
        except MillstreamError as error:
            print(error.text(), file=sys.stderr, flush=True)
            if (gone := lost()) is not None:
                return gone
            files = Path(told["file"]).parent
            # A run that was there has been started again by the job's policy, as often as that allows.
            text = json.dumps(failure(error, self._run is None and error.code in EARLY))
            return {"state": "failed", "error": json.loads(as_sent(text, files, None))}
        except Exception:
            if (gone := lost()) is not None:
                return gone
            raise
        except KeyboardInterrupt:  # told to stop while Spark was starting
            return {"state": "stopped"}
        state = self._run.state.value if self._run else "finished"
        return {"state": state}

    def _execute(self, told: dict[str, Any]) -> None:
        from millstream.api.command import Command, commanded
        from millstream.cli.jobfile import execute, the_job
        from millstream.cli.run import chosen, follow
        from millstream.manager.policy import policy
        from millstream.plan.cluster import cluster

        # On a cluster, whoever handed the job over has set them.
        conf = {} if told["deploy_mode"] == CLUSTER else told["conf"]
        on = cluster(told["master"], conf=conf, shared_disk=told["shared_disk"])
        command = Command(
            chosen(told["mode"], told["every"]),
            told["checkpoint"],
            policy(told["restarts"]),
            progress=True,
            on=on,
            parallelism=told["parallelism"],
            when_planned=self.planned,
            when_started=self.started,
        )
        file = Path(told["file"])
        execute(file, command)
        if not command.started:
            with commanded(command):
                follow(the_job(file, command), command.mode)


EARLY = frozenset({"MS-CLUSTER-008", "MS-RUN-003", "MS-RUN-004", "MS-RUN-005", "MS-STORAGE-001", "MS-CHECKPOINT-005"})
"""Of failures before a run is there, those that another start may mend: a cluster or a storage that did not answer, a
full disk, a run before this one that has yet to let go of its checkpoint."""


def lost() -> dict[str, Any] | None:
    """Killed for lack of memory, as a rule: starts of the run in this process would all fail."""
    if "pyspark" not in sys.modules:
        return None
    from millstream.errors import MillstreamError
    from millstream.reports.figures import failure
    from millstream.spark import jvm

    if not jvm.gone():
        return None
    error = MillstreamError("MS-RUN-004", "Spark's Java process has ended.", hint="was it killed for lack of memory?")
    print(error.text(), file=sys.stderr, flush=True)
    return {"state": "failed", "error": failure(error, True)}


def on_a_cluster() -> dict[str, Any]:
    """Its machines may give a process another number than the manager would see, were it the same machine."""
    own = mine()
    return {**own, "host": f"{own['host']}, of the cluster"}


def settle_in(folder: RunFolder, files: Path) -> None:
    """What a manager gives to a driver that it starts itself: its log, what came with the job, and its packages."""
    with folder.log.open("ab") as log:
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)
    os.environ.update(read_env(files / "env"))
    sys.path.insert(0, str(files / "packages"))


def main(path: str) -> int:
    folder = RunFolder(Path(path))
    told = json.loads((folder.path / "run.json").read_text())
    there = told.get("deploy_mode") == CLUSTER and "task" not in told
    if not folder.claim(on_a_cluster() if there else mine()):
        return TAKEN
    if there:
        settle_in(folder, Path(told["file"]).parent)
    from millstream.reports.reporter import Reporter

    reporter = Reporter(folder, told["conf"].get(SHOWS_ROWS) == "true", lost)
    reporter.start()
    if "task" in told:
        from millstream.manager.tasks import performed

        ended = performed(folder, told)
    else:
        ended = Driver(folder, reporter).run(told)
    reporter.end(ended)
    return 1 if ended["state"] == "failed" else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
