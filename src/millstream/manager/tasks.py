"""What the tasks of operations do: each in a process of its own, and each may be repeated after a crash.

C1 is the checkpoint that the job leaves, C2 the one that it goes on in, C3 the one in which it goes on as it was if the
new version fails:

savepoint  C1 ─▶ savepoint                 restore  savepoint ─▶ C2, and whoever comes to C1 is led to C2
fence      nobody writes in C2 any more    back     savepoint ─▶ C3, and whoever comes to C1 is led to C3
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millstream.errors import MillstreamError
from millstream.reports.folder import RunFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.api.job import Job
    from millstream.plan.cluster import Cluster
    from millstream.runtime.savepoints.manifest import Savepoint
    from millstream.runtime.savepoints.matching import Choices

Result = dict[str, Any]


def performed(folder: RunFolder, told: dict[str, Any]) -> dict[str, Any]:
    """How the task ended, and what came of it."""
    from millstream.manager.inspection import as_sent
    from millstream.reports.figures import failure

    work = {"savepoint": savepoint, "restore": restore, "diff": diff, "fence": fence, "back": back}[told["task"]]
    try:
        return {"state": "succeeded", "result": work(Task(folder, told))}
    except MillstreamError as error:
        print(error.text(), file=sys.stderr, flush=True)
        text = json.dumps(failure(error, False))
        return {"state": "failed", "error": json.loads(as_sent(text, Path(told["file"]).parent, None))}


@dataclass(frozen=True)
class Task:
    folder: RunFolder
    told: dict[str, Any]

    def job(self) -> Job:
        from millstream.cli.jobfile import job_of

        return job_of(Path(self.told["file"]), self.told["checkpoint"], self.told["parallelism"])

    @property
    def asked(self) -> dict[str, Any]:
        found: dict[str, Any] = self.told["asked"]
        return found

    @property
    def saved_at(self) -> str:
        return str(self.asked["savepoint"])

    def choices(self, job: Job) -> Choices:
        from millstream.runtime.savepoints.matching import Choices

        asked = self.asked
        was = {**job._was, **asked["was"]}
        return Choices(was, frozenset(asked["drop"]), frozenset(asked["start_empty"]), fork=asked["fork"])

    def place(self, beside: bool = False) -> Cluster:
        """Where Spark works. `beside`: the job runs, and has the cluster's slots."""
        from millstream.plan.cluster import cluster

        master = self.told["master"]
        away = master is not None and not master.startswith("local")
        here = None if beside and away else master
        return cluster(here, conf=self.told["conf"], shared_disk=self.told["shared_disk"])

    def session(self, job: Job, *places: str, beside: bool = False) -> SparkSession:
        from millstream.runtime.savepoints.of_job import session_for

        return session_for(job.plan(), places, job.parallelism, self.place(beside), None)

    def begun_before(self) -> bool:
        """Whether an earlier try of this task has begun to write."""
        return any(self.folder.path.parent.glob("*/writes"))

    def begins_to_write(self) -> None:
        (self.folder.path / "writes").touch()


def savepoint(task: Task) -> Result:
    """Of the last committed epoch, whether the job runs or not."""
    from millstream.runtime.requests import followed
    from millstream.runtime.savepoints.ports import outputs_of
    from millstream.runtime.savepoints.taking import refuse_taken, take
    from millstream.storage import files_at

    begun = time.monotonic()
    job = task.job()
    at = followed(job.checkpoint)
    path = task.asked["savepoint"] or beside(job.checkpoint, task.told)
    spark = task.session(job, at, path, beside=True)
    files = files_at(path)
    done = whole(path) if task.begun_before() else None
    if done is None:
        if task.begun_before():
            files.delete_all(files.resolved(path))
        refuse_taken(files, files.resolved(path), path)
        task.begins_to_write()
        done = take(spark, at, path, outputs_of(job.plan()))
    manifest = done.manifest
    return {
        "path": done.path,
        "epoch": manifest.epoch,
        "parallelism": manifest.parallelism,
        "rows": manifest.rows,
        "bytes": size(done),
        "duration_ms": round((time.monotonic() - begun) * 1000),
    }


def beside(checkpoint: str, told: dict[str, Any]) -> str:
    """The same for every try."""
    begun = datetime.fromtimestamp(told["begun_at"] / 1000, UTC)
    return f"{checkpoint.rstrip('/')}.savepoints/{begun:%Y%m%dT%H%M%S}-{told['operation']}"


def whole(path: str) -> Savepoint | None:
    from millstream.runtime.savepoints.manifest import read_savepoint

    try:
        return read_savepoint(path)
    except MillstreamError:
        return None


def size(saved: Savepoint) -> int:
    from millstream.storage import files_at

    files, found = files_at(saved.path), 0
    for one in saved.manifest.lists:
        for part in one.files:
            file = files.open(f"{saved.state}/{one.folder}/{part.name}")
            found += file.size()
            file.close()
    return found


