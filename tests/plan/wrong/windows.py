"""Windows that are refused."""

from __future__ import annotations

import millstream as ms
from millstream import journal
from tests.plan.wrong.declare import orders, wrong


@wrong
def processing_time_under_a_name_that_is_taken(job: ms.Job) -> None:
    job.stream(journal.source("orders"), "id BIGINT, at TIMESTAMP", time=ms.processing_time("at"))


@wrong
def lateness_without_a_time(job: ms.Job) -> None:
    job.stream(journal.source("orders"), "id BIGINT, at TIMESTAMP", lateness="1 minute")


@wrong
def idleness_without_a_time(job: ms.Job) -> None:
    job.stream(journal.source("orders"), "id BIGINT, at TIMESTAMP", idle_after="1 minute")


@wrong
def a_negative_lateness(job: ms.Job) -> None:
    job.stream(journal.source("orders"), "id BIGINT, at TIMESTAMP", time="at", lateness="-1 minute")


@wrong
def final_results_of_a_sliding_window(job: ms.Job) -> None:
    timed = job.stream(journal.source("orders"), "id BIGINT, at TIMESTAMP", time="at")
    timed.window(ms.sliding("1 hour")).group_by("id").agg(n="count(*)").final()


@wrong
def corrections_of_a_sliding_window(job: ms.Job) -> None:
    timed = job.stream(journal.source("orders"), "id BIGINT, at TIMESTAMP", time="at")
    timed.window(ms.sliding("1 hour"), allowed_lateness="1 minute")


@wrong
def a_session_without_a_gap(job: ms.Job) -> None:
    ms.session("0 seconds")


@wrong
def a_window_without_a_time(job: ms.Job) -> None:
    orders(job).window(ms.tumbling("1 hour"))


@wrong
def a_window_without_a_size(job: ms.Job) -> None:
    ms.hopping("1 minute", every="0 seconds")


@wrong
def final_results_after_another_step(job: ms.Job) -> None:
    timed = job.stream(journal.source("orders"), "id BIGINT, at TIMESTAMP", time="at")
    timed.window(ms.tumbling("1 hour")).agg(n="count(*)").where("n > 1").final()


@wrong
def a_window_of_windows_without_a_time(job: ms.Job) -> None:
    orders = job.stream(journal.source("orders"), "id BIGINT, at TIMESTAMP", time="at")
    minutes = orders.window(ms.tumbling("1 minute")).agg(n="count(*)").final()
    minutes.window(ms.tumbling("1 hour"))


@wrong
def final_results_after_a_select(job: ms.Job) -> None:
    timed = job.stream(journal.source("orders"), "id BIGINT, at TIMESTAMP", time="at")
    timed.window(ms.tumbling("1 hour")).agg(n="count(*)").select("n").final()


@wrong
def a_window_that_is_a_text(job: ms.Job) -> None:
    timed = job.stream(journal.source("orders"), "id BIGINT, at TIMESTAMP", time="at")
    timed.window("1 hour")  # type: ignore[arg-type]


@wrong
def a_union_with_times_of_different_names(job: ms.Job) -> None:
    one = job.stream(journal.source("orders"), "id BIGINT, at TIMESTAMP", time="at")
    other = job.stream(journal.source("returns"), "id BIGINT, seen TIMESTAMP", time="seen")
    one.union(other)


@wrong
def a_window_of_streams_with_times_of_different_names(job: ms.Job) -> None:
    one = job.stream(journal.source("orders"), "at TIMESTAMP, seen TIMESTAMP", time="at")
    other = job.stream(journal.source("returns"), "at TIMESTAMP, seen TIMESTAMP", time="seen")
    one.union(other).window(ms.tumbling("1 hour"))


@wrong
def a_window_of_streams_of_which_one_has_no_time(job: ms.Job) -> None:
    one = job.stream(journal.source("timed"), "id BIGINT, at TIMESTAMP", time="at")
    other = job.stream(journal.source("more"), "id BIGINT, at TIMESTAMP", time="at").map(
        lambda row: row.asdict(), schema="id BIGINT, at TIMESTAMP"
    )
    one.union(other).window(ms.tumbling("1 hour"))
