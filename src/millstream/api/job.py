"""A job: sources, steps, and sinks."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from millstream.api.command import current
from millstream.api.relation import Stream, Table
from millstream.api.static import Static
from millstream.errors import MillstreamError
from millstream.plan import nodes, sinks, sources
from millstream.plan.checkpoints import DEFAULT, Checkpoints
from millstream.plan.cluster import Cluster
from millstream.plan.connectors import SourceOptions
from millstream.plan.consumed import refuse_divided, refuse_mixed
from millstream.plan.errors import Step, here
from millstream.plan.explain import held_back, tree, warnings
from millstream.plan.given import refuse_no_source
from millstream.plan.modes import Batch, MicroBatch, Mode, ProcessingTime, RealTime, micro_batch, real_time
from millstream.plan.node import Node, walk
from millstream.plan.python import Codes
from millstream.plan.received import ReceivedByStep, ReceivedSource
from millstream.plan.restarts import Restarts, no_restart
from millstream.planner.history import over_history
from millstream.planner.stages import JobPlan, Pass, plan_job
from millstream.storage import CheckpointFolder
from millstream.storage.files import files_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.run import Run
    from millstream.runtime.savepoints.matching import Choices
    from millstream.runtime.savepoints.restoring import Restored
    from millstream.runtime.state import SavedState

LOG = logging.getLogger("millstream")


class Job:
    """A dataflow with a name. Declare sources with `stream` and `table`, then `run` it.

    `checkpoint`: the folder that holds its progress and state, by default `.millstream/NAME` in the working folder. A
    job that is started again continues from there. `parallelism`: the number of parts its state is divided into.
    `shared_disk`: whether all machines of a cluster share the local folders, as on a mounted disk.
    """

    def __init__(
        self, name: str, *, checkpoint: str | None = None, parallelism: int = 2, shared_disk: bool = False
    ) -> None:
        if not isinstance(name, str) or not name.replace("_", "").replace("-", "").isalnum():
            raise MillstreamError(
                "MS-PLAN-003", f"a job cannot be called {name!r}.", at=here(), hint="use letters, digits, _ and -"
            )
        command = current()
        parallelism = (command and command.parallelism) or parallelism
        if not isinstance(parallelism, int) or parallelism < 1:
            raise MillstreamError(
                "MS-PLAN-008",
                f'job "{name}" cannot run with parallelism {parallelism!r}.',
                at=here(),
                hint="a whole number, 1 or more",
            )
        self.name = name
        self.checkpoint = (command and command.checkpoint) or checkpoint or f".millstream/{name}"
        files_at(self.checkpoint, here())  # an error if it cannot hold a checkpoint
        self.parallelism = parallelism
        self.shared_disk = shared_disk
        self._sinks: tuple[nodes.Sink, ...] = ()
        self._was: dict[str, str] = {}
        """Steps that had other names when their state was saved."""
        self._codes = Codes()
        if command is not None:
            command.jobs.append(self)

    def stream(
        self,
        source: SourceOptions,
        schema: str | None = None,
        *,
        time: str | ProcessingTime | None = None,
        lateness: str | None = None,
        idle_after: str | None = None,
        history: SourceOptions | None = None,
        name: str | None = None,
    ) -> Stream:
        """A stream of facts: `job.stream(journal.source("likes"), schema="liker STRING, at TIMESTAMP")`.

        `time`: the column with a row's event time, or `ms.processing_time()`. `lateness`: how late rows may be.
        `idle_after`: after how long without rows time goes on without this source. `history`: where the rows before its
        first one are, `files.source("archive", format="parquet")`; `run(backfill=True)` begins with them.
        """
        refuse_no_source(source, "stream")
        if source.changelog:
            raise Step(name or source.label, here()).error(
                "MS-SOURCE-003", "reads a changelog, whose rows are taken back, as a stream.", hint="use job.table()"
            )
        source = self._bound(source, name)
        if source.format == "debezium" or (isinstance(source, ReceivedSource) and source.key()):
            raise Step(name or source.label, here()).error(
                "MS-SOURCE-003", "reads the changes of a table as a stream.", hint="use job.table()"
            )
        schema = schema or (source.schema() if isinstance(source, ReceivedSource) else None)
        node = sources.source(source, schema, name, None, time, lateness, idle_after, history)
        self._dead_letters(node)
        return Stream(self, node)

    def _bound(self, source: SourceOptions, name: str | None) -> SourceOptions:
        """What is received lies in the job's checkpoint."""
        if isinstance(source, ReceivedByStep):
            source = source.of_step(name or source.label)
        if isinstance(source, ReceivedSource):
            return source.bound(self.name, CheckpointFolder.at(self.checkpoint).received)
        return source

    def table(
        self,
        source: SourceOptions,
        schema: str | None = None,
        *,
        key: str | tuple[str, ...] | None = None,
        time: str | None = None,
        lateness: str | None = None,
        idle_after: str | None = None,
        history: SourceOptions | None = None,
        name: str | None = None,
    ) -> Table:
        """A relation that changes: the latest row of each key, or a changelog.

        `time`: the column that says since when a row is valid. With `lateness` the watermark waits for the table, too,
        unless it has had no rows for `idle_after`. `history`: as for `stream`.
        """
        refuse_no_source(source, "table")
        source = self._bound(source, name)
        if isinstance(source, ReceivedSource):
            schema, key = schema or source.schema(), key or source.key() or None
        if key is None:
            raise Step(name or source.label, here()).error(
                "MS-SOURCE-005", "is a table without a key.", hint="add key="
            )
        keys = (key,) if isinstance(key, str) else tuple(key)
        node = sources.source(source, schema, name, keys, time, lateness, idle_after, history)
        self._dead_letters(node)
        return Table(self, sources.table(node, keys))

    def static(self, source: SourceOptions, schema: str | None = None, *, name: str | None = None) -> Static:
        """Rows that do not change while the job runs, for `enrich`: read at the start, and held by every task."""
        refuse_no_source(source, "static")
        return Static(self, sources.static(source, schema, name))

    def _dead_letters(self, node: nodes.Source) -> None:
        sink = node.options.dead_letters
        if sink is not None:
            self._add(sinks.sink(nodes.DeadLetters(None, node.at, node), sink, None, None))

    def _add(self, sink: nodes.Sink) -> None:
        refuse_doubles((*self._sinks, sink))
        refuse_company((*self._sinks, sink))
        refuse_divided((*self._sinks, sink))
        refuse_mixed((*self._sinks, sink))
        self._sinks = (*self._sinks, sink)

    def plan(self) -> JobPlan:
        """The job cut into stages; refused if it writes nothing."""
        if not self._sinks:
            raise MillstreamError(
                "MS-PLAN-001", f'job "{self.name}" writes nothing.', at=here(), hint="end it with .to(a sink)"
            )
        return plan_job(self._sinks)

    def explain(self) -> str:
        """The dataflow as a tree: operators, keys, append or changelog, stages, sinks with their guarantee; which
        sources hold time back; and what the current Spark session lacks for real time."""
        from millstream.runtime.real_time import warnings_of_session

        plan = self.plan()
        notes = {op: f"stage {i}" for i, stage in enumerate(plan.stages, 1) for op in stage.operators}
        shown: set[Node] = set()
        lines = [
            f"job {self.name}: {count(len(plan.sources), 'source')}, {count(len(plan.stages), 'stage')}, "
            f"{count(len(plan.sinks), 'sink')}",
            *held_back(plan.sources),
        ]
        for sink in plan.sinks:
            lines += tree(sink, {op: note for op, note in notes.items() if not isinstance(op, Pass)}, shown)
        return "\n".join([*lines, *warnings(plan.sinks), *warnings_of_session()])

    def start(
        self,
        mode: Mode | None = None,
        *,
        restarts: Restarts | None = None,
        checkpoints: Checkpoints | None = None,
        on: Cluster | None = None,
        spark: SparkSession | None = None,
        backfill: bool = False,
        progress: bool = False,
        metrics_port: int | None = None,
    ) -> Run:
        """Starts the job and returns the run, to watch, wait for and stop: like `run`, but without waiting.

        A batch has ended when this returns, and so has the reading of history if `backfill` asks for it. Any other run
        continues in the background, but only `run.poll()` and `run.wait()` notice a failure and restart the job.
        `progress`: show on stderr what it does, while `wait()` runs. `metrics_port`: serve its figures to Prometheus on
        this port of this machine; 0: on any free port, see `Run.metrics_url`.
        """
        from millstream.runtime.backfill import begin_job
        from millstream.runtime.setting import Setting
        from millstream.runtime.watching import Watching

        command = current()
        chosen = (command.start(self, mode) if command else mode) or self._default(spark)
        if not isinstance(chosen, Batch | MicroBatch | RealTime):
            raise MillstreamError(
                "MS-RUN-001",
                f"{mode!r} is not a mode.",
                at=here(),
                hint="use ms.batch(), ms.micro_batch(), ms.available_now() or ms.real_time()",
            )
        kept = checkpoints or DEFAULT
        kept.retained(chosen)  # an error if keep_for has no meaning in this mode
        setting = Setting(chosen, self.checkpoint, self.parallelism, spark, self._place(on), kept)
        policy = (command and command.restarts) or restarts or no_restart()
        plan = self.plan()
        for warning in () if isinstance(chosen, Batch) else warnings(plan.sinks):
            LOG.warning('job "%s": %s', self.name, warning.removeprefix("warning: "))
        if command is not None:
            progress = progress or command.progress
            metrics_port = metrics_port if command.metrics_port is None else command.metrics_port
            backfill = backfill or command.backfill
            if command.when_planned is not None:
                command.when_planned(self, plan)
        past = over_history(self._sinks) if backfill else None
        run = begin_job(self.name, plan, past, setting, policy, Watching(progress, metrics_port))
        if command is not None and command.when_started is not None:
            command.when_started(run)
        return run

    def run(
        self,
        mode: Mode | None = None,
        *,
        restarts: Restarts | None = None,
        checkpoints: Checkpoints | None = None,
        on: Cluster | None = None,
        spark: SparkSession | None = None,
        backfill: bool = False,
        progress: bool = False,
        metrics_port: int | None = None,
    ) -> Run:
        """Runs the job until its input ends, it fails for good, or Ctrl-C or SIGTERM stops it.

        `mode`: `ms.batch()`, `ms.available_now()`, `ms.micro_batch()` or `ms.real_time()`; by default real time.
        `restarts`: what to do if it fails. `checkpoints`: how long they are kept and what to do if one fails,
        `ms.checkpoints(…)`. `on`: where to run, `ms.cluster("spark://…")`; by default in the active session, where
        spark-submit says, or on this machine. `spark`: a session of your own. `backfill`: a new job first reads the
        `history=` of its sources, and then the sources themselves. `progress` and `metrics_port`: as for `start`.
        Returns the run, which says how it ended and what it counted.
        """
        run = self.start(
            mode,
            restarts=restarts,
            checkpoints=checkpoints,
            on=on,
            spark=spark,
            backfill=backfill,
            progress=progress,
            metrics_port=metrics_port,
        )
        run.wait()
        return run

    def state(
        self, at: int | None = None, *, operators: Iterable[str] | None = None, spark: SparkSession | None = None
    ) -> SavedState:
        """The state of its steps as typed rows, after the last epoch or an earlier one that is kept.

        The job may be running, here or elsewhere.
        """
        from millstream.runtime.state import saved_state

        return saved_state(self.checkpoint, at, operators=operators, spark=spark)

    def restore(
        self,
        savepoint: str,
        *,
        was: Mapping[str, str] | None = None,
        drop: Iterable[str] = (),
        start_empty: Iterable[str] = (),
        from_now: Iterable[str] = (),
        new_sources: Iterable[str] = (),
        fork: bool = False,
        on: Cluster | None = None,
        spark: SparkSession | None = None,
    ) -> Restored:
        """Creates the job's checkpoint, which must be new, from a savepoint: `run` then continues from there.

        Steps are found by name. `was`: the old names of steps with new ones. `drop`: steps whose state is given up.
        `start_empty`: new steps that start without state although rows may be taken back that they have not seen.
        `from_now`: steps whose new results count from now on, because the state does not cover what came before.
        `new_sources`: sources that are read from where their options say, as in a new job. `fork`: leaves the saved job
        as it is; write to other sinks than it does.
        """
        from millstream.runtime.savepoints.matching import Choices

        old, empty, now, new = (frozenset(names) for names in (drop, start_empty, from_now, new_sources))
        choices = Choices(was or {}, old, empty, now, new, fork)
        return self._restore(savepoint, choices, on, spark)

    def _restore(
        self, savepoint: str, choices: Choices, on: Cluster | None = None, spark: SparkSession | None = None
    ) -> Restored:
        from millstream.runtime.savepoints.of_job import restored

        place = (self.checkpoint, self.parallelism, self._place(on), spark)
        return restored(self.name, self.plan(), *place, savepoint, choices.knowing(self._was))

    def _place(self, on: Cluster | None) -> Cluster:
        """Where to run: the command line takes precedence over the file."""
        command = current()
        said = (on or Cluster()).under(command.on if command else None)
        return replace(said, shared_disk=said.shared_disk or self.shared_disk)

    def _default(self, spark: SparkSession | None) -> Mode:
        """Real time; with Python code, only if the job can run in real time."""
        from millstream.runtime.real_time import why_python_cannot

        why = why_python_cannot(self.plan(), spark)
        if why is None:
            return real_time()
        chosen = micro_batch()
        LOG.warning('job "%s" runs in micro-batches, every %g s: %s', self.name, chosen.every_ms / 1000, why)
        return chosen

    def __repr__(self) -> str:
        sinks = ", ".join(sink.name for sink in self._sinks) or "no sink yet"
        return f"<Job {self.name}: writes {sinks}; checkpoint {self.checkpoint}, parallelism {self.parallelism}>"


