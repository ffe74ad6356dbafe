"""Which lowering each operator has."""

from __future__ import annotations

from typing import Any

from millstream.plan.node import Node
from millstream.plan.operators import (
    Aggregate,
    Collapse,
    Dedup,
    Hopping,
    LateRows,
    Latest,
    Sessions,
    Sliding,
    Top,
)
from millstream.plan.python import Process
from millstream.plan.two_sides import Enrich, Join
from millstream.planner.stages import Pass
from millstream.spark.lower.aggregate import AGGREGATE
from millstream.spark.lower.collapse import COLLAPSE
from millstream.spark.lower.dedup import DEDUP
from millstream.spark.lower.enrich import ENRICH
from millstream.spark.lower.hopping import HOPPING
from millstream.spark.lower.join import JOIN
from millstream.spark.lower.late_rows import LATE_ROWS
from millstream.spark.lower.latest import LATEST
from millstream.spark.lower.passing import PASS
from millstream.spark.lower.ports import Lowering
from millstream.spark.lower.process import PROCESS
from millstream.spark.lower.sessions import SESSIONS
from millstream.spark.lower.sliding import SLIDING
from millstream.spark.lower.top import TOP

LOWERINGS: dict[type[Node] | type[Pass], Lowering[Any]] = {
    Aggregate: AGGREGATE,
    Collapse: COLLAPSE,
    Dedup: DEDUP,
    Enrich: ENRICH,
    Hopping: HOPPING,
    Join: JOIN,
    LateRows: LATE_ROWS,
    Latest: LATEST,
    Pass: PASS,
    Sessions: SESSIONS,
    Sliding: SLIDING,
    Top: TOP,
    Process: PROCESS,
}
