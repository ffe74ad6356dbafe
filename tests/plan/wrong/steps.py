"""Expressions, and steps that need no memory, that are refused."""

from __future__ import annotations

import millstream as ms
from tests.plan.wrong.declare import customers, orders, wrong


@wrong
def an_expression_that_is_no_text(job: ms.Job) -> None:
    orders(job).where(True)  # type: ignore[arg-type]


@wrong
def an_expression_that_breaks_off(job: ms.Job) -> None:
    orders(job).where("price > ")


@wrong
def a_statement(job: ms.Job) -> None:
    orders(job).where("DROP TABLE orders")


@wrong
def a_name_where_none_belongs(job: ms.Job) -> None:
    orders(job).select(gross="price * 2 AS gross")


@wrong
def an_unknown_column(job: ms.Job) -> None:
    orders(job).where("prize > 3")


@wrong
def an_unknown_alias(job: ms.Job) -> None:
    orders(job).as_("o").select("x.*")


@wrong
def a_column_that_could_be_two(job: ms.Job) -> None:
    orders(job).as_("o").join(customers(job).as_("c"), on="o.customer = c.id").where("id > 3")


@wrong
def an_aggregate_over_single_rows(job: ms.Job) -> None:
    orders(job).where("price > avg(price)")


@wrong
def a_query_inside_an_expression(job: ms.Job) -> None:
    orders(job).where("price > (SELECT 1)")


@wrong
def a_window_function(job: ms.Job) -> None:
    orders(job).select(n="row_number() OVER (PARTITION BY customer ORDER BY at)")


@wrong
def a_time_of_day_without_a_date(job: ms.Job) -> None:
    orders(job).select(at="CAST(current_time() AS STRING)")


@wrong
def a_time_of_day_as_a_type(job: ms.Job) -> None:
    orders(job).where("date_format(at, 'HH:mm') < TIME '12:30:00'")


@wrong
def an_argument_that_would_be_lost(job: ms.Job) -> None:
    orders(job).where("initcap('o-neill', '-') = 'O-Neill'")


@wrong
def a_step_with_a_bad_name(job: ms.Job) -> None:
    orders(job).where("price > 3").named("the dear ones")


@wrong
def an_alias_with_a_bad_name(job: ms.Job) -> None:
    orders(job).as_("the orders")


@wrong
def a_column_without_a_name(job: ms.Job) -> None:
    orders(job).select("price * 2")


@wrong
def nothing_selected(job: ms.Job) -> None:
    orders(job).select()


@wrong
def a_column_twice(job: ms.Job) -> None:
    orders(job).select("id", ID="customer")


@wrong
def an_element_with_a_name_that_is_there(job: ms.Job) -> None:
    orders(job).explode("array(id)", as_="price")


@wrong
def a_column_with_one_of_our_names(job: ms.Job) -> None:
    orders(job).select(_w="price")


@wrong
def a_union_of_different_columns(job: ms.Job) -> None:
    rows = orders(job)
    rows.union(rows.select("id", "price"))


@wrong
def a_union_with_a_list(job: ms.Job) -> None:
    orders(job).union([1, 2, 3])  # type: ignore[arg-type]


@wrong
def a_union_of_two_jobs(job: ms.Job) -> None:
    orders(job).union(orders(ms.Job("other")))


@wrong
def a_table_added_to_a_stream(job: ms.Job) -> None:
    orders(job).select("id").union(customers(job).select("id"))  # type: ignore[arg-type]
