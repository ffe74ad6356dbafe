"""The life of a checkpoint: how long it is kept, how often one is taken, and what happens when one fails."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.errors import MillstreamError
from millstream.plan.errors import here
from millstream.plan.modes import Batch, Mode, RealTime, milliseconds

KEPT = 100
FEWEST = 2
"""The newest may be damaged."""


@dataclass(frozen=True)
class Checkpoints:
    keep: int = KEPT
    keep_for_ms: int = 0
    pause_ms: int = 0
    tolerate: int = 0

    def retained(self, mode: Mode) -> int:
        """How many epochs are kept. An epoch takes at least as long as the mode says, so these cover `keep_for`."""
        if isinstance(mode, Batch) or self.keep_for_ms == 0:
            return self.keep
        every = mode.checkpoint_every_ms if isinstance(mode, RealTime) else mode.every_ms
        if every == 0:
            raise MillstreamError(
                "MS-CHECKPOINT-011",
                "how long checkpoints are kept cannot be told in time: the job runs epochs one after the other.",
                at=here(),
                hint="say keep= instead of keep_for=, or run it with ms.micro_batch(every) or ms.real_time()",
            )
        return max(self.keep, -(-self.keep_for_ms // every) + 1)


DEFAULT = Checkpoints()
"""The default."""


def checkpoints(
    *, keep: int = KEPT, keep_for: str | None = None, pause: str | None = None, tolerate: int = 0
) -> Checkpoints:
    """How a job keeps its checkpoints: `job.run(checkpoints=ms.checkpoints(keep_for="1 hour"))`.

    `keep`: how many epochs, at least. `keep_for`: also those that are younger. `pause`: in real time, how long rows
    flow undisturbed between two checkpoints, however long one takes. `tolerate`: how many checkpoints in a row may fail
    before the job fails.
    """
    if keep < FEWEST:
        raise wrong("keep", keep, f"{FEWEST} or more: the newest may turn out to be damaged")
    if tolerate < 0:
        raise wrong("tolerate", tolerate, "0 or more")
    return Checkpoints(keep, milliseconds(keep_for) if keep_for else 0, milliseconds(pause) if pause else 0, tolerate)


def wrong(what: str, value: int, hint: str) -> MillstreamError:
    return MillstreamError("MS-CHECKPOINT-010", f"checkpoints cannot have {what} = {value}.", at=here(), hint=hint)
