"""What travels with a job: its file, the modules of its own that it imports, and the packages that it declares.

They travel as files in an archive, and nothing of it is unpickled.
"""

from __future__ import annotations

import ast
import io
import re
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

from millstream.errors import MillstreamError

MOST_BYTES = 20_000_000
MOST_FILES = 2_000
DECLARED = re.compile(r"^# /// script\s*$\n((?:^#(?: .*)?$\n)+?)^# ///\s*$", re.MULTILINE)


def pack(file: Path) -> bytes:
    """The archive that `millstream submit` sends."""
    packed = io.BytesIO()
    root = file.resolve().parent
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for part in files(file.resolve()):
            archive.add(part, str(part.relative_to(root)), recursive=False)
    if packed.tell() > MOST_BYTES:
        raise too_large(f"{file} and its modules are {packed.tell():,} bytes")
    return packed.getvalue()


def files(file: Path) -> list[Path]:
    """The file and the modules beside it that it imports, and that these import. Of a package, all files."""
    root, found, waiting = file.parent, {file}, [file]
    while waiting:
        for name in imported(waiting.pop()):
            top = name.partition(".")[0]
            for part in [root / f"{top}.py", *package(root / top)]:
                if part.is_file() and part not in found:
                    found.add(part)
                    waiting += [part] if part.suffix == ".py" else []
        if len(found) > MOST_FILES:
            raise too_large(f"{file} imports packages of more than {MOST_FILES:,} files")
    return sorted(found)


def package(folder: Path) -> Iterator[Path]:
    if (folder / "__init__.py").exists():
        yield from (part for part in folder.rglob("*") if part.is_file() and "__pycache__" not in part.parts)


def imported(file: Path) -> Iterator[str]:
    try:
        tree = ast.parse(file.read_bytes())
    except SyntaxError:
        return  # running the file shows what is wrong with it
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def unpack(packed: bytes, folder: Path) -> None:
    """Refuses what would lie outside, links, devices, and more than there may be."""
    try:
        with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as archive:
            size, members = 0, []
            for member in archive:
                size += member.size
                members.append(member)
                if size > MOST_BYTES or len(members) > MOST_FILES:
                    raise too_large("the archive holds too much")
                if member.name.startswith("/") or ".." in Path(member.name).parts:
                    raise refused(f"{member.name!r} lies elsewhere")
                if not (member.isfile() or member.isdir()):
                    raise refused(f"{member.name!r} is neither a file nor a folder")
            archive.extractall(folder, members, filter="data")
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        raise refused(str(error)) from error


def refused(found: str) -> MillstreamError:
    return MillstreamError(
        "MS-MANAGER-003",
        "the archive with the job's files cannot be taken.",
        found=found,
        hint="millstream submit makes one",
    )


def too_large(found: str) -> MillstreamError:
    return MillstreamError(
        "MS-MANAGER-005",
        "a job's files are too large to be submitted.",
        found=found,
        hint=f"up to {MOST_BYTES // 1_000_000} MB; put data elsewhere, and packages into the declared requirements",
    )


def requirements(file: Path) -> list[str]:
    """What the file declares, as scripts do: a comment `# /// script` with `dependencies = […]`."""
    declared = DECLARED.search(file.read_text(errors="replace"))
    if declared is None:
        return []
    text = "\n".join(line.removeprefix("#").removeprefix(" ") for line in declared[1].splitlines())
    try:
        told = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MillstreamError(
            "MS-MANAGER-006", f"{file.name} declares its packages in a way that cannot be read.", found=str(error)
        ) from None
    return [str(each) for each in told.get("dependencies", []) if not str(each).startswith("millstream")]
