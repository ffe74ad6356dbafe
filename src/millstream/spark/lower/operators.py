"""Which lowering each operator has."""

from __future__ import annotations

from typing import Any

from millstream.plan.node import Node
from millstream.plan.operators import Aggregate, Collapse, Join, Latest, Sessions, Top
from millstream.plan.python import Process
from millstream.planner.stages import Pass
from millstream.spark.lower.aggregate import AGGREGATE
from millstream.spark.lower.collapse import COLLAPSE
from millstream.spark.lower.join import JOIN
from millstream.spark.lower.latest import LATEST
from millstream.spark.lower.passing import PASS
from millstream.spark.lower.ports import Lowering
from millstream.spark.lower.process import PROCESS
from millstream.spark.lower.sessions import SESSIONS
from millstream.spark.lower.top import TOP

LOWERINGS: dict[type[Node] | type[Pass], Lowering[Any]] = {
    Aggregate: AGGREGATE,
    Collapse: COLLAPSE,
    Join: JOIN,
    Latest: LATEST,
    Pass: PASS,
    Sessions: SESSIONS,
    Top: TOP,
    Process: PROCESS,
}
