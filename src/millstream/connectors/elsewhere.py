"""What a client on another machine needs from this one: secrets go along, files must be there, too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from millstream.connectors.library import library
from millstream.connectors.secrets import Secret
from millstream.connectors.tls import Tls
from millstream.errors import MillstreamError

Options = TypeVar("Options")


@dataclass(frozen=True)
class ReadSecret(Secret):
    """One that was read where it is kept."""

    value: str = field(default="", repr=False)

    def read(self) -> str:
        return self.value


def with_secrets(options: Options) -> Options:
    """The same, with all secrets read: what holds them is on this machine."""
    found: Any = options
    if isinstance(found, Secret):
        found = ReadSecret(found.env, found.file, found.read())
    elif is_dataclass(found) and not isinstance(found, type):
        found = replace(found, **{name: with_secrets(part) for name, part in parts(found)})
    result: Options = found
    return result


def files_of(options: object) -> tuple[str, ...]:
    """Those that its encryption is made of."""
    if isinstance(options, Tls):
        return tuple(file for file in (options.ca, options.certificate, options.key) if file)
    return tuple(file for _, part in parts(options) for file in files_of(part))


def parts(options: object) -> Iterator[tuple[str, Any]]:
    if is_dataclass(options) and not isinstance(options, type):
        yield from ((one.name, getattr(options, one.name)) for one in fields(options) if one.init)


def check_there(package: str, extra: str, files: tuple[str, ...]) -> None:
    """Called on the other machine."""
    library(package, extra)
    for file in files:
        if not Path(file).is_file():
            raise MillstreamError("MS-TLS-001", f"there is no file {file}, which is to encrypt connections.")
