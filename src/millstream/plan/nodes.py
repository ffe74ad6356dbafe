"""The nodes of a plan: immutable, checked when they are built, equal when they mean the same."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Self

from sqlglot import exp

from millstream.errors import Location
from millstream.plan.aggregates import Closing, Figure, Keyed, Result
from millstream.plan.columns import Columns, plain, side_by_side, under
from millstream.plan.connectors import FieldType, SinkOptions, SourceOptions, WriteMode
from millstream.plan.expressions import Expr

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
        name = self.given if isinstance(self, STATELESS) else self.name
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


@dataclass(frozen=True, eq=False)
class Source(Node):
    """Rows from outside. `upserts`: by key, the last one counts, a missing value deletes."""

    options: SourceOptions
    schema: tuple[FieldType, ...]
    upserts: Key | None = None
    time: str | None = None
    lateness: str | None = None

    @cached_property
    def columns(self) -> Columns:
        return plain(part.name for part in self.schema)

    @cached_property
    def append_only(self) -> bool:
        return not self.options.changelog and self.upserts is None


@dataclass(frozen=True, eq=False)
class DeadLetters(Node):
    """The records of a source that could not be read."""

    input: Source

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def columns(self) -> Columns:
        return plain(["topic", "partition", "offset", "reason", "value"])

    @cached_property
    def append_only(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class Declared(Node):
    """A changelog that the user declared to have a key."""

    input: Node
    declared: Key

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def columns(self) -> Columns:
        return self.input.columns

    @cached_property
    def key(self) -> Key | None:
        return self.declared


@dataclass(frozen=True, eq=False)
class Alias(Node):
    input: Node
    alias: str

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def columns(self) -> Columns:
        return under(self.input.columns, self.alias)

    @cached_property
    def key(self) -> Key | None:
        return self.input.key


@dataclass(frozen=True, eq=False)
class Project(Node):
    input: Node
    exprs: tuple[Keyed, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def columns(self) -> Columns:
        return plain(part.name for part in self.exprs)

    @cached_property
    def key(self) -> Key | None:
        """Kept if every field of it goes through unchanged, whatever it is called now."""
        if self.input.key is None:
            return None
        carried = {next(iter(part.expr.fields)): part.name for part in self.exprs if is_field(part.expr)}
        names = [carried.get(name) for name in self.input.key]
        return tuple(name for name in names if name is not None) if None not in names else None


@dataclass(frozen=True, eq=False)
class Filter(Node):
    input: Node
    condition: Expr

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def columns(self) -> Columns:
        return self.input.columns

    @cached_property
    def key(self) -> Key | None:
        return self.input.key


@dataclass(frozen=True, eq=False)
class Explode(Node):
    """One row per element of an array; the element is a new column."""

    input: Node
    array: Expr
    element: str

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def columns(self) -> Columns:
        return (*self.input.columns, *plain([self.element]))


@dataclass(frozen=True, eq=False)
class Union(Node):
    parts: tuple[Node, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.parts

    @cached_property
    def columns(self) -> Columns:
        return self.parts[0].columns


@dataclass(frozen=True, eq=False)
class Keep(Node):
    """Only the fields that are needed further on; names and aliases stay."""

    input: Node
    kept: tuple[str, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def columns(self) -> Columns:
        return tuple(column for column in self.input.columns if column.field in self.kept)

    @cached_property
    def key(self) -> Key | None:
        return self.input.key if self.input.key and set(self.input.key) <= set(self.kept) else None


@dataclass(frozen=True, eq=False)
class Latest(Node):
    """Upserts by key as a table: the latest row of each key."""

    input: Node
    by: Key

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def columns(self) -> Columns:
        return self.input.columns

    @cached_property
    def append_only(self) -> bool:
        return False

    @cached_property
    def key(self) -> Key | None:
        return self.by


@dataclass(frozen=True, eq=False)
class Collapse(Node):
    """A table with the changes of each key brought together, in order: for upserts."""

    input: Node
    by: Key

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def columns(self) -> Columns:
        return self.input.columns

    @cached_property
    def key(self) -> Key | None:
        return self.by


@dataclass(frozen=True, eq=False)
class Aggregate(Node):
    input: Node
    keys: tuple[Keyed, ...]
    figures: tuple[Figure, ...]
    results: tuple[Result, ...]
    closing: Closing | None = None

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def columns(self) -> Columns:
        return plain([*(part.name for part in self.keys), *(part.name for part in self.results)])

    @cached_property
    def append_only(self) -> bool:
        return self.closing is not None and self.closing.final

    @cached_property
    def key(self) -> Key | None:
        return tuple(part.name for part in self.keys)


@dataclass(frozen=True, eq=False)
class Join(Node):
    """Rows that agree on `on` (pairs of expressions) and meet `residual`."""

    left: Node
    right: Node
    on: tuple[tuple[Expr, Expr], ...]
    residual: Expr | None

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @cached_property
    def columns(self) -> Columns:
        return side_by_side(self.left.columns, self.right.columns)

    @cached_property
    def key(self) -> Key | None:
        if self.left.key is None or self.right.key is None:
            return None
        left, right = self.carried
        return (*(left[name] for name in self.left.key), *(right[name] for name in self.right.key))

    @property
    def carried(self) -> tuple[dict[str, str], dict[str, str]]:
        """For each side, the field of the result that carries a field of the input."""
        width = len(self.left.columns)
        left = zip(self.left.carries, self.carries[:width], strict=True)
        right = zip(self.right.carries, self.carries[width:], strict=True)
        return dict(left), dict(right)


@dataclass(frozen=True, eq=False)
class Sink(Node):
    input: Node
    options: SinkOptions
    mode: WriteMode

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def columns(self) -> Columns:
        return self.input.columns


def said(part: object) -> object:
    """A node stands in another's content by its name: what was named shields those below from changes above."""
    if isinstance(part, Node):
        return part.name
    return [said(item) for item in part] if isinstance(part, tuple) else repr(part)


STATELESS = (Alias, Declared, Project, Filter, Explode, Union, Keep, DeadLetters)
STATEFUL = (Latest, Collapse, Aggregate, Join)


def is_field(expr: Expr) -> bool:
    return isinstance(expr.tree, exp.Column)


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
