"""Whether, and when, a run that failed is started again."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from millstream.errors import MillstreamError
from millstream.plan.restarts import Restarts
from millstream.planner.stages import JobPlan
from millstream.runtime.failures import UNKNOWN, explained, of_a_checkpoint, transient
from millstream.spark import jvm
from millstream.spark.query import Query

LOG = logging.getLogger("millstream")


@dataclass(frozen=True)
class Failure:
    """A failure after which the job was started again. `at`: in seconds, by a monotonic clock."""

    at: float
    error: MillstreamError
    delay_ms: int


class Recovery:
    """The failures of a run so far. `tolerate`: how many checkpoints in a row may fail, whatever `restarts` says."""

    def __init__(self, job: str, plan: JobPlan, restarts: Restarts, tolerate: int) -> None:
        self.failures: list[Failure] = []
        """Those from which it was, or is about to be, started again."""
        self._job = job
        self._plan = plan
        self._restarts = restarts
        self._tolerate = tolerate
        self._again_at = 0.0
        self._to_note: list[str] = []
        """Why checkpoints failed that are not in the history yet."""
        self._stuck = (-1, 0)
        """The last committed epoch when a checkpoint failed, and how often in a row one has since."""

    @property
    def wait(self) -> float:
        """How many seconds are left until the next start; negative: for how long it could have begun."""
        return self._again_at - time.monotonic()

    def at_once(self) -> None:
        """The next start is due."""
        self._again_at = time.monotonic()

    def note(self, query: Query | None) -> None:
        """Checkpoints that failed, in the history; what failed at a start is noted by the next one."""
        while query is not None and self._to_note:
            query.checkpoint_failed(self._to_note.pop(0))

    def failed_checkpoint(self, error: Exception, query: Query | None) -> None:
        if of_a_checkpoint(error):
            self._to_note.append(str(error))
            self.note(query)

    def plan(self, error: Exception, query: Query | None, committed: Callable[[], int]) -> None:
        """Plans another start, or raises what went wrong, if there is to be none. `committed`: gives the last committed
        epoch."""
        found, now = self._explained(error, query), time.monotonic()
        if jvm.gone():  # every start in this process would fail
            raise found from error
        moments = [*(failure.at for failure in self.failures), now]
        delay = self._restarts.delay_ms(moments) if transient(found, self._plan) else None
        if delay is None and of_a_checkpoint(error) and self._tolerates(committed()):
            delay = 0
        if delay is None:
            raise found from error
        self.failures.append(Failure(now, found, delay))
        LOG.warning('job "%s" failed and is started again in %.1f s: %s', self._job, delay / 1000, found.message)
        self._again_at = now + delay / 1000

    def _tolerates(self, committed: int) -> bool:
        """Whether to retry a failed checkpoint, from the last one that did not fail. No number may be skipped."""
        self._stuck = (committed, self._stuck[1] + 1 if self._stuck[0] == committed else 1)
        return self._stuck[1] <= self._tolerate

    def _explained(self, error: Exception, query: Query | None) -> MillstreamError:
        """In real time a failed task takes others along, and Spark may report one of those: then each is asked."""
        found = explained(self._job, error, self._plan)
        if query is None or found.code != UNKNOWN:
            return found
        with suppress(Exception):  # Spark may be gone: then there is nothing to ask
            others = (explained(self._job, RuntimeError(said), self._plan) for said in query.said_by_tasks())
            return next((other for other in others if other.code != UNKNOWN), found)
        return found