def restore(task: Task) -> Result:
    """Into a new checkpoint; runs that open the job's old one are led there."""
    from millstream.cli.changes import listed
    from millstream.runtime.requests import followed
    from millstream.runtime.savepoints import rescaling
    from millstream.runtime.savepoints.manifest import read_savepoint
    from millstream.runtime.savepoints.restoring import Wanted
    from millstream.runtime.savepoints.restoring import restore as put
    from millstream.storage import files_at

    job = task.job()
    at = followed(job.checkpoint)
    spark = task.session(job, at, task.saved_at)
    to = target(job.checkpoint, at, task)
    done = restored_already(to)
    if done is not None:
        return done
    saved, choices = read_savepoint(task.saved_at), task.choices(job)
    if not choices.fork:
        refuse_elsewhere(saved, at, to)
    rescales = task.told["kind"] == "rescale"

    def check() -> None:
        """State that is only divided again is what it was."""
        if rescales:
            rescaling.check(spark, saved, to)

    wanted = Wanted(job.name, job.plan(), to, job.parallelism)
    found = put(wanted, task.saved_at, choices, spark, follow=True, check=check)
    if rescales:
        files_at(task.saved_at).delete_all(saved.path)
    return {"checkpoint": found.checkpoint, "epoch": found.epoch, "changes": listed(found.changes)}


def target(checkpoint: str, at: str, task: Task) -> str:
    """The job's own checkpoint, if nothing is there yet; otherwise one beside it, which every try finds again."""
    from millstream.storage import CheckpointFolder

    folder = CheckpointFolder.at(at)
    if task.asked["fork"] or not folder.files.names(folder.root):
        return at
    return f"{CheckpointFolder.at(checkpoint).root}-{digest(task.saved_at)}"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def restored_already(to: str) -> Result | None:
    """What an earlier try has brought to its end."""
    from millstream.storage import CheckpointFolder

    folder = CheckpointFolder.at(to)
    if any(folder.files.read(path) is not None for path in (folder.restoring, folder.retired)):
        return None
    if folder.files.read(folder.about) is None or not (committed := folder.committed()):
        return None
    return {"checkpoint": folder.root, "epoch": committed[-1], "changes": []}


def refuse_elsewhere(saved: Savepoint, at: str, to: str) -> None:
    """The state of another checkpoint cannot take the place of this one's: what came since then would be lost."""
    from millstream.storage import CheckpointFolder

    now, new = CheckpointFolder.at(at), CheckpointFolder.at(to)
    if saved.manifest.checkpoint != now.root and now.root != new.root:
        raise MillstreamError(
            "MS-MANAGER-016",
            f"the savepoint {saved.path} is not of the checkpoint from which the job goes on.",
            found=f"it is of {saved.manifest.checkpoint}; the job goes on from {now.root}",
            hint="submit the job with a new checkpoint, and --savepoint",
        )


def diff(task: Task) -> Result:
    """What would become of the state that the job has now."""
    from millstream.cli.changes import listed
    from millstream.runtime.requests import followed
    from millstream.runtime.savepoints.comparing import changes_in

    job = task.job()
    at = followed(task.told["checkpoint_before"] or job.checkpoint)
    changes = listed(changes_in(at, job.name, job.plan(), task.choices(job)))
    return {"compatible": all(one["state"] != "incompatible" for one in changes), "changes": changes}


def fence(task: Task) -> Result:
    """The new version can commit nothing more. It is run by the new version's file, which knows its sinks."""
    from millstream.runtime.described import read_checkpoint
    from millstream.runtime.savepoints.fencing import Retirement
    from millstream.runtime.savepoints.manifest import Savepoint, read_savepoint
    from millstream.spark.lower.job import lower_streaming
    from millstream.spark.state.writing import EMPTY
    from millstream.storage import CheckpointFolder

    job = task.job()
    spark = task.session(job, job.checkpoint, task.saved_at)
    saved = read_savepoint(task.saved_at)
    gone_on = led_to(saved)
    if gone_on is None or CheckpointFolder(gone_on).files.read(CheckpointFolder(gone_on).restoring) is not None:
        return {"fenced": None}
    new = read_checkpoint(gone_on)
    # The epoch that the restore itself committed: Spark's first one is behind an empty one.
    epoch = max(saved.manifest.epoch, EMPTY + 1)
    manifest = replace(saved.manifest, checkpoint=gone_on, identity=new.identity, epoch=epoch)
    retirement = Retirement(Savepoint(saved.path, manifest), "", follow=False)
    retirement.retire(job.plan(), lower_streaming(job.plan(), spark), spark)
    return {"fenced": gone_on}


def led_to(saved: Savepoint) -> str | None:
    """The checkpoint in whose favour the one that was saved is retired."""
    from millstream.storage import CheckpointFolder

    folder = CheckpointFolder(saved.manifest.checkpoint)
    text = folder.files.read(folder.retired)
    return None if text is None else str(json.loads(text)["by"])


def back(task: Task) -> Result:
    """The job as it was, from the same savepoint, in a checkpoint of its own."""
    from millstream.runtime.savepoints.manifest import read_savepoint
    from millstream.runtime.savepoints.matching import Choices
    from millstream.runtime.savepoints.restoring import Wanted
    from millstream.runtime.savepoints.restoring import restore as put
    from millstream.storage import CheckpointFolder

    job = task.job()
    spark = task.session(job, job.checkpoint, task.saved_at)
    saved = read_savepoint(task.saved_at)
    old = CheckpointFolder(saved.manifest.checkpoint)
    if led_to(saved) is None:  # it was never left
        return {"checkpoint": old.root, "epoch": saved.manifest.epoch}
    to = f"{CheckpointFolder.at(job.checkpoint).root}-{digest(task.saved_at + '/back')}"
    if restored_already(to) is None:
        put(Wanted(job.name, job.plan(), to, job.parallelism), task.saved_at, Choices(fork=True), spark)
    old.files.replace(old.retired, json.dumps({"format": 1, "by": to, "follow": True}))
    return {"checkpoint": to, "epoch": saved.manifest.epoch}
