"""The state of a job's steps at the end of an epoch: typed rows, by step and list.

with saved_state("checkpoint", at=7) as state:
    state.arrow("totals")
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

from millstream.errors import MillstreamError, did_you_mean
from millstream.runtime.described import Described, read_checkpoint
from millstream.runtime.requests import followed
from millstream.runtime.savepoints.manifest import Savepoint, is_savepoint, read_savepoint
from millstream.spark import session
from millstream.spark.lower.state import StageShape
from millstream.spark.slots import Need
from millstream.spark.state.reading import SavedList, opened
from millstream.spark.state.tables import arrow_table, spark_frame
from millstream.spark.storages import jars
from millstream.storage.files import files_at, scheme

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

Row = dict[str, Any]


class Named(Protocol):
    """A list of a step's state."""

    @property
    def operator(self) -> str: ...

    @property
    def name(self) -> str: ...


class SavedState:
    """The state of a job's steps after an epoch. `close` it, or use it in a `with`: its rows are in files."""

    def __init__(
        self, job: str, epoch: int, lists: tuple[SavedList, ...], folder: str, spark: SparkSession, opened: ExitStack
    ) -> None:
        """`folder`: where the lists are. `opened`: what is closed with it."""
        self.job, self.epoch, self.lists = job, epoch, lists
        self._folder, self._spark, self._opened = folder, spark, opened

    def __enter__(self) -> SavedState:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._opened.close()

    def of(self, operator: str) -> list[SavedList]:
        """The lists of a step."""
        return [one for one in self.lists if one.operator == operator]

    def _one(self, operator: str, name: str | None) -> SavedList:
        found = self.of(operator)
        names = [one.name for one in found]
        chosen = [one for one in found if name is None or one.name == name]
        if not chosen:
            raise MillstreamError(
                "MS-STATE-002",
                f'step "{operator}" has no state "{name}".' if names else f'no step "{operator}" has state.',
                found="state: " + ", ".join(names or dict.fromkeys(one.operator for one in self.lists)),
                hint=did_you_mean(name or operator, names or [one.operator for one in self.lists]),
            )
        return chosen[0]

    def arrow(self, operator: str, name: str | None = None) -> pa.Table:
        """The rows of a step's state, from its first list or from the named one."""
        if files_at(self._folder).local:
            return arrow_table(self._folder, self._one(operator, name))
        return self.frame(operator, name).toArrow()

    def frame(self, operator: str, name: str | None = None) -> DataFrame:
        """The same for Spark; to be used before this is closed."""
        return spark_frame(self._spark, self._folder, self._one(operator, name))

    def sql(self, query: str) -> DataFrame:
        """Plain SQL over all lists: each is a table with the name of its step and its own, `totals_group`."""
        for one in self.lists:
            spark_frame(self._spark, self._folder, one).createOrReplaceTempView(table_name(one))
        return self._spark.sql(query)


def table_name(one: Named) -> str:
    return "".join(char if char.isalnum() else "_" for char in f"{one.operator}_{one.name}")


def saved_state(
    checkpoint: str, at: int | None = None, *, operators: Iterable[str] | None = None, spark: SparkSession | None = None
) -> SavedState:
    """The state in a checkpoint, of the last epoch or of one that is kept, or in a savepoint. The job may run."""
    session.prepare(spark, jars([checkpoint]), elsewhere=scheme(checkpoint) != "file")
    wanted = None if operators is None else frozenset(operators)
    if is_savepoint(checkpoint):
        return of_savepoint(read_savepoint(checkpoint), at, session_of(checkpoint, spark), wanted)
    about = read_checkpoint(followed(checkpoint))
    if wanted is not None:
        refuse_unknown(about.job, about.stages, wanted)
    return of_checkpoint(about, kept(about, at), session_of(checkpoint, spark), wanted)


def of_checkpoint(about: Described, epoch: int, spark: SparkSession, only: frozenset[str] | None) -> SavedState:
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="millstream-state-", ignore_cleanup_errors=True))
        with opened(spark, about.folder, epoch, about.stages, folder, operators=only) as state:
            lists = state.write()
        return SavedState(about.job, epoch, lists, folder, spark, stack.pop_all())


def of_savepoint(saved: Savepoint, at: int | None, spark: SparkSession, only: frozenset[str] | None) -> SavedState:
    """Its files are read where they lie."""
    manifest = saved.manifest
    if at not in (None, manifest.epoch):
        raise MillstreamError(
            "MS-STATE-001", f"the savepoint {saved.path} is of epoch {manifest.epoch}, and of no other one."
        )
    if only is not None:
        refuse_unknown(manifest.job, manifest.stages, only)
    lists = tuple(one for one in manifest.lists if only is None or one.operator in only)
    return SavedState(manifest.job, manifest.epoch, lists, saved.state, spark, ExitStack())


def session_of(checkpoint: str, spark: SparkSession | None) -> SparkSession:
    return session.use(spark, Need(2), 2, jars([checkpoint]))


def refuse_unknown(job: str, stages: Iterable[StageShape], wanted: frozenset[str]) -> None:
    steps = [name for stage in stages for name in stage.operators]
    for operator in wanted:
        if operator not in steps:
            raise MillstreamError(
                "MS-STATE-002",
                f'no step "{operator}" of job "{job}" has state.',
                found="steps with state: " + (", ".join(steps) or "none"),
                hint=did_you_mean(operator, steps),
            )


def kept(about: Described, at: int | None) -> int:
    """The epoch that is meant, if it is there."""
    epochs = about.folder.committed()
    if not epochs:
        raise MillstreamError("MS-STATE-001", f'job "{about.job}" has committed no epoch yet.')
    if at is None:
        return epochs[-1]
    if at not in epochs:
        raise MillstreamError(
            "MS-STATE-001",
            f'epoch {at} of job "{about.job}" is not kept.',
            found=f"epochs {epochs[0]} to {epochs[-1]} are",
            hint="to keep more of them, run the job with checkpoints=ms.checkpoints(keep=…)",
        )
    return at


def with_key(rows: list[Row], wanted: dict[str | None, str]) -> list[Row]:
    """Those whose key columns have these values, as text. Without a name: the first column."""
    return [
        row
        for row in rows
        if all(as_text(row.get(next(iter(row)) if name is None else name)) == text for name, text in wanted.items())
    ]


def as_text(value: Any) -> str:
    return (
        value
        if isinstance(value, str)
        else "null"
        if value is None
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )


def changes(before: list[Row], after: list[Row]) -> Iterator[tuple[int, Row]]:
    """What was removed (-1) and what was added (+1)."""
    counts: Counter[str] = Counter()
    shown: dict[str, Row] = {}
    for weight, rows in ((-1, before), (1, after)):
        for row in rows:
            name = json.dumps(row, default=str)
            counts[name] += weight
            shown[name] = row
    for name in sorted(counts, key=lambda one: (as_text(next(iter(shown[one].values()), None)), counts[one])):
        yield from ((1 if counts[name] > 0 else -1, shown[name]) for _ in range(abs(counts[name])))
