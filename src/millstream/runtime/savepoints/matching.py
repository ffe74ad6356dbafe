"""What happens to saved state in a job: operator by operator, before anything is touched.

kept · renamed · moved · converted (how) · new · gone · incompatible (why)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from enum import Enum

from millstream.errors import MillstreamError
from millstream.spark.lower.state import Placed, StageShape, StateShape
from millstream.spark.state.fitting import NOT_KEPT, holds, not_kept, renamed


class Fate(Enum):
    KEPT = "kept"
    RENAMED = "renamed"
    MOVED = "moved"
    CONVERTED = "converted"
    NEW = "new"
    GONE = "gone"
    INCOMPATIBLE = "incompatible"


@dataclass(frozen=True)
class Change:
    """What happens to one operator, source or sink. `before`: its old name, if it has another one now."""

    what: str
    name: str
    fate: Fate
    before: str | None = None
    why: str | None = None

    @property
    def allowed(self) -> bool:
        return self.fate is not Fate.INCOMPATIBLE


@dataclass(frozen=True)
class Choices:
    """The user's choices for a restore. `was`: new name -> old name. `drop`: steps whose state is given up.
    `start_empty`: steps that start without state although rows may be taken back that they have never seen. `from_now`:
    steps whose new figures may count from now on, because the state does not cover what came before. `new_sources`:
    sources that begin where their options say, as in a new job. `fork`: leaves the saved job as it is; it may continue
    beside this one."""

    was: Mapping[str, str] = field(default_factory=dict)
    drop: frozenset[str] = frozenset()
    start_empty: frozenset[str] = frozenset()
    from_now: frozenset[str] = frozenset()
    new_sources: frozenset[str] = frozenset()
    fork: bool = False

    def knowing(self, was: Mapping[str, str]) -> Choices:
        """With old names that the job itself knows."""
        return replace(self, was={**was, **self.was})


def compared(
    saved: Sequence[StageShape], wanted: Sequence[StageShape], adding: Set[str], choices: Choices
) -> list[Change]:
    """For every operator with state, before and now. `adding`: those whose input only ever adds rows."""
    before, now = placed_by_name(saved), placed_by_name(wanted)
    refuse_unknown(before, now, choices)
    refuse_twice(now, choices)
    changes = []
    for name, (stage, placed) in now.items():
        old = choices.was.get(name, name)
        found = None if old in choices.drop else before.get(old)
        begins = name in adding or name in choices.start_empty
        from_now = name in choices.from_now and name in adding
        changes.append(change(name, old, found, (stage, placed), begins, from_now))
    used = {choices.was.get(name, name) for name in now}
    for name in before:
        if name in choices.drop:
            changes.append(Change("operator", name, Fate.GONE, why="its state is dropped"))
        elif name not in used:
            why = "it has saved state, and the job no longer has it"
            changes.append(Change("operator", name, Fate.INCOMPATIBLE, why=why))
    return changes


def placed_by_name(stages: Sequence[StageShape]) -> dict[str, tuple[int, Placed]]:
    return {name: (number, placed) for number, stage in enumerate(stages) for name, placed in stage.operators.items()}


def refuse_unknown(before: Mapping[str, object], now: Mapping[str, object], choices: Choices) -> None:
    for name in choices.drop:
        if name not in before:
            raise unknown("drop", name, before, "the savepoint has no state of")
    for option, names in (("start_empty", choices.start_empty), ("from_now", choices.from_now)):
        for name in names - now.keys():
            raise unknown(option, name, now, "the job has no state of")
    for name, old in choices.was.items():
        if name not in now:
            raise unknown("was", name, now, "the job has no state of")
        if old not in before:
            raise unknown("was", old, before, "the savepoint has no state of")


def refuse_twice(now: Mapping[str, object], choices: Choices) -> None:
    """Two steps cannot both continue from the state of one."""
    names = [choices.was.get(name, name) for name in now]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        users = ", ".join(name for name in now if choices.was.get(name, name) == twice)
        raise MillstreamError(
            "MS-SAVEPOINT-007",
            f'was= lets several steps go on from the state of "{twice}".',
            found=f"steps: {users}",
            hint="one of them can",
        )


def unknown(option: str, name: str, known: Mapping[str, object], what: str) -> MillstreamError:
    return MillstreamError(
        "MS-SAVEPOINT-007",
        f'{option}= names "{name}", and {what} a step of that name.',
        found=f"steps with state: {', '.join(known) or 'none'}",
    )


def change(
    name: str, old: str, before: tuple[int, Placed] | None, now: tuple[int, Placed], begins: bool, from_now: bool
) -> Change:
    """`begins`: whether it may start without state. `from_now`: whether its new figures may."""
    if before is None:
        if begins:
            return Change("operator", name, Fate.NEW, why="it begins with nothing, and counts from now on")
        why = "it would begin with nothing, and rows may be taken back that it has never seen"
        return Change("operator", name, Fate.INCOMPATIBLE, why=why)
    was = None if old == name else old
    why_not = incompatible(before[1].state, now[1].state, from_now)
    if why_not is not None:
        return Change("operator", name, Fate.INCOMPATIBLE, was, why_not)
    how = converted(before[1].state, now[1].state)
    if how is not None:
        return Change("operator", name, Fate.CONVERTED, was, how)
    if was is not None:
        return Change("operator", name, Fate.RENAMED, was, f'it was "{was}"')
    same = (before[0], before[1].tag, before[1].slots) == (now[0], now[1].tag, now[1].slots)
    return Change("operator", name, Fate.KEPT if same else Fate.MOVED, why=None if same else moved(before[0], now[0]))


def moved(before: int, now: int) -> str:
    return f"from stage {before + 1} to stage {now + 1}" if before != now else "to another place in its stage"


def incompatible(before: StateShape, now: StateShape, from_now: bool = False) -> str | None:
    """Why saved state cannot become the new state; None: it can. `from_now`: figures that the state does not cover may
    start empty."""
    if before.layout != now.layout:
        return f"its state is laid out in version {before.layout}, and this Millstream knows version {now.layout}"
    if (before.by, before.key) != (now.by, now.key):
        return f"its key was {keyed(before)} and is {keyed(now)}"
    figures = bool(before.computes and now.computes)
    if (not_kept(before, now) and not from_now) if figures else before.means != now.means:
        return f"it kept {', '.join(before.means) or 'no figures'}, and is to keep {', '.join(now.means) or 'none'}"
    rename = renamed(before, now)
    old = {part.name: part for part in before.variables}
    for part in now.variables:
        was = old.pop(rename(part.name), None)
        if was is None and from_now and rename(part.name) == NOT_KEPT:
            continue
        if was is None:
            return f"it had no state {part.name}"
        if was.kind != part.kind or not (fits(was.key, part.key) and holds(was.value, part.value, rename)):
            return f"its state {part.name} was {shown(was)} and is {shown(part)}"
    if old and not figures:
        return f"it no longer has the state {', '.join(old)}"
    return None


def fits(before: str | None, now: str | None) -> bool:
    return before == now or (before is not None and now is not None and holds(before, now))


def converted(before: StateShape, now: StateShape) -> str | None:
    """How saved state becomes the new state; None: as it is."""
    if before.computes != now.computes and before.computes and now.computes:
        new = not_kept(before, now)
        of = "of that" if not new else f"of that; what is new ({', '.join(new)}) counts from now on"
        return f"it kept {', '.join(before.means)}, and keeps {', '.join(now.means)} {of}"
    old = {part.name: part for part in before.variables}
    wider = [
        part.name for part in now.variables if (old[part.name].key, old[part.name].value) != (part.key, part.value)
    ]
    return f"columns that are new are NULL in {', '.join(wider)}" if wider else None


def keyed(shape: StateShape) -> str:
    return f"{', '.join(shape.by) or 'all rows'} ({', '.join(shape.key)})"


def shown(part: object) -> str:
    kind, key, value = (getattr(part, name) for name in ("kind", "key", "value"))
    return f"{kind} {f'{key} -> ' if key else ''}{value}"


def refuse(changes: Sequence[Change], savepoint: str) -> None:
    """An error that names everything that prevents the restore."""
    wrong = [change for change in changes if not change.allowed]
    if wrong:
        first = wrong[0]
        raise MillstreamError(
            "MS-SAVEPOINT-008",
            f'step "{first.name}" cannot go on from the savepoint {savepoint}: {first.why}.',
            found="; ".join(f'"{one.name}": {one.why}' for one in wrong[1:]) or None,
            hint="drop= gives a step's state up, was= says its old name, start_empty= starts a new step with "
            "nothing, from_now= lets new figures of rows that are only added count from now on; millstream diff "
            "shows all that has changed",
        )
