"""Compares a savepoint, or a checkpoint, with a job that is to continue from it."""

from __future__ import annotations

import logging

from millstream.plan.cluster import Cluster
from millstream.planner.stages import JobPlan
from millstream.runtime.described import read_checkpoint
from millstream.runtime.savepoints.manifest import Manifest, SavedSource, SavedTime, is_savepoint, read_savepoint
from millstream.runtime.savepoints.matching import Change, Choices
from millstream.runtime.savepoints.of_job import session_for
from millstream.runtime.savepoints.restoring import Wanted, changes_of
from millstream.spark.lower.job import lower_streaming
from millstream.storage import CheckpointFolder

LOG = logging.getLogger("millstream")


def changes_in(saved: str, job: str, plan: JobPlan, choices: Choices) -> list[Change]:
    """Asks Spark for types, and starts no query."""
    spark = session_for(plan, (saved,), 1, Cluster(), None)
    manifest = manifest_of(saved)
    if manifest.job != job:
        LOG.warning('%s is of job "%s", not of "%s"', saved, manifest.job, job)
    shapes = lower_streaming(plan, spark).shapes
    return changes_of(manifest, Wanted(job, plan, saved, manifest.parallelism), shapes, choices)


def manifest_of(saved: str) -> Manifest:
    """A checkpoint as if a savepoint were taken of it."""
    if is_savepoint(saved) or not is_checkpoint(saved):
        return read_savepoint(saved).manifest
    about = read_checkpoint(saved)
    sources = {name: SavedSource("", {}) for name in about.sources}
    time = SavedTime(0, 0, {})
    of = (about.job, about.folder.root, about.identity, -1, about.parallelism, "")
    return Manifest(*of, time, sources, {}, None, about.stages, ())


def is_checkpoint(saved: str) -> bool:
    folder = CheckpointFolder.at(saved)
    return folder.files.read(folder.about) is not None
