"""Functions that change, over rows that are computed more than once."""

from __future__ import annotations

import millstream as ms
from millstream import journal
from tests.plan.wrong.declare import customers, orders, wrong


@wrong
def a_table_as_of_now(job: ms.Job) -> None:
    customers(job).where("since >= now()")


@wrong
def a_table_with_a_random_number(job: ms.Job) -> None:
    customers(job).with_columns(dice="1 + rand() * 6")


@wrong
def a_table_with_the_time_of_today(job: ms.Job) -> None:
    customers(job).select("id", age="date'today' - CAST(since AS DATE)")


@wrong
def elements_that_are_shuffled(job: ms.Job) -> None:
    customers(job).explode("shuffle(array(1, 2))", as_="n")


@wrong
def a_table_by_the_date_of_today(job: ms.Job) -> None:
    customers(job).group_by(day="current_date()").agg(n="count(*)")


@wrong
def a_figure_as_of_now(job: ms.Job) -> None:
    customers(job).group_by("name").agg(n="count(*) FILTER (WHERE since < localtimestamp())")


@wrong
def a_result_as_of_now(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(age="unix_timestamp() - unix_timestamp(max(at))")


@wrong
def groups_as_of_now(job: ms.Job) -> None:
    orders(job).group_by("customer").having("max(at) > current_timestamp() - INTERVAL 1 DAY").agg(n="count(*)")


@wrong
def a_sliding_window_of_random_numbers(job: ms.Job) -> None:
    timed = job.stream(journal.source("orders"), "id BIGINT, at TIMESTAMP", time="at")
    timed.window(ms.sliding("1 hour")).group_by("id").agg(n="sum(rand())")


@wrong
def a_table_in_a_random_order(job: ms.Job) -> None:
    customers(job).top(3, by="uuid()")


@wrong
def the_last_row_unless_it_is_old(job: ms.Job) -> None:
    orders(job).to_table("id", by="at", delete="at < now() - INTERVAL 1 DAY")


@wrong
def a_table_joined_on_the_time(job: ms.Job) -> None:
    orders(job).as_("o").join(customers(job).as_("c"), on="o.customer = c.id AND o.at > current_date()")


@wrong
def streams_joined_on_the_time_with_those_alone(job: ms.Job) -> None:
    orders(job).as_("a").join(orders(job).as_("b"), on="a.id = b.customer AND b.at > now()", how="left")


@wrong
def a_stream_enriched_by_a_random_key(job: ms.Job) -> None:
    orders(job).as_("o").enrich(customers(job).as_("c"), on="o.customer = c.id + CAST(rand() AS INT)")
