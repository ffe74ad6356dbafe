"""The jars that connectors need: where a job finds them, and what to do where it cannot."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from millstream.errors import MillstreamError
from millstream.plan.connectors import Jars
from millstream.spark.fetch import KAFKA, FetchFailed, Pin, pinned

OURS = Path(__file__).resolve().parent.parent / "jars"


@dataclass(frozen=True)
class Set:
    """Pinned jars, Millstream's own beside them, and a class by which one sees that they are installed."""

    pins: tuple[Pin, ...]
    kernels: str
    sign: str


SETS = {"kafka": Set(KAFKA, "millstream-kafka.jar", "millstream.kafka.Topics")}


def installed(wanted: Jars) -> bool:
    """Whether somebody has put them, and Millstream's own, among Spark's jars: then there is nothing to bring."""
    folder = Path(_find_spark_home()) / "jars"
    chosen = SETS[wanted.name]
    ours = (folder / name for name in (chosen.kernels, "millstream-kernels.jar"))
    return all(path.exists() for path in ours) and all(any(folder.glob(f"{pin.name}-*.jar")) for pin in chosen.pins)


def files(wanted: Jars) -> tuple[Path, ...]:
    """From the folder that the user names, `$MILLSTREAM_JARS`, the cache, or a Maven repository."""
    chosen = SETS[wanted.name]
    folder = wanted.folder or os.environ.get("MILLSTREAM_JARS")
    return (*(from_folder(wanted.name, Path(folder)) if folder else fetched(wanted.name)), OURS / chosen.kernels)


def from_folder(name: str, folder: Path) -> tuple[Path, ...]:
    """All jars of the folder, whatever their versions: who brings them knows."""
    found = tuple(sorted(folder.expanduser().glob("*.jar")))
    missing = [pin.name for pin in SETS[name].pins if not any(path.name.startswith(f"{pin.name}-") for path in found)]
    if missing:
        raise MillstreamError(
            "MS-SETUP-004",
            f"the folder {folder} does not hold the jars that {name} needs.",
            found="missing: " + ", ".join(missing),
            hint=f"millstream jars {name} --to {folder}, on a machine that can fetch them",
        )
    ours = {one.kernels for one in SETS.values()}
    return tuple(path for path in found if path.name not in ours and path.name != "millstream-kernels.jar")


def fetched(name: str) -> tuple[Path, ...]:
    try:
        return pinned(SETS[name].pins)
    except FetchFailed as error:
        raise MillstreamError(
            "MS-SETUP-005",
            f"the jars that {name} needs could not be fetched.",
            found=str(error),
            hint=f"where a Maven repository is within reach, run `millstream jars {name} --to FOLDER`; then say "
            'jars="FOLDER" on the source and the sink, or set MILLSTREAM_JARS=FOLDER. '
            "A repository of your own: MILLSTREAM_IVY_SETTINGS names an Ivy settings file",
        ) from error
