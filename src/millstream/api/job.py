"""A job: sources, what is made of them, and sinks."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from millstream.api.command import current
from millstream.api.relation import Static, Stream, Table
from millstream.errors import MillstreamError
from millstream.plan import build, nodes
from millstream.plan.connectors import ReceivedSource, SourceOptions
from millstream.plan.errors import Step, here
from millstream.plan.explain import held_back, tree, warnings
from millstream.plan.modes import Batch, MicroBatch, Mode, ProcessingTime, RealTime, real_time
from millstream.plan.node import Node, walk
from millstream.plan.python import Call, Codes, Process
from millstream.plan.restarts import Restarts, no_restart
from millstream.planner.stages import JobPlan, Pass, plan_job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.run import Run

LOG = logging.getLogger("millstream")


class Job:
    """A dataflow with a name. Declare sources with `stream` and `table`, then `run` it."""

    def __init__(self, name: str, *, checkpoint: str | None = None, parallelism: int = 2) -> None:
        step = Step(name, here())
        if not name.replace("_", "").replace("-", "").isalnum():
            raise step.error("MS-PLAN-003", f"cannot be called {name!r}.", hint="use letters, digits, _ and -")
        if parallelism < 1:
            raise step.error("MS-PLAN-008", f"cannot run with parallelism {parallelism}.", hint="1 or more")
        self.name = name
        command = current()
        self.checkpoint = (command and command.checkpoint) or checkpoint or f".millstream/{name}"
        self.parallelism = parallelism
        self._sinks: tuple[nodes.Sink, ...] = ()
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
        name: str | None = None,
    ) -> Stream:
        """A stream of facts: `job.stream(journal.source("likes"), schema="liker STRING, at TIMESTAMP")`.

        `time`: the column with a row's event time, or `ms.processing_time()`. `lateness`: how late rows may be.
        `idle_after`: when no row came for so long, time goes on without this source.
        """
        if source.changelog:
            raise Step(name or source.label, here()).error(
                "MS-SOURCE-003", "reads a changelog, whose rows are taken back, as a stream.", hint="use job.table()"
            )
        if source.format == "debezium":
            raise Step(name or source.label, here()).error(
                "MS-SOURCE-003", "reads the changes of a table as a stream.", hint="use job.table()"
            )
        node = build.source(source, schema, name, None, time, lateness, idle_after)
        self._dead_letters(node)
        return Stream(self, node)

    def table(
        self,
        source: SourceOptions,
        schema: str | None = None,
        *,
        key: str | tuple[str, ...] | None = None,
        time: str | None = None,
        lateness: str | None = None,
        idle_after: str | None = None,
        name: str | None = None,
    ) -> Table:
        """A relation that changes: the latest row of each key, or a changelog.

        `time`: the column that says since when a row is so. With `lateness` the watermark waits for the table, too,
        unless it has brought nothing for `idle_after`.
        """
        if isinstance(source, ReceivedSource):
            source = source.bound(self.name, self.checkpoint)
            schema, key = schema or source.schema(), key or source.key()
        if key is None:
            raise Step(name or source.label, here()).error(
                "MS-SOURCE-005", "is a table without a key.", hint="add key="
            )
        keys = (key,) if isinstance(key, str) else tuple(key)
        node = build.source(source, schema, name, keys, time, lateness, idle_after)
        self._dead_letters(node)
        return Table(self, build.table(node, keys))

    def static(self, source: SourceOptions, schema: str | None = None, *, name: str | None = None) -> Static:
        """Rows that do not change while the job runs, for `enrich`: read when it starts, and held by every task."""
        return Static(self, build.static(source, schema, name))

    def _dead_letters(self, node: nodes.Source) -> None:
        sink = node.options.dead_letters
        if sink is not None:
            self._add(build.sink(nodes.DeadLetters(None, node.at, node), sink, None, None))

    def _add(self, sink: nodes.Sink) -> None:
        refuse_doubles((*self._sinks, sink))
        refuse_company((*self._sinks, sink))
        self._sinks = (*self._sinks, sink)

    def plan(self) -> JobPlan:
        """The job cut into stages; refused if it writes nothing."""
        if not self._sinks:
            raise MillstreamError(
                "MS-PLAN-001", f'job "{self.name}" writes nothing.', at=here(), hint="end it with .to(a sink)"
            )
        return plan_job(self._sinks)

    def explain(self) -> str:
        """The dataflow as a tree: operators, keys, append or changelog, stages, sinks with their guarantee; and which
        sources hold time back."""
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
        return "\n".join([*lines, *warnings(plan.sinks)])

    def start(
        self, mode: Mode | None = None, *, restarts: Restarts | None = None, spark: SparkSession | None = None
    ) -> Run:
        """Starts the job and gives a handle to watch and stop it. `restarts`: what to do if it fails."""
        from millstream.runtime.run import Run, Setting

        command = current()
        chosen = (command.start(self, mode) if command else mode) or real_time()
        if not isinstance(chosen, Batch | MicroBatch | RealTime):
            raise MillstreamError(
                "MS-RUN-001",
                f"{mode!r} is not a mode.",
                at=here(),
                hint="use ms.batch(), ms.micro_batch(), ms.available_now() or ms.real_time()",
            )
        if isinstance(chosen, RealTime):
            refuse_python(self._sinks)
        setting = Setting(chosen, self.checkpoint, self.parallelism, spark)
        policy = (command and command.restarts) or restarts or no_restart()
        plan = self.plan()
        for warning in () if isinstance(chosen, Batch) else warnings(plan.sinks):
            LOG.warning('job "%s": %s', self.name, warning.removeprefix("warning: "))
        return Run.begin(self.name, plan, setting, policy)

    def run(
        self, mode: Mode | None = None, *, restarts: Restarts | None = None, spark: SparkSession | None = None
    ) -> None:
        """Runs the job until its input ends, it fails for good, or it is interrupted."""
        self.start(mode, restarts=restarts, spark=spark).wait()


def refuse_python(sinks: tuple[nodes.Sink, ...]) -> None:
    """Spark hands rows to Python in batches, which in real time would only come back when the epoch ends."""
    for node in walk(sinks):
        if isinstance(node, Process | Call):
            raise Step(node.name, node.at).error(
                "MS-PROCESS-008",
                "runs Python code, which cannot run in real time: Spark gives its rows back at the epoch's end only.",
                hint="run the job with ms.micro_batch(), or write the step as SQL: where, select, agg, join",
            )


def count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def refuse_company(sinks: tuple[nodes.Sink, ...]) -> None:
    """Rows that are not made into records cannot go the way of those that are."""
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
