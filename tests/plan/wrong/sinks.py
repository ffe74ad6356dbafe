"""Sinks, and options of the journal and of files, that are refused."""

from __future__ import annotations

from millstream import journal
from millstream.connectors import blackhole
from wrong.declare import wrong


@wrong
def a_table_to_a_sink_that_only_appends(job, customers):
    customers(job).select(value="CAST(name AS BINARY)").to(journal.sink("out", format="raw"))


@wrong
def upserts_without_a_key(job, customers):
    customers(job).select("name").to(journal.sink("out"))


@wrong
def upserts_by_another_key(job, customers):
    customers(job).to(journal.sink("out", key="name"))


@wrong
def a_record_key_that_is_no_column(job, orders):
    orders(job).to(journal.sink("out", key="costumer"))


@wrong
def two_columns_with_one_name(job, orders, customers):
    orders(job).as_("o").join(customers(job).as_("c"), on="o.customer = c.id").to(journal.sink("out"))


@wrong
def a_format_that_is_not_known(job):
    journal.source("orders", format="jsn")


@wrong
def dead_letters_without_a_topic(job):
    journal.source("orders", on_error="dead_letter")


@wrong
def no_rows_per_epoch(job):
    journal.source("orders", max_rows_per_epoch=0)


@wrong
def a_changelog_of_raw_records(job):
    journal.sink("out", changelog=True, format="raw")


@wrong
def another_sink_beside_one_that_keeps_nothing(job, orders):
    orders(job).to(journal.sink("out"))
    orders(job).to(blackhole.sink())
