"""Where records lie: named texts with a version, replaced only by who has seen the last one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Document:
    name: str
    body: str
    version: int


class Changed(Exception):
    """Another writer was faster: read it again."""


class NotLeading(Exception):
    """This manager may not write: another one leads, or none does."""


class Documents(Protocol):
    def all(self) -> list[Document]: ...

    def read(self, name: str) -> Document | None: ...

    def create(self, name: str, body: str) -> None:
        """`Changed`, if there is one of that name."""

    def replace(self, document: Document, body: str) -> None:
        """`Changed`, if it is not what it was."""

    def delete(self, document: Document) -> None: ...

    def close(self) -> None: ...
