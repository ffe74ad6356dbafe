"""Sinks, and options of the journal and of files, that are refused."""

from __future__ import annotations

import millstream as ms
from millstream import journal
from millstream.connectors import blackhole
from tests.plan.wrong.declare import customers, orders, wrong


@wrong
def a_table_to_a_sink_that_only_appends(job: ms.Job) -> None:
    customers(job).select(value="CAST(name AS BINARY)").to(journal.sink("out", format="raw"))


@wrong
def a_sink_that_is_a_text(job: ms.Job) -> None:
    orders(job).to("out")  # type: ignore[arg-type]


@wrong
def a_sink_that_is_a_source(job: ms.Job) -> None:
    orders(job).to(journal.source("out"))  # type: ignore[arg-type]


@wrong
def upserts_without_a_key(job: ms.Job) -> None:
    customers(job).select("name").to(journal.sink("out"))


@wrong
def upserts_by_another_key(job: ms.Job) -> None:
    customers(job).to(journal.sink("out", key="name"))


@wrong
def a_record_key_that_is_no_column(job: ms.Job) -> None:
    orders(job).to(journal.sink("out", key="costumer"))


@wrong
def two_columns_with_one_name(job: ms.Job) -> None:
    orders(job).as_("o").join(customers(job).as_("c"), on="o.customer = c.id").to(journal.sink("out"))


@wrong
def a_format_that_is_not_known(job: ms.Job) -> None:
    journal.source("orders", format="jsn")  # type: ignore[arg-type]


@wrong
def dead_letters_without_a_topic(job: ms.Job) -> None:
    journal.source("orders", on_error="dead_letter")


@wrong
def no_rows_per_epoch(job: ms.Job) -> None:
    journal.source("orders", max_rows_per_epoch=0)


@wrong
def a_changelog_of_raw_records(job: ms.Job) -> None:
    journal.sink("out", changelog=True, format="raw")


@wrong
def another_sink_beside_one_that_keeps_nothing(job: ms.Job) -> None:
    orders(job).to(journal.sink("out"))
    orders(job).to(blackhole.sink())
