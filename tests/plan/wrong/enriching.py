"""Stream-table joins that are refused."""

from __future__ import annotations

import millstream as ms
from millstream import journal
from tests.plan.wrong.declare import customers, orders, wrong


def timed(job: ms.Job) -> ms.Stream:
    return job.stream(journal.source("orders"), "id BIGINT, customer INT, at TIMESTAMP, paid TIMESTAMP", time="at")


def dated(job: ms.Job) -> ms.Table:
    return job.table(journal.source("customers"), "id INT, name STRING, since TIMESTAMP", key="id", time="since")


@wrong
def a_stream_enriched_by_a_stream(job: ms.Job) -> None:
    orders(job).as_("o").enrich(orders(job).as_("p"), on="o.id = p.id")  # type: ignore[arg-type]


@wrong
def enriched_without_an_equality(job: ms.Job) -> None:
    orders(job).as_("o").enrich(customers(job).as_("c"), on="o.customer < c.id")


@wrong
def enriched_in_an_unknown_way(job: ms.Job) -> None:
    orders(job).as_("o").enrich(customers(job).as_("c"), on="o.customer = c.id", how="outer")


@wrong
def enriched_by_what_changes_by_itself(job: ms.Job) -> None:
    orders(job).as_("o").enrich(customers(job).as_("c"), on="o.customer = c.id AND o.at < now()")


@wrong
def as_of_a_time_that_is_not_known(job: ms.Job) -> None:
    orders(job).as_("o").enrich(dated(job).as_("c"), on="o.customer = c.id", as_of="o.at")


@wrong
def as_of_another_time(job: ms.Job) -> None:
    timed(job).as_("o").enrich(dated(job).as_("c"), on="o.customer = c.id", as_of="o.paid")


@wrong
def as_of_for_a_table_without_a_time(job: ms.Job) -> None:
    timed(job).as_("o").enrich(customers(job).as_("c"), on="o.customer = c.id", as_of="o.at")


@wrong
def as_of_for_a_table_after_another_step(job: ms.Job) -> None:
    timed(job).as_("o").enrich(dated(job).where("id > 3").as_("c"), on="o.customer = c.id", as_of="o.at")


@wrong
def as_of_for_a_table_without_its_key(job: ms.Job) -> None:
    timed(job).as_("o").enrich(dated(job).select("name", "since").as_("c"), on="o.id = c.name", as_of="o.at")


@wrong
def as_of_by_another_column_than_the_key(job: ms.Job) -> None:
    timed(job).as_("o").enrich(dated(job).as_("c"), on="o.customer = c.name", as_of="o.at")


def kinds(job: ms.Job) -> ms.Static:
    return job.static(journal.source("kinds"), "id INT, kind STRING")


@wrong
def what_does_not_change_as_it_was(job: ms.Job) -> None:
    timed(job).as_("o").enrich(kinds(job).as_("k"), on="o.customer = k.id", as_of="o.at")


@wrong
def a_join_with_what_does_not_change(job: ms.Job) -> None:
    orders(job).as_("o").join(kinds(job).as_("k"), on="o.customer = k.id")  # type: ignore[arg-type]


@wrong
def changes_that_do_not_change(job: ms.Job) -> None:
    job.static(journal.source("kinds", changelog=True), "id INT, kind STRING")


@wrong
def dead_letters_of_what_does_not_change(job: ms.Job) -> None:
    job.static(journal.source("kinds", dead_letters="bad"), "id INT, kind STRING")
