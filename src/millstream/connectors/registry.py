"""Connectors by name, wherever they come from: each package with a connector has an entry point."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from millstream.errors import MillstreamError, did_you_mean
from millstream.plan.connectors import JarSet
from millstream.spark import storages

GROUP = "millstream.connectors"


def names() -> tuple[str, ...]:
    """All that are installed, Millstream's own among them."""
    return tuple(sorted({found.name for found in entry_points(group=GROUP)}))


def connector(name: str) -> Any:
    """The module of a connector: it has `source`, `sink`, or both."""
    found = {(entry.value, package(entry)): entry for entry in entry_points(group=GROUP, name=name)}
    if not found:
        raise MillstreamError(
            "MS-SETUP-007",
            f'there is no connector "{name}".',
            found="installed: " + ", ".join(names()),
            hint=did_you_mean(name, names()) or "install the package that brings it",
        )
    if len(found) > 1:
        raise MillstreamError(
            "MS-SETUP-007",
            f'several packages bring a connector "{name}".',
            found=", ".join(sorted(of for _, of in found)),
            hint="uninstall all but one, or import the module of the one you mean",
        )
    (entry,) = found.values()
    return load(entry)


def load(entry: EntryPoint) -> Any:
    try:
        module = entry.load()
    except Exception as error:
        raise MillstreamError(
            "MS-SETUP-008", f'the connector "{entry.name}" of {package(entry)} cannot be loaded.', found=str(error)
        ) from error
    if not any(callable(getattr(module, part, None)) for part in ("source", "sink")):
        raise MillstreamError(
            "MS-SETUP-008",
            f'the connector "{entry.name}" of {package(entry)} has neither source nor sink.',
            found=entry.value,
            hint="its entry point must name a module with these functions",
        )
    return module


def jar_set(name: str) -> JarSet:
    """The jars that a storage or a connector needs; a connector's module has them as `JARS`."""
    if name in storages.BY_NAME:
        return storages.BY_NAME[name]
    found = getattr(connector(name), "JARS", None)
    if not isinstance(found, JarSet):
        raise MillstreamError("MS-SETUP-009", f'the connector "{name}" needs no jars.')
    return found


def package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.value
