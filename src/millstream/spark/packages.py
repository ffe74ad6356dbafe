"""The kernels' jar and those that connectors need: where a job finds them, and what to do if it cannot."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from millstream.errors import MillstreamError
from millstream.plan.connectors import Jars, JarSet
from millstream.spark.fetch import FetchFailed, Pin, listed, pinned

KERNELS = "millstream-kernels.jar"
JAR = Path(__file__).resolve().parent.parent / "jars" / KERNELS


def jar() -> str:
    if not JAR.exists():
        raise MillstreamError(
            "MS-SETUP-001",
            "the Java kernels are missing from this installation.",
            hint="install millstream again, with a JDK 17 or newer on the machine",
        )
    return str(JAR)


def class_path(jars: tuple[Jars, ...]) -> str:
    """What Spark starts with. What is installed among its own jars is left out, and need not be fetched."""
    brought = [wanted for wanted in jars if not installed(wanted)]
    return ",".join([jar(), *(str(path) for wanted in brought for path in files(wanted))])


def pins(wanted: JarSet) -> tuple[Pin, ...]:
    return listed(Path(wanted.pins))


def installed(wanted: Jars) -> bool:
    """Whether they, and Millstream's own, are installed among Spark's jars: then there is nothing to send along."""
    folder = sparks_own()
    if folder is None:
        return False
    ours = (folder / name for name in own_names(wanted.set))
    return all(path.exists() for path in ours) and all(
        any(folder.glob(f"{pin.name}-*.jar")) for pin in pins(wanted.set)
    )


def sparks_own() -> Path | None:
    """The folder of Spark's jars; None in a container of YARN, which has Python's part of Spark alone."""
    with contextlib.suppress(SystemExit), contextlib.redirect_stderr(io.StringIO()):
        return Path(_find_spark_home()) / "jars"
    return None


def files(wanted: Jars) -> tuple[Path, ...]:
    """From the folder that the user names, `$MILLSTREAM_JARS`, the cache, or a Maven repository."""
    folder = wanted.folder or os.environ.get("MILLSTREAM_JARS")
    others = from_folder(wanted.set, Path(folder)) if folder else fetched(wanted.set)
    return (*others, *([Path(wanted.set.own)] if wanted.set.own else []))


def own_names(wanted: JarSet) -> tuple[str, ...]:
    """Of the jars that are Millstream's."""
    return (*([Path(wanted.own).name] if wanted.own else []), KERNELS)


def from_folder(wanted: JarSet, folder: Path) -> tuple[Path, ...]:
    """All jars of the folder, whatever their versions, which is up to the user. Our own jars are here."""
    found = tuple(sorted(folder.expanduser().glob("*.jar")))
    missing = [pin.name for pin in pins(wanted) if not any(path.name.startswith(f"{pin.name}-") for path in found)]
    if missing:
        raise MillstreamError(
            "MS-SETUP-004",
            f"the folder {folder} does not hold the jars that {wanted.name} needs.",
            found="missing: " + ", ".join(missing),
            hint=f"millstream jars {wanted.name} --to {folder}, on a machine that can fetch them",
        )
    return tuple(path for path in found if path.name not in own_names(wanted))


def fetched(wanted: JarSet) -> tuple[Path, ...]:
    try:
        return pinned(pins(wanted))
    except FetchFailed as error:
        raise MillstreamError(
            "MS-SETUP-005",
            f"the jars that {wanted.name} needs could not be fetched.",
            found=str(error),
            hint=f"where a Maven repository is within reach, run `millstream jars {wanted.name} --to FOLDER`; then say "
            'jars="FOLDER" on the source and the sink, or set MILLSTREAM_JARS=FOLDER. '
            "A repository of your own: MILLSTREAM_IVY_SETTINGS names an Ivy settings file",
        ) from error
