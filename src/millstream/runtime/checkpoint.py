"""The checkpoint's folder: whose it is, and what its state belongs to.

<checkpoint>/millstream.json   job, identity, sources, operators with the shape of their state
<checkpoint>/sources.json      what the sources read, as identities.py says
<checkpoint>/spark/            offsets, commits and state, as Spark keeps them; `lock`, held by the one run
<checkpoint>/staged/           a journal: rows for sinks that Python carries them to, and how far they have come
<checkpoint>/received/         a journal: changes from sources that cannot be read again
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from pathlib import Path

from millstream.errors import Location, MillstreamError
from millstream.journal.durable import replace_text
from millstream.planner.stages import JobPlan, Pass

FORMAT = 1
BEFORE = {"received"}
"""What may be there before the first run: changes that are received before they are read."""


@dataclass(frozen=True)
class Fingerprint:
    """What of a job its saved state depends on."""

    job: str
    parallelism: int
    sources: tuple[str, ...]
    """Operator -> its stage and the shape of its state."""
    operators: dict[str, str]
    places: dict[str, Location | None]


@dataclass(frozen=True)
class Checkpoint:
    folder: Path
    identity: str

    @property
    def spark(self) -> str:
        return str(self.folder / "spark")


def fingerprint(job: str, plan: JobPlan, shapes: dict[str, str], parallelism: int) -> Fingerprint:
    operators, places = {}, {}
    for number, stage in enumerate(plan.stages, 1):
        for operator in stage.operators:
            operators[operator.name] = f"stage {number}, {shapes[operator.name]}"
            places[operator.name] = operator.node.at if isinstance(operator, Pass) else operator.at
    return Fingerprint(job, parallelism, tuple(source.name for source in plan.sources), operators, places)


def open_checkpoint(folder: str, wanted: Fingerprint) -> Checkpoint:
    """The checkpoint of this job: a new one, or one that fits."""
    path = Path(folder).expanduser().resolve()
    about = path / "millstream.json"
    if not about.exists():
        if path.exists() and any(entry.name not in BEFORE for entry in path.iterdir()):
            raise MillstreamError(
                "MS-CHECKPOINT-001", f"the folder {folder} holds something, but not a checkpoint.", hint="name another"
            )
        return create(path, wanted)
    saved = json.loads(about.read_text())
    if saved["format"] != FORMAT:
        raise MillstreamError(
            "MS-CHECKPOINT-004", f"the checkpoint {folder} has format {saved['format']}, not {FORMAT}."
        )
    compare(folder, saved, wanted)
    return Checkpoint(path, saved["identity"])


def create(path: Path, wanted: Fingerprint) -> Checkpoint:
    path.mkdir(parents=True, exist_ok=True)
    identity = secrets.token_hex(4)
    content = {
        "format": FORMAT,
        "job": wanted.job,
        "identity": identity,
        "parallelism": wanted.parallelism,
        "sources": list(wanted.sources),
        "operators": wanted.operators,
    }
    replace_text(path / "millstream.json", json.dumps(content, indent=2))
    return Checkpoint(path, identity)


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
            hint=f"run it with parallelism={saved['parallelism']}",
        )
    if saved["sources"] != list(wanted.sources):
        raise MillstreamError(
            "MS-CHECKPOINT-002",
            f'job "{wanted.job}" was saved with other sources.',
            found=f"saved: {', '.join(as_list(saved['sources']))}; now: {', '.join(wanted.sources)}",
            hint="use the saved sources, or a new checkpoint folder, which begins from the start",
        )
    operators = saved["operators"]
    assert isinstance(operators, dict)
    compare_operators(operators, wanted)


def as_list(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def compare_operators(saved: dict[str, str], wanted: Fingerprint) -> None:
    for name in [*saved, *wanted.operators]:
        before, now = saved.get(name, "nothing"), wanted.operators.get(name, "nothing")
        if before == now:
            continue
        if now == "nothing":
            what = "has saved state, and the job no longer has it"
        elif before == "nothing":
            what = "is new, and has no saved state"
        else:
            what = "has saved state of another shape"
        raise MillstreamError(
            "MS-CHECKPOINT-002",
            f'step "{name}" {what}.',
            at=wanted.places.get(name),
            found=f"saved: {before}; now: {now}",
            hint="undo the change, or use a new checkpoint folder, which begins from the start",
        )
