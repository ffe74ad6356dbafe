"""Runs an epoch again that a sandbox has begun: with the job's own sources, and sinks that only keep rows."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from millstream.plan.checkpoints import DEFAULT
from millstream.plan.connectors import Format, WriteMode
from millstream.plan.modes import MicroBatch
from millstream.plan.node import Node
from millstream.plan.nodes import Sink
from millstream.planner.dataflow import Dataflow, rewrite
from millstream.planner.stages import JobPlan, plan_job
from millstream.runtime.checkpoint import compare, fingerprint
from millstream.runtime.described import Described
from millstream.runtime.failures import explained
from millstream.spark import query as queries
from millstream.spark import session
from millstream.spark.lower.job import lower_streaming
from millstream.spark.lower.wrong_step import naming_steps
from millstream.spark.memory import Memory
from millstream.spark.slots import Need
from millstream.spark.target import Target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.plan.connectors import Jars

LOOK = 0.5
AGAIN = MicroBatch(0, until_caught_up=True, again=True)


@dataclass(frozen=True)
class InMemory:
    """A sink that keeps its rows in the driver, under a place, and writes nothing."""

    place: str
    label: str
    format: Format
    modes: tuple[WriteMode, ...]
    key: tuple[str, ...]

    @property
    def system(self) -> str:
        return "memory"

    @property
    def partition_by(self) -> tuple[str, ...]:
        return ()

    @property
    def guarantee(self) -> str:
        return "exactly once (two phases)"

    def check(self) -> None:
        pass

    def writer(self) -> dict[str, str]:
        return {"kind": "memory", "place": self.place}


def muted(flow: Dataflow) -> JobPlan:
    """The same job with sinks in memory."""
    name = secrets.token_hex(4)

    def change(node: Node) -> Node:
        if not isinstance(node, Sink):
            return node
        form: Format = "raw" if node.options.format == "raw" else "json"
        kept = InMemory(f"{name} {node.name}", node.name, form, node.options.modes, node.options.key)
        return replace(node, options=kept)

    return plan_job(rewrite(flow, change))


def run_again(plan: JobPlan, about: Described, spark: SparkSession | None, jars: tuple[Jars, ...]) -> dict[str, str]:
    """Runs the epoch that the checkpoint `about` has begun; by sink, what it received, as `MemorySink` returns it."""
    own = session.use(spark, Need(2), about.parallelism, jars)
    with naming_steps(plan, own):
        lowered = lower_streaming(plan, own)
    wanted = fingerprint(about.job, plan, lowered.shapes, about.parallelism)
    compare(about.folder.root, json.loads(about.folder.files.read(about.folder.about) or ""), wanted)
    places = {sink.name: sink.options.writer()["place"] for sink in plan.sinks}
    memory, target = Memory(about.job, own), Target(about.job, about.folder, about.identity, secrets.token_hex(8))
    try:
        query = queries.start(lowered, plan, AGAIN, target, DEFAULT, own, again=False)
        try:
            while not query.ended(LOOK):
                query.check()
        finally:
            query.close()
    except Exception as error:
        found = explained(about.job, error, plan)
        raise found from (error if found is not error else error.__cause__)
    finally:
        taken = {name: memory.take(place) for name, place in places.items()}
    return taken
