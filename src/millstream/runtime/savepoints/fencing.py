"""Fences the checkpoint that a savepoint was taken from: no run may continue there once another takes its place.

What it has committed is published, what it has prepared is thrown away, and a run there can no longer commit.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.errors import MillstreamError
from millstream.planner.stages import JobPlan
from millstream.runtime import faults
from millstream.runtime.carry import Carriage, carried, load, make_outbox
from millstream.runtime.savepoints.manifest import Savepoint
from millstream.spark import jvm
from millstream.spark.lower.job import Lowered
from millstream.spark.sinks import sinks_json
from millstream.spark.target import Target
from millstream.storage import CheckpointFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Retirement:
    """The old checkpoint, and the one that takes its place. `follow`: runs that open the old one are led there."""

    savepoint: Savepoint
    by: str
    follow: bool = False

    @property
    def folder(self) -> CheckpointFolder:
        return CheckpointFolder(self.savepoint.manifest.checkpoint)

    def there(self) -> bool:
        """Whether it still is what it was when the savepoint was taken."""
        text = self.folder.files.read(self.folder.about)
        return text is not None and json.loads(text)["identity"] == self.savepoint.manifest.identity

    def refuse_ran_on(self) -> None:
        """An error if rows were published after the savepoint: they would come a second time."""
        manifest = self.savepoint.manifest
        retired = self.folder.files.read(self.folder.retired)
        if retired is not None and json.loads(retired)["by"] != self.by:
            raise ran_on(self.savepoint.path, f"it has gone on in the checkpoint {json.loads(retired)['by']}")
        committed = self.folder.committed()
        if committed and committed[-1] > manifest.epoch:
            raise ran_on(self.savepoint.path, f"it has committed epoch {committed[-1]}")

    def retire(self, plan: JobPlan, lowered: Lowered, spark: SparkSession) -> None:
        """Takes over, completes what was committed, and leaves a mark."""
        target = Target(
            self.savepoint.manifest.job, self.folder, self.savepoint.manifest.identity, secrets.token_hex(8)
        )
        make_outbox(plan.sinks, self.folder)
        listed = sinks_json(plan.sinks, target, lowered, spark)
        paths = json.dumps(self.folder.for_kernels())
        tenure = jvm.named("millstream.sink.Recovery").run(listed, paths, target.run, False)
        try:
            faults.at("retire.taken_over", self.savepoint.manifest.epoch, "")
            self.refuse_ran_on()
            loads = [
                load(one, self.folder, target.writer(one), lowered.carried[one.name]) for one in carried(plan.sinks)
            ]
            carriage = Carriage(loads, lambda: self.savepoint.manifest.epoch)
            carriage.carry()
            carriage.close()
            faults.at("retire.carried", self.savepoint.manifest.epoch, "")
            self.folder.files.replace(
                self.folder.retired, json.dumps({"format": 1, "by": self.by, "follow": self.follow})
            )
        finally:
            tenure.close()


def ran_on(savepoint: str, found: str) -> MillstreamError:
    return MillstreamError(
        "MS-SAVEPOINT-009",
        f"the job has gone on since the savepoint {savepoint}: what it has written after that would be written twice.",
        found=found,
        hint="stop a job with its savepoint: run.stop(savepoint=…). Or go on beside it, into other sinks: fork",
    )
