"""Reads all state of a checkpoint at the end of one epoch, complete and typed, in one pass over its stores.

    with opened(spark, checkpoint, epoch, stages, into=folder) as state:
        # Its files are on this machine now, whatever the running job deletes.
        lists = state.write()

No Spark job does this: in real time a job's tasks hold all slots for as long as it runs. The driver's threads do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from millstream.errors import MillstreamError
from millstream.spark import jvm
from millstream.spark.lower.state import StageShape
from millstream.spark.state.lists import TIMERS, StateList, lists_of
from millstream.spark.where import REQUIRED
from millstream.storage import CheckpointFolder, for_hadoop
from millstream.storage.names import file_name

RANGES = 4
"""A list is divided into this many files, by the hash of its key."""


@dataclass(frozen=True)
class SavedFile:
    """A part of a list: keys of one range of hashes."""

    name: str
    range: int
    rows: int
    sha256: str


@dataclass(frozen=True)
class SavedList:
    """A list that was written. `type`: Spark's JSON of a row's type. `fingerprint`: the same for the same rows in
    whatever order, on however many partitions."""

    operator: str
    name: str
    kind: str
    type: str
    rows: int
    fingerprint: str
    files: tuple[SavedFile, ...]

    @property
    def folder(self) -> str:
        """Under the folder of all lists."""
        return folder_of(self.operator, self.name)


@dataclass(frozen=True)
class Share:
    """How many entries of state a task has. `stage`: as Spark counts them, from the last one."""

    stage: int
    task: int
    rows: int


def folder_of(operator: str, name: str) -> str:
    return f"{file_name(operator)}/{file_name(name)}"


class OpenedState:
    """The state of one epoch, whose files are on this machine."""

    def __init__(self, saving: Any) -> None:
        self._saving = saving

    def write(self) -> tuple[SavedList, ...]:
        """Writes all lists as Parquet. Empty lists of timers are left out."""
        found = json.loads(asked(self._saving.write))
        return tuple(saved(one) for one in found if one["rows"] or one["kind"] != TIMERS)

    def shares(self) -> tuple[Share, ...]:
        """How much each task has, once all is written."""
        return tuple(Share(**one) for one in json.loads(self._saving.shares()))

    def rows(self) -> int:
        """How many entries were read so far; may be asked by another thread."""
        return int(self._saving.rows())


@contextmanager
def opened(
    spark: SparkSession,
    checkpoint: CheckpointFolder,
    epoch: int,
    stages: Sequence[StageShape],
    into: str,
    *,
    ranges: int = RANGES,
    operators: frozenset[str] | None = None,
) -> Iterator[OpenedState]:
    """The state of an epoch, to be written under `into`. `operators`: only of these; then nothing is missed."""
    lists = lists_of(stages)
    wanted = [one for one in lists if operators is None or one.operator in operators]
    told = json.dumps([told_of(one, for_hadoop(into)) for one in wanted])
    arguments = (for_hadoop(checkpoint.spark), epoch, told, ranges, operators is None)
    found = asked(jvm.named("millstream.save.Saving").open, session_to_read(spark)._jsparkSession, *arguments)
    try:
        yield OpenedState(found)
    finally:
        found.close()


def told_of(one: StateList, into: str) -> dict[str, Any]:
    told = {**asdict(one), "folder": f"{into}/{folder_of(one.operator, one.name)}"}
    del told["number"]
    return told


def session_to_read(spark: SparkSession) -> SparkSession:
    """Spark reads state by the settings with which it was written."""
    own = spark.newSession()
    for name, value in REQUIRED.items():
        own.conf.set(name, value)
    return own


def saved(found: dict[str, Any]) -> SavedList:
    return SavedList(**{**found, "files": tuple(SavedFile(**file) for file in found["files"])})


def asked(method: Any, *arguments: Any) -> Any:
    """An error of ours, where the kernels say so."""
    try:
        return method(*arguments)
    except Py4JJavaError as error:
        text = str(error.java_exception)
        if "MS-SAVEPOINT-001: " in text:
            message = text.split("MS-SAVEPOINT-001: ", 1)[1].splitlines()[0]
            raise MillstreamError(
                "MS-SAVEPOINT-001",
                message,
                hint="the checkpoint was written by another version of Millstream: use that one",
            ) from error
        raise


def frame(spark: SparkSession, folder: str, one: SavedList) -> DataFrame:
    """A list that was written, as rows with the types that state has."""
    type_ = StructType.fromJson(json.loads(one.type))
    files = [f"{for_hadoop(folder)}/{one.folder}/{file.name}" for file in one.files]
    return spark.read.schema(type_).parquet(*files) if files else spark.createDataFrame([], type_)
