"""Goes round all jobs, again and again, as long as this manager leads."""

from __future__ import annotations

import logging
import threading

from millstream.manager.documents import Changed, NotLeading
from millstream.manager.leadership import Leadership
from millstream.manager.operations import advance
from millstream.manager.records import JobRecord, Operation, now_ms
from millstream.manager.registry import Registry
from millstream.manager.supervision import Effect, Seen, Verdict, judge
from millstream.manager.watch import Watch

LOG = logging.getLogger("millstream.manager")
EVERY = 0.5
NOBODY = Seen(alive=False)


class Supervisor:
    def __init__(self, registry: Registry, watch: Watch, leadership: Leadership) -> None:
        self._registry = registry
        self._watch = watch
        self._leadership = leadership
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="millstream-supervisor", daemon=True)
        self.rounds = 0

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Drivers go on."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(EVERY):
            try:
                self.round()
            except NotLeading:
                continue
            except Exception:
                LOG.exception("a round of supervision failed; the next one begins at once")

    def round(self) -> None:
        leader = self._leadership.number()
        if leader is None:
            return
        jobs = self._registry.jobs()
        self._watch.forget(jobs)
        for job in jobs:
            try:
                self._attend(job, leader)
            except NotLeading:
                raise
            except Changed:
                continue  # another change came first: next time
            except Exception:  # one job's trouble is not another's
                LOG.exception('job "%s" could not be looked after', job.name)
        self.rounds += 1

    def _attend(self, job: JobRecord, leader: int) -> None:
        over = job.run is None or job.run.ended_at is not None
        if job.at_rest and over and job.wanted is None and not job.under_way:
            return
        seen = self._watch.see(job) if job.run else NOBODY
        verdict = judge(job, seen, now_ms(), leader)
        self._follow(job, verdict)
        if verdict.job == job:
            for operation in job.under_way:
                self._operate(job, operation, seen)

    def _operate(self, job: JobRecord, operation: Operation, driver: Seen) -> None:
        """One step of one operation: of the others, the next round is told."""
        task = self._watch.see_task(job, operation) if operation.task else NOBODY
        verdict = advance(job, operation, task, driver, now_ms())
        self._follow(job, verdict)
        if verdict.job != job:
            raise Changed(job.name)

    def _follow(self, job: JobRecord, verdict: Verdict) -> None:
        if verdict.job != job:
            self._write(job, verdict)
        self._act(verdict)

    def _write(self, job: JobRecord, verdict: Verdict) -> None:
        def change(before: JobRecord) -> JobRecord:
            if before != job:
                raise Changed(job.name)
            return verdict.job

        self._registry.update(job.name, change)
        if verdict.job.state is not job.state:
            move = verdict.job.moves[-1]
            fields = {"job": job.name, "run": verdict.job.number, "state": str(move.after), "reason": move.reason}
            LOG.info('job "%s" is %s: %s', job.name, move.after, move.reason, extra={"fields": fields})
        for before, after in zip(job.operations, verdict.job.operations, strict=False):
            if after.step and (before.step, before.state) != (after.step, after.state):
                told(job.name, after)

    def _act(self, verdict: Verdict) -> None:
        operation = verdict.job.operation(verdict.operation) if verdict.operation else None
        if operation is not None:
            self._act_on_task(verdict, operation)
            return
        match verdict.effect:
            case Effect.SPAWN:
                self._watch.spawn(verdict.job)
            case Effect.STOP:
                self._watch.stop(verdict.job)
            case Effect.KILL:
                self._watch.kill(verdict.job)

    def _act_on_task(self, verdict: Verdict, operation: Operation) -> None:
        match verdict.effect:
            case Effect.SPAWN:
                self._watch.spawn_task(verdict.job, operation)
            case Effect.KILL:
                self._watch.kill_task(verdict.job, operation)


def told(job: str, operation: Operation) -> None:
    said = operation.detail if operation.state != "running" else operation.step
    fields = {"job": job, "operation": operation.id, "kind": operation.kind, "state": operation.state, "said": said}
    LOG.info('job "%s", %s is %s: %s', job, operation.kind, operation.state, said, extra={"fields": fields})
