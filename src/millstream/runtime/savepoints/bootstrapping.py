"""A job that starts with state from elsewhere: the state becomes a savepoint, which is restored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from millstream.errors import MillstreamError, did_you_mean
from millstream.plan.closing import closes
from millstream.plan.node import Stateful
from millstream.plan.operators import Aggregate
from millstream.plan.python import Process
from millstream.planner.stages import JobPlan
from millstream.runtime.savepoints.manifest import MANIFEST, Manifest, SavedTime, state_of
from millstream.runtime.savepoints.matching import Choices
from millstream.runtime.savepoints.restoring import Restored, Wanted, restore
from millstream.spark.lower.aggregate import closing_key
from millstream.spark.lower.job import lower_streaming
from millstream.spark.lower.state import Placed, StageShape
from millstream.spark.state.given import Bootstrapped, lists_of
from millstream.spark.state.given_lists import write_list
from millstream.spark.state.lists import key_columns
from millstream.spark.state.reading import SavedList
from millstream.storage import CheckpointFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def bootstrapped(
    wanted: Wanted, states: Mapping[str, Any], start_empty: frozenset[str], spark: SparkSession
) -> Restored:
    """`states`: by operator, a frame or files, or one for each of its lists."""
    folder = CheckpointFolder.at(wanted.checkpoint)
    stages = lower_streaming(wanted.plan, spark).shapes
    steps = {name: step(name, wanted.plan, stages) for name in states}
    place = f"{folder.root}-bootstrap.savepoint"
    folder.files.delete_all(place)
    try:
        lists = [
            write_list(rows, one, name, state_of(place), spark)
            for one in steps.values()
            for name, rows in lists_of(one, states[one.name], spark).items()
        ]
        manifest = described(wanted, only(stages, steps), tuple(lists))
        folder.files.create(f"{place}/{MANIFEST}", manifest.json())
        names = frozenset(source.name for source in wanted.plan.sources)
        choices = Choices(start_empty=start_empty, new_sources=names, fork=True)
        return restore(wanted, place, choices, spark)
    finally:
        folder.files.delete_all(place)


def step(name: str, plan: JobPlan, stages: tuple[StageShape, ...]) -> Bootstrapped:
    """An operator of the job, by its name."""
    known = {found: (stage, placed) for stage in stages for found, placed in stage.operators.items()}
    if name not in known:
        raise MillstreamError(
            "MS-BOOTSTRAP-001",
            f'the job has no step "{name}" with state.',
            found=f"steps with state: {', '.join(known) or 'none'}",
            hint=did_you_mean(name, list(known)),
        )
    stage, placed = known[name]
    nodes = (op for one in plan.stages for op in one.operators if isinstance(op, Stateful))
    node = next(op for op in nodes if op.name == name)
    variables = node.run.states if isinstance(node, Process) else None
    plain = variables is not None or type(node) is Aggregate
    return Bootstrapped(name, node.at, placed, stage.timers, stage.timers and not plain, ends(node, placed), variables)


def ends(node: Stateful, placed: Placed) -> tuple[str, int] | None:
    """For groups that end, the key column that says when, and how long they are kept after that."""
    if type(node) is not Aggregate:
        return None
    found = closes(node) if node.closing is None else (closing_key(node, node.closing), node.closing.allowed_ms)
    return None if found is None else (key_columns(placed)[found[0]].name, found[1])


def only(stages: tuple[StageShape, ...], steps: Mapping[str, Bootstrapped]) -> tuple[StageShape, ...]:
    """The stages with the operators whose state is given: the others are new, as in any restore."""
    return tuple(
        replace(stage, operators={name: one for name, one in stage.operators.items() if name in steps})
        for stage in stages
    )


def described(wanted: Wanted, stages: tuple[StageShape, ...], lists: tuple[SavedList, ...]) -> Manifest:
    return Manifest(
        job=wanted.job,
        checkpoint="",
        identity="",
        epoch=0,
        parallelism=wanted.parallelism,
        taken=datetime.now(UTC).isoformat(timespec="seconds"),
        time=SavedTime(0, 0, {}),
        sources={},
        identities={},
        sinks=None,
        stages=stages,
        lists=lists,
    )
