"""Jars from a Maven repository, by Ivy, which pyspark brings along: pinned by version and checksum, kept in a cache.

Knows nothing of the rest of Millstream: what compiles the kernels uses it, too.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

TRIES = 3


@dataclass(frozen=True)
class Pin:
    """One jar, exactly."""

    group: str
    name: str
    version: str
    sha256: str

    @property
    def file(self) -> str:
        return f"{self.name}-{self.version}.jar"


def listed(file: Path) -> tuple[Pin, ...]:
    """The jars that a connector pins."""
    return tuple(Pin(**pin) for pin in json.loads(file.read_text()))


class FetchFailed(Exception):
    """A jar is neither in the cache nor available."""


def cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "millstream" / "jars"


def pinned(pins: Sequence[Pin]) -> tuple[Path, ...]:
    """The jars, fetched if they are not in the cache yet."""
    missing = [pin for pin in pins if not (cache() / pin.file).exists()]
    if missing:
        with tempfile.TemporaryDirectory() as folder:
            resolve([f"{pin.group}:{pin.name}:{pin.version}" for pin in missing], Path(folder), transitive=False)
            for pin in missing:
                keep(pin, Path(folder) / pin.file)
    return tuple(cache() / pin.file for pin in pins)


def keep(pin: Pin, fetched: Path) -> None:
    """Into the cache in one step: others may fetch it at the same time."""
    if not fetched.exists():
        raise FetchFailed(f"{pin.group}:{pin.name}:{pin.version} was not found")
    found = hashlib.sha256(fetched.read_bytes()).hexdigest()
    if found != pin.sha256:
        raise FetchFailed(f"{pin.file} has the checksum {found}, not {pin.sha256}")
    cache().mkdir(parents=True, exist_ok=True)
    part = cache() / f"{pin.file}.{os.getpid()}"
    shutil.copyfile(fetched, part)
    part.replace(cache() / pin.file)


def resolve(coordinates: Sequence[str], folder: Path, transitive: bool) -> None:
    """Puts the jars of `group:name:version`, and with `transitive` all that they need, into a folder.

    `group:name:version:classifier:ending` is one file that is not a jar.
    """
    with tempfile.TemporaryDirectory() as work:
        wanted = Path(work) / "ivy.xml"
        wanted.write_text(ivy_module(coordinates, transitive))
        found = f"{folder}/[artifact]-[revision].[ext]"
        command = [
            *(java(), "-jar", str(ivy()), *settings(), "-novalidate", "-cache", str(cache() / "ivy")),
            *("-ivy", str(wanted), "-types", "jar", "bundle", "other", "-retrieve", found),
        ]
        for attempt in range(TRIES):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode == 0 and "UNRESOLVED DEPENDENCIES" not in done.stdout + done.stderr:
                return
            if attempt == TRIES - 1:
                raise FetchFailed(why(done.stdout + done.stderr))


def ivy_module(coordinates: Sequence[str], transitive: bool) -> str:
    conf = "default->runtime(default),master" if transitive else "default->master"
    lines = []
    for coordinate in coordinates:
        group, name, version, *file = (quoteattr(part) for part in coordinate.split(":"))
        follow = "true" if transitive else "false"
        inner = f'<artifact name={name} type="other" ext={file[1]} m:classifier={file[0]}/>' if file else ""
        line = f'<dependency org={group} name={name} rev={version} conf="{conf}" transitive="{follow}">'
        lines.append(f"{line}{inner}</dependency>")
    return (
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">'
        '<info organisation="millstream" module="jars"/>'
        f'<configurations><conf name="default"/></configurations><dependencies>{"".join(lines)}</dependencies>'
        "</ivy-module>"
    )


def settings() -> list[str]:
    """Maven's own repository, unless an Ivy settings file names another."""
    own = os.environ.get("MILLSTREAM_IVY_SETTINGS")
    return ["-settings", own] if own else ["-m2compatible"]


def why(said: str) -> str:
    """What Ivy complains of: the first lines that say something."""
    signs = ("Exception", "not found", "Server access", "UnknownHost", "refused", "timed out", "Too Many")
    told = [line.strip(" :\t") for line in said.splitlines() if any(sign in line for sign in signs)]
    return "; ".join(dict.fromkeys(told[:2])) or said.strip().splitlines()[-1] if said.strip() else "Ivy did not run"


def java() -> str:
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if not found:
        raise FetchFailed("there is no java on the PATH")
    return found


def ivy() -> Path:
    """Of Spark's own jars."""
    spec = importlib.util.find_spec("pyspark")
    jars = sorted((Path(spec.origin).parent / "jars").glob("ivy-*.jar")) if spec and spec.origin else []
    if not jars:
        raise FetchFailed("the installed pyspark has no Ivy")
    return jars[-1]
