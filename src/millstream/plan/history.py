"""What came before a source's first row: the job's first epochs read it, then come the source's own rows."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.plan.connectors import FieldType, HasNoOrder, SourceOptions
from millstream.plan.errors import Step
from millstream.plan.nodes import Source
from millstream.plan.received import ReceivedSource


def check_history(source: Source, fields: Iterable[FieldType], step: Step) -> None:
    """`fields`: the columns that its records have. An error if they could not come from the source itself."""
    history = source.history
    assert history is not None
    if isinstance(history, ReceivedSource):
        raise step.error(
            "MS-SOURCE-009",
            f"takes its history from {history.label}, which cannot be read twice.",
            hint="history is read from files or a topic",
        )
    if history.changelog != source.options.changelog:
        raise step.error(
            "MS-SOURCE-009",
            f"{reads(source.options)}, and its history, {history.label}, {reads(history).replace('reads', 'has')}.",
            hint=f"give both changelog={source.options.changelog}",
        )
    if source.upserts is not None and isinstance(history, HasNoOrder):
        raise step.error(
            "MS-SOURCE-009",
            f"reads upserts, and its history is in {history.without_order}, whose rows have no order.",
            hint="keep the history in a topic",
        )
    if history.dead_letters != source.options.dead_letters:
        raise step.error(
            "MS-SOURCE-009",
            "puts records aside that it cannot read, and its history does not do so in the same way.",
            hint="give both the same dead_letters=",
        )
    refuse_other_columns(source, history, tuple(fields), step)


def reads(options: SourceOptions) -> str:
    return "reads a changelog" if options.changelog else "reads rows"


def refuse_other_columns(source: Source, history: SourceOptions, fields: tuple[FieldType, ...], step: Step) -> None:
    own = source.schema if source.arrival is None else source.schema[:-1]
    if fields != own:
        raise step.error(
            "MS-SOURCE-009",
            f"and its history, {history.label}, have different columns.",
            found=f"{listed(own)}; history: {listed(fields)}",
            hint="columns of the record itself (record=) must be the same",
        )


def listed(fields: tuple[FieldType, ...]) -> str:
    return ", ".join(f"{part.name} {part.type}" for part in fields)
