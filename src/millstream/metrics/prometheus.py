"""A run's figures as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from millstream.metrics.model import Metrics

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels = dict[str, str]
Sample = tuple[Labels, float | None]
"""None: not known, and left out."""


@dataclass(frozen=True)
class Family:
    """All samples of one name."""

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    samples: tuple[Sample, ...]

    def of(self, job: str) -> Family:
        """The same, with the job's name on every sample."""
        return replace(self, samples=tuple(({"job_name": job, **labels}, value) for labels, value in self.samples))

    def text(self) -> Iterator[str]:
        known = [(labels, value) for labels, value in self.samples if value is not None]
        if not known:
            return
        yield f"# HELP {self.name} {self.help}"
        yield f"# TYPE {self.name} {self.kind}"
        for labels, value in known:
            shown = ",".join(f'{name}="{escaped(text)}"' for name, text in labels.items())
            yield f"{self.name}{{{shown}}} {value:.17g}" if labels else f"{self.name} {value:.17g}"


def text(*runs: Metrics, others: Sequence[Family] = ()) -> str:
    """The figures of runs, and of others: all samples of one name are together."""
    found: dict[str, Family] = {}
    for family in [*others, *(family for now in runs for family in families(now))]:
        before = found.get(family.name)
        found[family.name] = replace(family, samples=(*before.samples, *family.samples)) if before else family
    return "\n".join([line for family in found.values() for line in family.text()]) + "\n"


def families(now: Metrics) -> list[Family]:
    found = [*of_job(now), *of_sources(now), *of_receptions(now), *of_operators(now), *of_stages(now), *of_sinks(now)]
    return [family.of(now.job) for family in found]


def escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()


def of_job(now: Metrics) -> list[Family]:
    last = now.last_epoch
    phases = tuple(({"phase": name}, ms / 1000) for name, ms in now.phases_ms.items())
    lasts = tuple(({"phase": name}, ms / 1000) for name, ms in last.phases_ms.items()) if last else ()
    return [
        Family("millstream_up", "gauge", "1 while the job runs.", (({}, float(now.state == "running")),)),
        Family("millstream_restarts_total", "counter", "Starts after a failure.", (({}, now.restarts),)),
        Family("millstream_epochs_total", "counter", "Epochs that have ended.", (({}, now.epochs),)),
        Family(
            "millstream_last_epoch", "gauge", "The last epoch that has ended.", (({}, last.epoch if last else None),)
        ),
        Family(
            "millstream_last_epoch_duration_seconds",
            "gauge",
            "How long the last epoch took.",
            (({}, last.duration_ms / 1000 if last else None),),
        ),
        Family("millstream_last_epoch_phase_seconds", "gauge", "What the last epoch spent in each phase.", lasts),
        Family("millstream_epoch_phase_seconds_total", "counter", "What all epochs spent in each phase.", phases),
        Family(
            "millstream_watermark_timestamp_seconds",
            "gauge",
            "How far event time has come, in seconds since 1970.",
            (({}, seconds(now.watermark)),),
        ),
    ]


def of_sources(now: Metrics) -> list[Family]:
    def family(name: str, kind: Literal["counter", "gauge"], help: str, *values: float | None) -> Family:
        labels = ({"source": part.name} for part in now.sources)
        return Family(f"millstream_source_{name}", kind, help, tuple(zip(labels, values, strict=True)))

    parts = now.sources
    return [
        family("rows_total", "counter", "Rows read.", *(part.rows for part in parts)),
        family("bytes_total", "counter", "Bytes of the records read.", *(part.bytes for part in parts)),
        family("skipped_rows_total", "counter", "Records that could not be read.", *(part.skipped for part in parts)),
        family("lag_rows", "gauge", "Rows not yet read when the last epoch ended.", *(part.lag for part in parts)),
        family(
            "watermark_timestamp_seconds",
            "gauge",
            "How far event time has come in the source, in seconds since 1970.",
            *(seconds(part.watermark) for part in parts),
        ),
        family("idle", "gauge", "1 if time goes on without it.", *(float(part.idle) for part in parts)),
    ]


