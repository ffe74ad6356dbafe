"""Jobs and sources that are refused."""

from __future__ import annotations

import millstream as ms
from millstream import files, journal, kafka
from tests.plan.wrong.declare import orders, wrong


@wrong
def a_job_with_a_bad_name(job: ms.Job) -> None:
    ms.Job("my job")


@wrong
def a_job_whose_name_is_a_number(job: ms.Job) -> None:
    ms.Job(3)  # type: ignore[arg-type]


@wrong
def a_job_without_parallelism(job: ms.Job) -> None:
    ms.Job("shop", parallelism=0)


@wrong
def a_job_whose_parallelism_is_a_text(job: ms.Job) -> None:
    ms.Job("shop", parallelism="2")  # type: ignore[arg-type]


@wrong
def a_job_without_sinks(job: ms.Job) -> None:
    orders(job)
    job.explain()


@wrong
def a_mode_that_is_none(job: ms.Job) -> None:
    orders(job).to(journal.sink("out"))
    job.run("fast")  # type: ignore[arg-type]


@wrong
def checkpoints_of_which_one_is_kept(job: ms.Job) -> None:
    orders(job).to(journal.sink("out"))
    job.run(checkpoints=ms.checkpoints(keep=1))


@wrong
def checkpoints_kept_for_a_time_without_epochs_in_time(job: ms.Job) -> None:
    orders(job).to(journal.sink("out"))
    job.run(ms.available_now(), checkpoints=ms.checkpoints(keep_for="1 hour"))


@wrong
def two_steps_with_one_name(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(n="count(*)").named("counts").to(journal.sink("one"))
    orders(job).group_by("id").agg(n="count(*)").named("counts").to(journal.sink("other"))


@wrong
def two_sinks_with_one_name(job: ms.Job) -> None:
    rows = orders(job)
    rows.to(journal.sink("out"))
    rows.to(journal.sink("out"))


@wrong
def a_length_of_time_that_is_none(job: ms.Job) -> None:
    ms.micro_batch("5 parsecs")


@wrong
def a_length_of_time_that_is_a_number(job: ms.Job) -> None:
    ms.tumbling(60)  # type: ignore[arg-type]


@wrong
def a_source_that_is_a_text(job: ms.Job) -> None:
    job.stream("orders", "id INT")  # type: ignore[arg-type]


@wrong
def a_table_from_a_sink(job: ms.Job) -> None:
    job.table(journal.sink("orders"), "id INT", key="id")  # type: ignore[arg-type]


@wrong
def checkpoints_too_often(job: ms.Job) -> None:
    ms.real_time("20 ms")


@wrong
def restarts_without_attempts(job: ms.Job) -> None:
    ms.fixed_delay(attempts=0)


@wrong
def restarts_that_come_sooner_and_sooner(job: ms.Job) -> None:
    ms.exponential_delay(factor=0.5)


@wrong
def no_schema(job: ms.Job) -> None:
    job.stream(journal.source("orders"))


@wrong
def a_schema_for_raw_records(job: ms.Job) -> None:
    job.stream(journal.source("orders", format="raw"), "id INT")


@wrong
def a_schema_that_is_no_sql(job: ms.Job) -> None:
    job.stream(journal.source("orders"), "id INT, case STRING")


@wrong
def a_schema_without_types(job: ms.Job) -> None:
    job.stream(journal.source("orders"), "id, price")


@wrong
def a_schema_with_an_unknown_type(job: ms.Job) -> None:
    job.stream(journal.source("orders"), "id INT, place STRUCT<x: INT, y: INT>, price DECIMALS(10, 2), at TIMESTAMP")


@wrong
def a_schema_with_a_time_of_day(job: ms.Job) -> None:
    job.stream(journal.source("orders"), "id INT, opens TIME")


@wrong
def a_schema_with_a_text_of_limited_length(job: ms.Job) -> None:
    job.stream(journal.source("orders"), "id INT, name VARCHAR(20)")


@wrong
def a_schema_that_is_a_dict(job: ms.Job) -> None:
    job.stream(journal.source("orders"), {"id": "INT"})  # type: ignore[arg-type]


@wrong
def a_schema_with_a_name_twice(job: ms.Job) -> None:
    job.stream(journal.source("orders"), "id INT, ID STRING")


@wrong
def a_schema_with_one_of_our_names(job: ms.Job) -> None:
    job.stream(journal.source("orders"), "_w INT")


@wrong
def a_time_that_is_no_column(job: ms.Job) -> None:
    job.stream(journal.source("orders"), "id INT, at TIMESTAMP", time="att")


@wrong
def a_time_that_is_a_number(job: ms.Job) -> None:
    job.stream(journal.source("orders"), "id INT, at TIMESTAMP", time="id")


@wrong
def a_source_that_is_idle_at_once(job: ms.Job) -> None:
    job.stream(journal.source("orders"), "id INT, at TIMESTAMP", time="at", idle_after="0 seconds")


@wrong
def a_changelog_as_a_stream(job: ms.Job) -> None:
    job.stream(journal.source("orders", changelog=True), "id INT")


@wrong
def raw_records_as_a_table(job: ms.Job) -> None:
    job.table(journal.source("orders", format="raw"), key="key")


@wrong
def a_table_without_a_key(job: ms.Job) -> None:
    job.table(journal.source("customers"), "id INT, name STRING")


@wrong
def a_key_that_is_no_column(job: ms.Job) -> None:
    job.table(journal.source("customers"), "id INT, name STRING", key="ids")


@wrong
def a_key_of_a_changelog_that_is_no_column(job: ms.Job) -> None:
    job.table(journal.source("customers", changelog=True), "id INT, name STRING", key="nme")


@wrong
def files_as_upserts(job: ms.Job) -> None:
    job.table(files.source("customers", format="json"), "id INT, name STRING", key="id")


@wrong
def files_of_an_unknown_kind(job: ms.Job) -> None:
    files.source("orders", format="jsn")  # type: ignore[arg-type]


@wrong
def csv_lines_that_are_skipped(job: ms.Job) -> None:
    files.source("orders", format="csv", on_error="skip")


@wrong
def a_header_of_json_files(job: ms.Job) -> None:
    files.sink("orders", format="json", header=True)


@wrong
def no_files_per_epoch(job: ms.Job) -> None:
    files.source("orders", format="json", max_files_per_epoch=0)


@wrong
def a_folder_that_is_not_there(job: ms.Job) -> None:
    files.source("/no/such/folder", format="json").partitions()


@wrong
def files_parted_by_no_column(job: ms.Job) -> None:
    orders(job).to(files.sink("orders", format="json", partition_by="day"))


@wrong
def a_history_of_upserts_in_files(job: ms.Job) -> None:
    archive = files.source("archive", format="json")
    job.table(journal.source("customers"), "id INT, name STRING", key="id", history=archive)


@wrong
def a_history_of_changes(job: ms.Job) -> None:
    archive = journal.source("archive", changelog=True)
    job.stream(journal.source("orders"), "id BIGINT", history=archive)


@wrong
def a_history_with_other_columns(job: ms.Job) -> None:
    archive = kafka.source("archive", servers="broker:9092", record={"place": "offset"})
    job.stream(journal.source("orders"), "id BIGINT", history=archive)


@wrong
def a_history_that_drops_what_the_source_keeps(job: ms.Job) -> None:
    archive = journal.source("archive")
    job.stream(journal.source("orders", dead_letters="bad"), "id BIGINT", history=archive)


@wrong
def no_state_to_begin_with(job: ms.Job) -> None:
    orders(job).to(journal.sink("out"))
    ms.bootstrap(job)
