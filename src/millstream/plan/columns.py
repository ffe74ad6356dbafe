"""Columns of a relation: the name users write, the alias it stands under, the field that carries it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Column:
    name: str
    field: str
    qualifier: str | None = None

    @property
    def label(self) -> str:
        return f"{self.qualifier}.{self.name}" if self.qualifier else self.name


Columns = tuple[Column, ...]


def plain(names: Iterable[str]) -> Columns:
    return tuple(Column(name, name) for name in names)


def under(columns: Columns, qualifier: str) -> Columns:
    """The same fields, seen under an alias."""
    return tuple(replace(column, qualifier=qualifier) for column in columns)


def side_by_side(left: Columns, right: Columns) -> Columns:
    """The columns of a join: every field carries its alias, so that equal names stay apart."""
    return tuple(replace(column, field=column.label) for column in (*left, *right))


def labels(columns: Columns) -> str:
    return ", ".join(column.label for column in columns)
