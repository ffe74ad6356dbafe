"""The base of all plan nodes: immutable, checked when built, equal if they mean the same."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Self

from millstream.errors import Location
from millstream.plan.columns import Columns

Key = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Node:
    """A relation. Two nodes that say the same are the same node, and run once."""

    given: str | None
    at: Location | None

    @property
    def name(self) -> str:
        """Given by the user or derived from the content, never from the position: state is found again by it."""
        return self.given or f"{type(self).__name__.lower()}_{self.digest}"

    @cached_property
    def digest(self) -> str:
        """A field that has its default says nothing, so that names stay when a later version adds one."""
        named = [(part, getattr(self, part.name)) for part in fields(self) if part.name not in ("given", "at")]
        content = repr((type(self).__name__, [said(value) for part, value in named if value != part.default]))
        return hashlib.sha256(content.encode()).hexdigest()[:8]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    @property
    def identity(self) -> tuple[str, str | None, str]:
        return type(self).__name__, self.given, self.digest

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()

    def with_inputs(self, inputs: tuple[Node, ...]) -> Self:
        """The same step over other inputs; it keeps its name, so that a rewritten plan finds its state."""
        # Not by equality: inputs that were rewritten further up still have their old names, and are equal.
        if all(new is old for new, old in zip(inputs, self.inputs, strict=True)):
            return self
        rest = list(inputs)
        changed: dict[str, object] = {}
        for part in fields(self):
            value = getattr(self, part.name)
            if isinstance(value, Node):
                changed[part.name] = rest.pop(0)
            elif isinstance(value, tuple) and value and isinstance(value[0], Node):
                changed[part.name] = tuple(rest.pop(0) for _ in value)
        name = self.name if isinstance(self, Stateful) else self.given
        return replace(self, given=name, **changed)  # type: ignore[arg-type]

    @cached_property
    def columns(self) -> Columns:
        raise NotImplementedError

    @cached_property
    def append_only(self) -> bool:
        """Whether rows are only ever added."""
        return all(node.append_only for node in self.inputs)

    @cached_property
    def key(self) -> Key | None:
        """The fields that tell the rows of a table apart, if they are known."""
        return None

    @property
    def carries(self) -> tuple[str, ...]:
        """The fields of its rows."""
        return tuple(column.field for column in self.columns)

    @cached_property
    def event_time(self) -> str | None:
        """The field that carries the event time, if one does."""
        return None

    @cached_property
    def lag(self) -> int | None:
        """By how many milliseconds the watermark may have passed the time of rows that are not late, where an operator
        lets rows wait. None: none does, and rows that the watermark has passed are late."""
        return None

    def reads(self, needed: set[str]) -> list[set[str]]:
        """For each input, the fields of it that are read to give the needed ones."""
        return [set(needed) for _ in self.inputs]


@dataclass(frozen=True, eq=False)
class Unary(Node):
    """A node with one input, whose rows have the input's columns unless it says otherwise."""

    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def columns(self) -> Columns:
        return self.input.columns

    @cached_property
    def key(self) -> Key | None:
        return self.input.key

    @cached_property
    def event_time(self) -> str | None:
        return self.input.event_time

    @cached_property
    def lag(self) -> int | None:
        return self.input.lag


class Stateless(Node):
    """A step of a router: what happens to a row depends on that row alone."""

    labels = False
    """Whether it only says something about the rows: each goes through as it is."""
    whole = False
    """Whether a row that goes through keeps all its columns."""
    row_for_row = False
    """Whether each row of the input gives one row."""


class Stateful(Node):
    """An operator that keeps state: a stage hosts it, and its state is found again by its name."""

    prunes = False
    """Whether its inputs are cut down to the fields that are read: the others would only fill its state."""

    @property
    def drops_late(self) -> bool:
        """Whether rows may come too late for it: those are counted."""
        return False


def said(part: object) -> object:
    """A node appears in others by its name: naming a step shields later names from changes before it."""
    if isinstance(part, Node):
        return part.name
    if is_dataclass(part):
        shown = [(each, getattr(part, each.name)) for each in fields(part) if each.repr]
        told = [(each.name, value) for each, value in shown if value != each.default]
        return f"{type(part).__name__}({', '.join(f'{name}={value!r}' for name, value in told)})"
    return [said(item) for item in part] if isinstance(part, tuple) else repr(part)


def beneath(node: Node, trait: Callable[[Stateless], bool]) -> Node:
    """The first node on the way to the sources that is no stateless step with the trait."""
    while isinstance(node, Stateless) and trait(node):
        node = node.inputs[0]
    return node


def walk(roots: tuple[Node, ...]) -> list[Node]:
    """Every node once, inputs before what reads them."""
    seen: dict[Node, None] = {}

    def visit(node: Node) -> None:
        if node in seen:
            return
        for part in node.inputs:
            visit(part)
        seen[node] = None

    for root in roots:
        visit(root)
    return list(seen)
