"""The sinks of a job as the kernels know them, and writing a batch to them."""

from __future__ import annotations

import json

from pyspark.sql import SparkSession

from millstream.plan.connectors import CarriedSink, KeepsSecrets
from millstream.plan.nodes import Sink
from millstream.spark import jvm
from millstream.spark.lower.job import Lowered
from millstream.spark.lower.sink import columns
from millstream.spark.target import Target
from millstream.storage.checkpoint import outbox_topic


def write_batch(lowered: Lowered, sinks: tuple[Sink, ...], target: Target, spark: SparkSession) -> None:
    listed = sinks_json(sinks, target, lowered, spark)
    lowered.frame.write.format(form(sinks)).option("sinks", listed).mode("append").save()


def form(sinks: tuple[Sink, ...]) -> str:
    """Spark's name of the writer: ours, or its own, which drops all rows."""
    return "noop" if all(sink.options.format == "rows" for sink in sinks) else "millstream-sinks"


def sinks_json(sinks: tuple[Sink, ...], target: Target, lowered: Lowered, spark: SparkSession) -> str:
    """The sinks as the kernels know them. Secrets go another way: this text is shown in Spark's plans."""
    listed = []
    whole = {part.name: part.dataType.json() for part in lowered.frame.schema.fields if part.name.startswith("row")}
    for tag, sink in enumerate(sinks):
        if sink.options.format == "rows":
            continue
        if isinstance(sink.options, KeepsSecrets):
            for placeholder, secret in sink.options.secrets().items():
                jvm.named("millstream.sink.Secrets").put(placeholder, secret)
        schema = {"schema": whole[f"row{tag}"]} if f"row{tag}" in whole else {}
        about = {
            "name": sink.name,
            "mode": sink.mode,
            "writer": target.writer(sink),
            "columns": json.dumps(written(sink)),
            "repairs": target.folder.repairs,
        }
        listed.append({**about, **sink.options.writer(), **where(sink, target), **schema})
    return json.dumps(listed)


def where(sink: Sink, target: Target) -> dict[str, str]:
    """Rows for a sink that the kernels do not know wait in a topic of the outbox."""
    topic = outbox_topic(sink.name)
    outbox = {"kind": "journal", "carried": "true", "path": target.folder.outbox, "topic": topic, "partitions": "1"}
    return outbox if isinstance(sink.options, CarriedSink) else {}


def written(sink: Sink) -> list[str]:
    """The names of the columns that are written."""
    return [name for name, _ in columns(sink)]
