"""A job that is a package: a folder with a pyproject.toml, whose entry point makes the job.

[project.entry-points."millstream.jobs"]
shop = "shop.jobs:make"

It travels as its files and a small file of ours that imports the entry point; what the project depends on is declared
there, as a job's file declares it.
"""

from __future__ import annotations

import io
import json
import re
import tarfile
import tomllib
from pathlib import Path
from typing import Any

from millstream.errors import MillstreamError
from millstream.manager.bundle import MOST_BYTES, MOST_FILES, too_large

GROUP = "millstream.jobs"
FILE = "millstream_entry.py"
ENTRY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
LEFT_OUT = {"__pycache__", ".git", ".venv", ".millstream", "node_modules", "build", "dist"}
TEXT = '''# /// script
# dependencies = {dependencies}
# ///
"""Made by millstream submit: the job of {entry}."""

from {module} import {name} as entry

made = entry() if callable(entry) else entry
'''


def pack_package(folder: Path, entry: str | None) -> bytes:
    """The archive: the project's Python files and what lies beside them, and the file that has the job."""
    project = read_project(folder)
    chosen = chosen_entry(project, entry, folder)
    module, _, name = chosen.partition(":")
    dependencies = json.dumps(project.get("dependencies", []))
    made = TEXT.format(dependencies=dependencies, entry=chosen, module=module, name=name).encode()
    packed = io.BytesIO()
    root = folder / "src" if (folder / "src").is_dir() else folder
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for part in files(root):
            archive.add(part, str(part.relative_to(root)), recursive=False)
        about = tarfile.TarInfo(FILE)
        about.size = len(made)
        archive.addfile(about, io.BytesIO(made))
    if packed.tell() > MOST_BYTES:
        raise too_large(f"{folder} is {packed.tell():,} bytes")
    return packed.getvalue()


def read_project(folder: Path) -> dict[str, Any]:
    file = folder / "pyproject.toml"
    try:
        found: dict[str, Any] = tomllib.loads(file.read_text()).get("project", {})
    except FileNotFoundError:
        return {}
    except tomllib.TOMLDecodeError as error:
        raise MillstreamError("MS-MANAGER-018", f"{file} cannot be read.", found=str(error)) from None
    return found


def chosen_entry(project: dict[str, Any], entry: str | None, folder: Path) -> str:
    """As it is named, `module:name`; or by its name among the project's entry points; or the only one."""
    declared: dict[str, str] = project.get("entry-points", {}).get(GROUP, {})
    if entry is None and len(declared) == 1:
        entry = next(iter(declared.values()))
    found = declared.get(entry or "", entry or "")
    if ENTRY.fullmatch(found) is None:
        raise MillstreamError(
            "MS-MANAGER-018",
            f"{folder} does not say which job is meant." if entry is None else f"there is no entry point {entry!r}.",
            found=f"entry points: {', '.join(declared) or 'none'}",
            hint=f'--entry module:name; or [project.entry-points."{GROUP}"] in pyproject.toml',
        )
    return found


def files(root: Path) -> list[Path]:
    found = [
        part
        for part in sorted(root.rglob("*"))
        if part.is_file() and not (LEFT_OUT & set(part.relative_to(root).parts)) and not part.is_symlink()
    ]
    if len(found) > MOST_FILES:
        raise too_large(f"{root} has {len(found):,} files")
    return found