def of_receptions(now: Metrics) -> list[Family]:
    parts = [(part.name, part.reception) for part in now.sources if part.reception is not None]

    def family(name: str, kind: Literal["counter", "gauge"], help: str, *values: float | None) -> Family:
        labels = ({"source": source} for source, _ in parts)
        return Family(f"millstream_source_{name}", kind, help, tuple(zip(labels, values, strict=True)))

    return [
        family("received_total", "counter", "Messages received.", *(one.received for _, one in parts)),
        family("acknowledged_total", "counter", "Messages acknowledged.", *(one.acknowledged for _, one in parts)),
        family("redelivered_total", "counter", "Messages delivered again.", *(one.redelivered for _, one in parts)),
        family("duplicates_total", "counter", "Duplicates that were dropped.", *(one.duplicates for _, one in parts)),
        family("waiting", "gauge", "Messages that wait in the system.", *(one.waiting for _, one in parts)),
        family(
            "behind_seconds",
            "gauge",
            "By how much what was received last is older than the newest there is.",
            *(None if one.behind_ms is None else one.behind_ms / 1000 for _, one in parts),
        ),
        family("behind_bytes", "gauge", "Bytes of the log not yet received.", *(one.behind_bytes for _, one in parts)),
    ]


def of_operators(now: Metrics) -> list[Family]:
    def family(name: str, kind: Literal["counter", "gauge"], help: str, *values: float | None) -> Family:
        labels = ({"operator": part.name, "stage": str(part.stage)} for part in now.operators)
        return Family(f"millstream_operator_{name}", kind, help, tuple(zip(labels, values, strict=True)))

    parts = now.operators
    failed = tuple(({"function": part.name}, float(part.skipped)) for part in now.functions)
    return [
        family("rows_in_total", "counter", "Changes that came in.", *(part.rows_in for part in parts)),
        family("rows_out_total", "counter", "Changes that went out.", *(part.rows_out for part in parts)),
        family("late_rows_total", "counter", "Rows too late, or without a time.", *(part.late for part in parts)),
        family("skipped_rows_total", "counter", "Rows its code failed on.", *(part.skipped for part in parts)),
        family("timers_set_total", "counter", "Timers that were set.", *(part.timers_set for part in parts)),
        family("timers_rung_total", "counter", "Timers that have rung.", *(part.timers_rung for part in parts)),
        family("busy_seconds_total", "counter", "Time spent, over all tasks.", *(part.seconds for part in parts)),
        family(
            "watermark_timestamp_seconds",
            "gauge",
            "How far event time has come for the operator, in seconds since 1970.",
            *(seconds(part.watermark) for part in parts),
        ),
        Family("millstream_function_skipped_rows_total", "counter", "Rows that a Python function failed on.", failed),
    ]


def of_stages(now: Metrics) -> list[Family]:
    labels = [{"stage": str(part.number)} for part in now.stages]
    rows = tuple(zip(labels, (part.state_rows for part in now.stages), strict=True))
    sizes = tuple(zip(labels, (part.state_bytes for part in now.stages), strict=True))
    saved = tuple(zip(labels, (part.commit_ms / 1000 for part in now.stages), strict=True))
    return [
        Family("millstream_state_rows", "gauge", "Rows in a stage's store, if they are counted.", rows),
        Family("millstream_state_bytes", "gauge", "Bytes in a stage's store.", sizes),
        Family("millstream_state_commit_seconds", "gauge", "What saving the last epoch's changes took.", saved),
    ]


def of_sinks(now: Metrics) -> list[Family]:
    def family(name: str, kind: Literal["counter", "gauge"], help: str, *values: float | None) -> Family:
        labels = ({"sink": part.name} for part in now.sinks)
        return Family(f"millstream_sink_{name}", kind, help, tuple(zip(labels, values, strict=True)))

    parts = now.sinks
    return [
        family("rows_total", "counter", "Records written.", *(part.rows for part in parts)),
        family("bytes_total", "counter", "Bytes of the records written.", *(part.bytes for part in parts)),
        family("prepared_epoch", "gauge", "The last epoch whose rows are safe.", *(part.prepared for part in parts)),
        family("published_epoch", "gauge", "The last epoch that readers see.", *(part.published for part in parts)),
    ]
