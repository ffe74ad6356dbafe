"""What happens to sources and sinks when a job continues from a savepoint."""

from __future__ import annotations

from millstream.errors import MillstreamError
from millstream.plan.connectors import WriteMode
from millstream.planner.stages import JobPlan
from millstream.runtime.savepoints.manifest import Manifest, SavedOutput
from millstream.runtime.savepoints.matching import Change, Choices, Fate

STAYS: dict[WriteMode, str] = {
    "append": "rows that it holds stay as they are",
    "upsert": "a row that it holds stays as it is until its key changes",
    "changelog": "rows that it holds stay as they are, and are taken back in their new shape",
}
"""What happens to the rows that a sink already holds."""


def compared_sources(saved: Manifest, plan: JobPlan, choices: Choices) -> list[Change]:
    """Sources continue from where they were, by name; sinks go on with what comes from now on."""
    now = [source.name for source in plan.sources]
    unknown = choices.new_sources - set(now)
    if unknown:
        raise MillstreamError(
            "MS-SAVEPOINT-007",
            f'new_sources= names "{min(unknown)}", and the job has no source of that name.',
            found=f"sources: {', '.join(now)}",
        )
    changes = []
    for name in now:
        if name in choices.new_sources:
            changes.append(Change("source", name, Fate.NEW, why="it is read from where its options say"))
        elif name in saved.sources:
            changes.append(Change("source", name, Fate.KEPT, why="it goes on from where it was"))
        else:
            why = "the savepoint does not say from where it is to be read; new_sources= reads it as a new job would"
            changes.append(Change("source", name, Fate.INCOMPATIBLE, why=why))
    for name in saved.sources:
        if name not in now:
            changes.append(Change("source", name, Fate.GONE, why="it is no longer read"))
    return [*changes, *compared_sinks(saved, plan)]


def compared_sinks(saved: Manifest, plan: JobPlan) -> list[Change]:
    """A savepoint that was taken without the job does not know its sinks."""
    if saved.sinks is None:
        return []
    now = outputs_of(plan)
    found = [compared_sink(name, output, saved) for name, output in now.items()]
    gone = [Change("sink", name, Fate.GONE, why="what it holds stays there") for name in saved.sinks if name not in now]
    return [*found, *gone]


def outputs_of(plan: JobPlan) -> dict[str, SavedOutput]:
    """What each sink receives."""
    return {sink.name: SavedOutput(sink.mode, tuple(column.name for column in sink.columns)) for sink in plan.sinks}


def compared_sink(name: str, now: SavedOutput, saved: Manifest) -> Change:
    if name not in (saved.sinks or ()):
        return Change("sink", name, Fate.NEW, why="it gets what comes from now on, and nothing of before")
    before = saved.outputs.get(name, now)
    if before == now:
        return Change("sink", name, Fate.KEPT)
    return Change("sink", name, Fate.CONVERTED, why=f"{difference(before, now)}; {STAYS[now.mode]}")


def difference(before: SavedOutput, now: SavedOutput) -> str:
    if before.columns == now.columns:
        return f"it was written as {before.mode}, and is as {now.mode}"
    return f"it had the columns {', '.join(before.columns)}, and gets {', '.join(now.columns)}"
