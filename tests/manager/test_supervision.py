"""What is decided, by a plain function: no process, no clock."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from millstream.manager.records import JobRecord, Operation, RunRecord, Spec
from millstream.manager.states import AT_REST, MOVES, IllegalMove, JobState, check
from millstream.manager.supervision import STOP_WITHIN_MS, Effect, Seen, judge

NOW = 1_000_000
DEAD = Seen(alive=False)


def job(state: JobState, **more: object) -> JobRecord:
    made = JobRecord("j", Spec(restarts="3/1s"), "job.py", 1, "ann", NOW, state, NOW, RunRecord(1, 1, 1, NOW))
    return replace(made, **more)  # type: ignore[arg-type]


def test_only_declared_moves_are_made() -> None:
    for before, after in product(JobState, JobState):
        if after in MOVES[before]:
            check(before, after)
        else:
            with pytest.raises(IllegalMove):
                check(before, after)


@pytest.mark.parametrize("state", [state for state in JobState if state not in AT_REST])
@pytest.mark.parametrize(
    "seen",
    [
        Seen(),
        DEAD,
        Seen(fresh=False),
        *(Seen(status={"state": said}) for said in ("starting", "running", "failing", "restarting", "stopped")),
        *(Seen(alive=alive, ended={"state": said}) for said in ("stopped", "finished") for alive in (True, False)),
        Seen(alive=False, ended={"state": "failed", "error": {"code": "MS-X-1", "message": "m", "transient": True}}),
        Seen(alive=False, ended={"state": "failed", "error": {"code": "MS-X-1", "message": "m", "transient": False}}),
    ],
)
def test_whatever_is_seen_has_a_legal_answer(state: JobState, seen: Seen) -> None:
    verdict = judge(job(state), seen, NOW + 10, 1)
    assert verdict.effect is not Effect.SPAWN or (verdict.job.number == 2 and verdict.job.state is JobState.STARTING)
    assert not (verdict.job.at_rest and seen.alive and verdict.effect is Effect.NOTHING)


def test_no_driver_is_started_while_one_is_there() -> None:
    gone = replace(job(JobState.RUNNING).run or RunRecord(1, 1, 1, 0), ended_at=NOW)
    waiting = job(JobState.RESTARTING, run=gone, start_at=NOW)
    assert judge(waiting, Seen(alive=True), NOW + 1, 1).effect is Effect.KILL
    assert judge(waiting, Seen(alive=True, fresh=False), NOW + 1, 1).effect is Effect.KILL
    assert judge(waiting, DEAD, NOW - 1, 1).effect is Effect.NOTHING
    again = judge(waiting, DEAD, NOW + 1, 7)
    assert again.effect is Effect.SPAWN
    assert again.job.run == RunRecord(2, 1, 7, NOW + 1)


def test_a_stop_that_takes_too_long_is_a_kill() -> None:
    stopping = job(JobState.STOPPING)
    assert judge(stopping, Seen(), NOW + 1, 1).effect is Effect.STOP
    assert judge(stopping, Seen(), NOW + STOP_WITHIN_MS + 1, 1).effect is Effect.KILL


def test_failures_before_somebody_started_it_do_not_count() -> None:
    failed = judge(job(JobState.RUNNING, spec=Spec(restarts="1/1s")), DEAD, NOW + 1, 1).job
    assert failed.state is JobState.RESTARTING
    given_up = judge(replace(failed, state=JobState.RUNNING, run=RunRecord(2, 1, 1, NOW)), DEAD, NOW + 2, 1).job
    assert given_up.state is JobState.FAILED
    wanted = given_up.begun(Operation("0", "start", "ann", NOW + 3))
    started = judge(wanted, DEAD, NOW + 3, 1)
    assert started.effect is Effect.SPAWN
    assert judge(started.job, DEAD, NOW + 4, 1).job.state is JobState.RESTARTING


def test_a_failure_inside_the_driver_is_seen() -> None:
    failing = judge(job(JobState.RUNNING), Seen(status={"state": "restarting"}), NOW, 1).job
    assert (failing.state, failing.restarts) == (JobState.RESTARTING, 1)
    assert judge(failing, Seen(status={"state": "running"}), NOW, 1).job.state is JobState.RUNNING
