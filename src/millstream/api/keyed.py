"""A stream by key, and the output of a process over it."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from millstream.api.process import Process, described
from millstream.api.relation import GroupedTable, Stream
from millstream.errors import did_you_mean
from millstream.plan import python, sinks, times
from millstream.plan.connectors import SinkOptions
from millstream.plan.errors import Step, here
from millstream.plan.nodes import Timed


class KeyedStream(GroupedTable):
    """A stream by key."""

    def process(
        self,
        process: type[Process] | Process,
        *,
        on_error: str | SinkOptions = "fail",
        name: str | None = None,
        time: str | None = None,
    ) -> Processed:
        """Python code with state, for the rows of each key: `likes.key_by("pair").process(Matcher)`.

        `time`: which column of the rows that it yields is the event time.
        """
        kind = process if isinstance(process, type) else type(process)
        step = Step(name or (kind.__name__ if issubclass(kind, Process) else "process"), here())
        policy, sink = python.error_policy(on_error, step)
        node = python.process(self._node, self._keys, described(process, self._job._codes, step), policy, name, step)
        if sink is not None:
            letters = python.output(node, len(node.schemas) - 1)
            self._job._add(sinks.sink(letters, sink, None, f"{sink.label}_of_{node.name}"))
        return Processed(self._job, times.timed(python.output(node, 0), time, node.schemas[0], step))


class Processed(Stream):
    """What a process yields; `output` has its further outputs."""

    def output(self, name: str, *, time: str | None = None) -> Stream:
        """One of the process's further outputs: `alerts = matches.output("alerts")`. `time`: its event time."""
        process = self._process("output")
        names = [other for other, _ in process.run.outputs]
        if not name or name not in names:
            raise Step(process.name, here()).error(
                "MS-PROCESS-010",
                f"has no output {name!r}.",
                found="outputs: " + (", ".join(other for other in names if other) or "none but the main one"),
                hint=did_you_mean(name, names),
            )
        number = names.index(name)
        step = Step(process.name, here())
        return Stream(self._job, times.timed(python.output(process, number), time, process.schemas[number], step))

    def named(self, name: str, *, was: str | None = None) -> Self:
        """Names the process. Its state is found again by that name."""
        given = super().named(name, was=was)._node.given
        named = python.output(replace(self._process("named"), given=given), 0)
        return self._same(replace(self._node, input=named) if isinstance(self._node, Timed) else named)

    def _process(self, call: str) -> python.Process:
        rows = self._node.input if isinstance(self._node, Timed) else self._node
        chosen = rows.inputs[0]
        found = chosen.inputs[0] if chosen.inputs else None
        if not isinstance(rows, python.Output) or not isinstance(found, python.Process):
            raise Step(call, here()).error(
                "MS-PROCESS-010", "does not follow process() at once.", hint="call it right after process()"
            )
        return found
