"""Refuses local folders for a job that runs on other machines: each would write to its own disk."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from millstream.errors import Location, MillstreamError
from millstream.plan.cluster import Cluster, is_local
from millstream.plan.connectors import CarriedSink, LiesAt
from millstream.planner.stages import JobPlan
from millstream.storage.files import absolute, files_at, scheme


def refuse_local_disks(job: str, plan: JobPlan, checkpoint: str, on: Cluster, master: str | None) -> None:
    """Unless the user says that all machines have the same disk under these paths."""
    if on.shared_disk or is_local(master):
        return
    for what, path, at in ((f'the checkpoint of job "{job}"', checkpoint, None), *folders(plan)):
        if scheme(path) == "file":
            raise MillstreamError(
                "MS-CLUSTER-004",
                f"{what} is a folder of this machine, and {master} runs on others, with disks of their own.",
                at=at,
                found=path,
                hint="keep it on a storage that all machines reach; if they all mount this folder at the same path, "
                "say so: ms.Job(…, shared_disk=True), ms.cluster(…, shared_disk=True) or --shared-disk",
            )


@contextmanager
def batch_folder(plan: JobPlan, checkpoint: str, master: str | None) -> Iterator[str]:
    """For what a batch keeps until it has ended: on a cluster where executors find it, too."""
    if is_local(master):
        beside = None
    elif scheme(checkpoint) == "file":
        beside = Path(absolute(checkpoint)).parent
        beside.mkdir(parents=True, exist_ok=True)
    else:
        files = files_at(checkpoint)
        folder = f"{files.resolved(checkpoint)}-batch-{secrets.token_hex(4)}"
        try:
            yield folder
        finally:
            files.delete_all(folder)
        return
    with TemporaryDirectory(prefix="millstream-", dir=beside) as folder:
        yield folder


def folders(plan: JobPlan) -> list[tuple[str, str, Location | None]]:
    """What the job's executors read and write by path."""
    sources = ((f'source "{node.name}"', node.options, node.at) for node in (*plan.sources, *plan.statics))
    sinks = ((f'sink "{node.name}"', node.options, node.at) for node in plan.sinks)
    return [
        (what, options.path, at)
        for what, options, at in (*sources, *sinks)
        if isinstance(options, LiesAt) and not isinstance(options, CarriedSink)
    ]
