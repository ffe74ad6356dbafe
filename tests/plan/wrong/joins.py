"""Joins that are refused."""

from __future__ import annotations

import millstream as ms
from millstream import journal
from tests.plan.wrong.declare import customers, orders, wrong


@wrong
def a_join_without_an_equality(job: ms.Job) -> None:
    orders(job).as_("o").join(customers(job).as_("c"), on="o.customer < c.id")


@wrong
def a_join_of_sides_without_aliases(job: ms.Job) -> None:
    orders(job).join(customers(job), on="customer = id")


@wrong
def a_join_on_an_unknown_column(job: ms.Job) -> None:
    orders(job).as_("o").join(customers(job).as_("c"), on="o.customer = c.ident")


@wrong
def a_join_of_an_unknown_kind(job: ms.Job) -> None:
    orders(job).as_("o").join(customers(job).as_("c"), on="o.customer = c.id", how="iner")


@wrong
def a_join_of_a_kind_of_sparks(job: ms.Job) -> None:
    orders(job).as_("o").join(customers(job).as_("c"), on="o.customer = c.id", how="left_anti")


@wrong
def a_join_at_times_that_never_agree(job: ms.Job) -> None:
    one = job.stream(journal.source("one"), "id INT, at TIMESTAMP", time="at").as_("a")
    other = job.stream(journal.source("other"), "id INT, at TIMESTAMP", time="at").as_("b")
    one.join(other, on="a.id = b.id AND b.at BETWEEN a.at + INTERVAL 10 MINUTES AND a.at")


@wrong
def a_join_with_times_and_ttl(job: ms.Job) -> None:
    one = job.stream(journal.source("one"), "id INT, at TIMESTAMP", time="at").as_("a")
    other = job.stream(journal.source("other"), "id INT, at TIMESTAMP", time="at").as_("b")
    one.join(other, on="a.id = b.id AND b.at BETWEEN a.at AND a.at + INTERVAL 10 MINUTES", ttl="1 day")


@wrong
def a_join_with_no_ttl_at_all(job: ms.Job) -> None:
    one = job.stream(journal.source("one"), "id INT, at TIMESTAMP", time="at").as_("a")
    one.join(customers(job).as_("c"), on="a.id = c.id", ttl="0 seconds")


@wrong
def a_ttl_without_a_time(job: ms.Job) -> None:
    orders(job).as_("o").join(customers(job).as_("c"), on="o.customer = c.id", ttl="1 day")


@wrong
def a_broadcast_side_that_goes_out(job: ms.Job) -> None:
    orders(job).as_("o").join(customers(job).as_("c"), on="o.customer = c.id", how="right", broadcast=True)