def count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def refuse_company(sinks: tuple[nodes.Sink, ...]) -> None:
    """A sink that takes rows instead of records must be the job's only one."""
    lonely = next((sink for sink in sinks if sink.options.format == "rows"), None)
    if lonely is not None and len(sinks) > 1:
        raise Step(lonely.name, lonely.at).error(
            "MS-SINK-009",
            f"writes to {lonely.options.system}, which must be the only sink of a job.",
            found="sinks: " + ", ".join(sink.name for sink in sinks),
            hint="leave it out, or move it to a job of its own",
        )


def refuse_doubles(sinks: tuple[nodes.Sink, ...]) -> None:
    """A name stands for one operator, one source, one sink."""
    seen: dict[tuple[bool, str], Node] = {}
    listed = [*(node for node in walk(sinks) if not isinstance(node, nodes.Sink)), *sinks]
    for node in listed:
        place = (isinstance(node, nodes.Sink), node.name)
        other = seen.setdefault(place, node)
        if other != node or (other is not node and isinstance(node, nodes.Sink)):
            raise Step(node.name, node.at).error(
                "MS-PLAN-009",
                "has the name of another step.",
                found=f"the other one is at {other.at}",
                hint='give one of them a name of its own: .named("…"), or name="…" on a source or sink',
            )
