"""Which job a checkpoint belongs to, and what its state depends on."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from millstream.errors import Location, MillstreamError
from millstream.planner.stages import JobPlan, Pass
from millstream.spark.lower.state import StageShape
from millstream.storage import CheckpointFolder

FORMAT = 4
UNDO = (
    "undo the change, or restore a savepoint into the changed job: "
    "`millstream diff CHECKPOINT FILE` shows beforehand what becomes of the state"
)
BEFORE = {"received", "received.at", "restoring.json"}
"""What may be there before the first run: changes that are received before they are read, the mark of a restore."""


@dataclass(frozen=True)
class Fingerprint:
    """The parts of a job that its saved state depends on."""

    job: str
    parallelism: int
    sources: tuple[str, ...]
    stages: tuple[StageShape, ...]
    places: dict[str, Location | None]
    """Where the user declared each step."""

    @property
    def saved(self) -> list[dict[str, Any]]:
        """The stages as JSON has them."""
        found: list[dict[str, Any]] = json.loads(json.dumps([asdict(stage) for stage in self.stages]))
        return found


@dataclass(frozen=True)
class Checkpoint:
    folder: CheckpointFolder
    identity: str


def fingerprint(job: str, plan: JobPlan, stages: tuple[StageShape, ...], parallelism: int) -> Fingerprint:
    operators = (operator for stage in plan.stages for operator in stage.operators)
    places = {operator.name: operator.at for operator in operators if not isinstance(operator, Pass)}
    return Fingerprint(job, parallelism, tuple(source.name for source in plan.sources), stages, places)


def open_checkpoint(address: str, wanted: Fingerprint) -> Checkpoint:
    """The checkpoint of this job: a new one, or one that fits."""
    folder = CheckpointFolder.at(address)
    refuse_unfinished(folder, address)
    text = folder.files.read(folder.about) or create(folder, address, wanted)
    saved = json.loads(text)
    if saved["format"] != FORMAT:
        raise other_format(address, saved["format"])
    compare(address, saved, wanted)
    return Checkpoint(folder, saved["identity"])


def other_format(address: str, found: object) -> MillstreamError:
    return MillstreamError(
        "MS-CHECKPOINT-004",
        f"the checkpoint {address} has format {found}, not {FORMAT}.",
        hint="use the version of Millstream that wrote it, or a new checkpoint folder, which begins from the start",
    )


def refuse_unfinished(folder: CheckpointFolder, address: str) -> None:
    """Refuses a checkpoint that a savepoint is being restored into, or that the job has left."""
    if not whole(folder):
        raise MillstreamError(
            "MS-CHECKPOINT-014",
            f"a savepoint was to be restored into the checkpoint {address}, and did not come to the end.",
            hint="restore it again: what is there of it is thrown away",
        )
    retired = folder.files.read(folder.retired)
    if retired is not None:
        raise MillstreamError(
            "MS-CHECKPOINT-015",
            f"the checkpoint {address} is retired: the job has gone on elsewhere.",
            found=f"in the checkpoint {json.loads(retired)['by']}",
            hint="run the job with that checkpoint",
        )


def whole(folder: CheckpointFolder) -> bool:
    """Whether no restore is under way there. One that broke off when all was in place, and the checkpoint that it takes
    the place of was retired, is brought to its end."""
    text = folder.files.read(folder.restoring)
    if text is None:
        return True
    old = json.loads(text).get("retires")
    retired = CheckpointFolder(old).files.read(CheckpointFolder(old).retired) if old else None
    if retired is None or json.loads(retired)["by"] != folder.root:
        return False
    folder.files.delete(folder.restoring)
    return True


def create(folder: CheckpointFolder, address: str, wanted: Fingerprint) -> str:
    """What a new checkpoint says about itself; or what another run said, that began at the same time and was first."""
    if any(name not in BEFORE for name in folder.files.names(folder.root)):
        raise MillstreamError(
            "MS-CHECKPOINT-001", f"the folder {address} holds something, but not a checkpoint.", hint="name another"
        )
    content = {
        "format": FORMAT,
        "job": wanted.job,
        "identity": secrets.token_hex(4),
        "parallelism": wanted.parallelism,
        "sources": list(wanted.sources),
        "stages": wanted.saved,
    }
    text = json.dumps(content, indent=2)
    if folder.files.create(folder.about, text):
        refuse_careless(folder)
        return text
    first = folder.files.read(folder.about)
    assert first is not None
    return first


def refuse_careless(folder: CheckpointFolder) -> None:
    """An error if two can create the same file: a store without conditional writes silently ignores the condition."""
    if folder.files.local:
        return
    probe = f"{folder.root}/.created-{secrets.token_hex(4)}"
    both = folder.files.create(probe, "one") and folder.files.create(probe, "two")
    folder.files.delete(probe)
    if both:
        folder.files.delete(folder.about)
        raise MillstreamError(
            "MS-STORAGE-002",
            f"the storage of {folder.root} replaces a file where one must be new.",
            found="it takes no notice of If-None-Match, by which of two runs one is refused",
            hint="use an S3 that knows conditional writes, as Amazon's does, or HDFS",
        )


def compare(folder: str, saved: dict[str, object], wanted: Fingerprint) -> None:
    if saved["job"] != wanted.job:
        raise MillstreamError(
            "MS-CHECKPOINT-001",
            f'the checkpoint {folder} is of job "{saved["job"]}", not of "{wanted.job}".',
            hint="give each job a checkpoint folder of its own",
        )
    if saved["parallelism"] != wanted.parallelism:
        raise MillstreamError(
            "MS-CHECKPOINT-003",
            f'job "{wanted.job}" was saved with parallelism {saved["parallelism"]} and is to run with '
            f"{wanted.parallelism}.",
            hint=f"run it with parallelism={saved['parallelism']}, "
            f"or divide its state: `millstream rescale FILE --to {wanted.parallelism}`",
        )
    if saved["sources"] != list(wanted.sources):
        raise MillstreamError(
            "MS-CHECKPOINT-002",
            f'job "{wanted.job}" was saved with other sources.',
            found=f"saved: {', '.join(as_list(saved['sources']))}; now: {', '.join(wanted.sources)}",
            hint=UNDO,
        )
    stages = saved["stages"]
    assert isinstance(stages, list)
    compare_operators(stages, wanted)
    compare_stages(stages, wanted)


def as_list(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def compare_operators(saved: list[dict[str, Any]], wanted: Fingerprint) -> None:
    all_before, all_now = operators(saved), operators(wanted.saved)
    for name in [*all_before, *all_now]:
        before, now = all_before.get(name), all_now.get(name)
        if before == now:
            continue
        if now is None:
            what, found = "has saved state, and the job no longer has it", f"saved: {described(before)}"
        elif before is None:
            what, found = "is new, and has no saved state", f"now: {described(now)}"
        else:
            what, found = "has saved state of another shape", difference(before, now)
        raise MillstreamError(
            "MS-CHECKPOINT-002", f'step "{name}" {what}.', at=wanted.places.get(name), found=found, hint=UNDO
        )


def operators(stages: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """For each operator with state, what the state depends on, part by part."""
    found = {}
    for number, stage in enumerate(stages, 1):
        for name, placed in stage["operators"].items():
            state = placed["state"]
            parts = {"means": listed(state["means"]), "key": keyed(state)}
            parts |= {f"state {part['name']}": variable(part) for part in state["variables"]}
            place = f"stage {number}" + ("" if placed["tag"] is None else f", tag {placed['tag']}")
            found[name] = parts | {"place": f"{place}, slots {listed(placed['slots'])}"}
    return found


def keyed(state: dict[str, Any]) -> str:
    """The key of the state, and its types: there may be more of these, if rows without a key are spread."""
    return f"{listed(state['by']) or 'all rows'} ({listed(state['key'])})"


def variable(part: dict[str, Any]) -> str:
    key = "" if part["key"] is None else f"{part['key']} -> "
    return f"{part['kind']} {key}{part['value']}"


def listed(parts: Sequence[object]) -> str:
    return ", ".join(map(str, parts))


def described(parts: dict[str, str] | None) -> str:
    return "; ".join(f"{name}: {text}" for name, text in (parts or {}).items() if text)


def difference(before: dict[str, str], now: dict[str, str]) -> str:
    """Only the parts that differ."""
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    parts = ({name: side[name] for name in names if name in side} for side in (before, now))
    saved, wanted = (described(part) or "nothing of it" for part in parts)
    return f"saved: {saved}; now: {wanted}"


def compare_stages(saved: list[dict[str, Any]], wanted: Fingerprint) -> None:
    """Spark finds a stage by its number, and state in it by a key that all its operators share."""
    before, now = ([stage_key(stage) for stage in stages] for stages in (saved, wanted.saved))
    if before != now:
        raise MillstreamError(
            "MS-CHECKPOINT-002",
            f'job "{wanted.job}" was saved with other stages.',
            found=f"saved: {'; '.join(before) or 'none'}; now: {'; '.join(now) or 'none'}",
            hint=UNDO,
        )


def stage_key(stage: dict[str, Any]) -> str:
    return f"key ({listed(stage['key'])}){', timers' if stage['timers'] else ''}"
