"""`millstream pack`: the packages of this environment as an archive, for the Python of executors."""

from __future__ import annotations

import io
import json
import re
import sys
import tarfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

import click

import millstream
from millstream.errors import MillstreamError

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
SPARKS = ("pyspark", "py4j")
"""Every executor has them from its own Spark."""
LEFT_OUT = ("__pycache__", ".pyc")
WORD = re.compile(r"[\w.-]+")
LAUNCHER = f"""#!/bin/sh
# Python {VERSION} of the machine, or the one that MILLSTREAM_PYTHON names, with the packages beside this file.
here=$(cd "$(dirname "$0")/.." && pwd)
export PYTHONPATH="$here/packages${{PYTHONPATH:+:$PYTHONPATH}}"
exec "${{MILLSTREAM_PYTHON:-python{VERSION}}}" "$@"
"""


@click.command()
@click.argument("names", nargs=-1, metavar="[PACKAGE]...")
@click.option("-o", "--output", default="env.tar.gz", show_default=True, type=click.Path(path_type=Path))
def pack(names: tuple[str, ...], output: Path) -> None:
    """Put packages of this environment into an archive for a cluster: all, or those named and what they need.

    Pass the archive to a job with --environment FILE, or with ms.cluster(environment="FILE"). It always contains
    Millstream, and never Spark's own Python packages, which every executor has. The machines need the same version of
    Python.
    """
    found = installed()
    chosen = needed(names, found) if names else set(found)
    part = output.with_name(f"{output.name}.part")
    with tarfile.open(part, "w:gz", compresslevel=3) as archive:
        add_launcher(archive)
        packed = [add(archive, found[name]) for name in sorted(chosen)]
    part.replace(output)
    size = output.stat().st_size / 1e6
    click.echo(f"{output}: {len(packed)} packages, {size:.0f} MB")
    click.echo(f"each machine needs python{VERSION} on its PATH, or where spark.executorEnv.MILLSTREAM_PYTHON says")


def installed() -> dict[str, Distribution]:
    """All packages of this environment, by their names as dependencies have them."""
    found: dict[str, Distribution] = {}
    for one in distributions():
        name = plain(one.metadata["Name"] or "")
        if name and name not in SPARKS:
            found.setdefault(name, one)
    return found


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(names: tuple[str, ...], found: dict[str, Distribution]) -> set[str]:
    """These, Millstream, and all that they need; what only an option of a package needs is left out."""
    chosen: set[str] = set()
    waiting = ["millstream", *map(plain, names)]
    while waiting:
        name = waiting.pop()
        if name not in found and name in map(plain, names):
            raise MillstreamError("MS-CLI-006", f"the package {name} is not installed here.", hint="install it first")
        if name in chosen or name not in found:
            continue
        chosen.add(name)
        wants = (one.partition(";") for one in found[name].requires or ())
        waiting += [plain(WORD.findall(what)[0]) for what, _, when in wants if "extra" not in when]
    return chosen


def add_launcher(archive: tarfile.TarFile) -> None:
    about = tarfile.TarInfo("bin/python")
    about.size, about.mode = len(LAUNCHER), 0o755
    archive.addfile(about, io.BytesIO(LAUNCHER.encode()))


def add(archive: tarfile.TarFile, package: Distribution) -> str:
    for path, name in files(package):
        archive.add(path, f"packages/{name}", recursive=False)
    return str(package.metadata["Name"])


def files(package: Distribution) -> Iterator[tuple[Path, str]]:
    """Each file of a package, and its name beside the others. One that is installed as a link to its source has its
    code there."""
    for listed in package.files or ():
        path = Path(str(package.locate_file(listed)))
        if ".." not in listed.parts and path.is_file() and wanted(path) and path.suffix != ".pth":
            yield path, str(listed)
    for folder in linked(package):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and wanted(path):
                yield path, str(path.relative_to(folder.parent))


def wanted(path: Path) -> bool:
    return not any(part.endswith(LEFT_OUT) for part in path.parts)


def linked(package: Distribution) -> list[Path]:
    """The folders of a package that is installed as a link to its source."""
    about = json.loads(package.read_text("direct_url.json") or "{}")
    if not about.get("dir_info", {}).get("editable"):
        return []
    if package.metadata["Name"] == "millstream":
        return [Path(millstream.__file__).parent]
    names = (package.read_text("top_level.txt") or package.metadata["Name"].replace("-", "_")).split()
    modules = (sys.modules.get(name) or __import__(name) for name in names)
    return [Path(module.__file__).parent for module in modules if module.__file__ and hasattr(module, "__path__")]
