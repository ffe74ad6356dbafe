"""What real time cannot run: rows and timers of an epoch come mixed there, so that few steps may wait in a row.
And epochs that last longer than a sink can hold them open."""

from __future__ import annotations

from millstream.errors import MillstreamError
from millstream.plan.connectors import LimitsEpochs
from millstream.plan.modes import RealTime
from millstream.plan.node import Node, Stateful, walk
from millstream.plan.operators import Aggregate, Join, Sessions
from millstream.planner.stages import JobPlan


def refuse_long_waits(plan: JobPlan) -> None:
    """A step that ends after one that lets rows wait does so an epoch later; after two it would have to wait longer."""
    for node in walk(plan.flow):
        if ends(node) and max(waits(part) for part in node.inputs) > (0 if isinstance(node, Sessions) else 1):
            raise MillstreamError(
                "MS-RUN-008",
                f'step "{node.name}" waits for rows that a join lets wait, which real time cannot do yet.',
                at=node.at,
                hint="run the job with ms.micro_batch()",
            )


def refuse_long_epochs(plan: JobPlan, mode: RealTime) -> None:
    """No epoch would ever be committed."""
    for sink in plan.sinks:
        if isinstance(sink.options, LimitsEpochs) and mode.checkpoint_every_ms >= sink.options.longest_epoch_ms:
            raise MillstreamError(
                "MS-RUN-010",
                f'sink "{sink.name}" gives an epoch up after {sink.options.longest_epoch_ms / 1000:g} s, '
                f"and epochs are to last {mode.checkpoint_every_ms / 1000:g} s.",
                at=sink.at,
                hint="shorten checkpoint_every, or lengthen transaction_timeout",
            )


def ends(node: Node) -> bool:
    """Whether it drops what is over."""
    if isinstance(node, Join):
        return any(node.lifetimes)
    return isinstance(node, Aggregate) and node.closing is not None


def waits(node: Node) -> int:
    """How many joins, one after the other, let its rows wait for a partner."""
    if isinstance(node, Join) and node.within is not None:
        return max(waits(part) for part in node.inputs) + any(node.alone)
    if isinstance(node, Stateful):
        return 0
    return max((waits(part) for part in node.inputs), default=0)
