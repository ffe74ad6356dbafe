"""Aggregates, top-N and sets that are refused."""

from __future__ import annotations

import millstream as ms
from tests.plan.wrong.declare import customers, orders, wrong


@wrong
def a_column_that_is_not_grouped_by(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(total="sum(price) + id")


@wrong
def an_aggregate_that_cannot_be_kept_up(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(middle="mode(price)")


@wrong
def an_aggregate_with_a_wrong_name(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(total="summ(price)")


@wrong
def a_distinct_variance(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(n="variance(DISTINCT id)")


@wrong
def a_distinct_last_by_time(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(n="max_by(DISTINCT price, at)")


@wrong
def a_distinct_list_that_breaks_off(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(n="listagg(DISTINCT id, ', ', 3)")


@wrong
def a_sum_of_whole_rows(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(n="sum(*)")


@wrong
def a_count_of_distinct_whole_rows(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(n="count(DISTINCT *)")


@wrong
def a_least_of_two_columns(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(n="min(id, price)")


@wrong
def a_first_by_nothing(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(n="min_by(price)")


@wrong
def a_percentile_by_a_column(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(n="percentile(price, id)")


@wrong
def a_percentile_beyond_all(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(n="percentile(price, 90)")


@wrong
def a_percentile_with_a_frequency(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(n="1 + percentile(price, 0.9, id) FILTER (WHERE price > 0)")


@wrong
def the_last_few_by_time(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(n="max_by(price, at, 3)")


@wrong
def a_list_with_nothing_between(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(n="listagg(id)")


@wrong
def a_first_of_no_order(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(n="first(price)")


@wrong
def an_ordered_list(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(n="collect_list(price ORDER BY at)")


@wrong
def an_aggregate_in_a_filter(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(n="count(*) FILTER (WHERE price > max(price))")


@wrong
def an_aggregate_of_several_columns(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(n="count(id, price)")


@wrong
def an_aggregate_inside_an_aggregate(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(n="sum(max(price))")


@wrong
def an_aggregate_that_is_none(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(n="customer + 1")


@wrong
def nothing_aggregated(job: ms.Job) -> None:
    orders(job).group_by("customer").agg()


@wrong
def a_top_of_nothing(job: ms.Job) -> None:
    orders(job).top(0, by="price")


@wrong
def a_top_of_a_text(job: ms.Job) -> None:
    orders(job).top("3", by="price")  # type: ignore[arg-type]


@wrong
def a_top_by_the_first_column(job: ms.Job) -> None:
    orders(job).top(3, by="1")


@wrong
def a_top_by_a_list(job: ms.Job) -> None:
    orders(job).top(3, by=["price"])  # type: ignore[arg-type]


@wrong
def a_top_in_no_order(job: ms.Job) -> None:
    orders(job).top(3, by="price DESC DESC")


@wrong
def a_top_per_field_of_a_column(job: ms.Job) -> None:
    orders(job).top(3, by="price", per="at.year")


@wrong
def a_rank_with_the_name_of_a_column(job: ms.Job) -> None:
    orders(job).top(3, by="price", rank="ID")


@wrong
def doubles_by_nothing(job: ms.Job) -> None:
    orders(job).dedup(by="at")


@wrong
def doubles_that_are_neither_first_nor_last(job: ms.Job) -> None:
    orders(job).dedup("id", keep="any", by="at")


@wrong
def doubles_without_a_time(job: ms.Job) -> None:
    orders(job).dedup("id")


@wrong
def doubles_of_some_time_in_another_order(job: ms.Job) -> None:
    orders(job).dedup("id", by="price", within="1 hour")


@wrong
def doubles_of_some_time_by_nothing(job: ms.Job) -> None:
    orders(job).dedup(within="1 hour")


@wrong
def changes_with_the_name_of_a_column(job: ms.Job) -> None:
    customers(job).changes(op="name")


@wrong
def a_stream_as_a_table_without_a_key(job: ms.Job) -> None:
    orders(job).to_table((), by="at")


@wrong
def an_intersection_of_other_columns(job: ms.Job) -> None:
    orders(job).intersect(customers(job))


@wrong
def a_column_outside_an_aggregate_of_all_rows(job: ms.Job) -> None:
    orders(job).agg(n="count(*) + customer")


@wrong
def a_group_by_nothing(job: ms.Job) -> None:
    orders(job).group_by()


@wrong
def an_aggregate_with_the_name_of_a_key(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(customer="count(*)")
