"""`python -m bench basics|nexmark|kafka|process [--events N] [--rounds N]`: each says more with `--help`."""

from __future__ import annotations

import logging

import click

from bench import basics
from bench.nexmark import run as nexmark
from bench.nexmark.report import report


class Once(logging.Filter):
    """Lets each message through once: every job is built and run many times."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        new = message not in self.seen
        self.seen.add(message)
        return new


@click.group()
def main() -> None:
    """Counts CPU seconds, not wall time: machines are noisy."""
    logging.getLogger("millstream").addFilter(Once())


@main.command("basics")
@click.option("--events", default=1_000_000, help="How many events each case reads.")
@click.option("--rounds", default=3, help="How often each is measured; the median counts.")
@click.option("--only", default="", help="Some of: filter, aggregate, join, enrich.")
def run_basics(events: int, rounds: int, only: str) -> None:
    """A filter, a keyed aggregate, a join and a table's columns, against hand-written PySpark."""
    basics.run(events, rounds, tuple(part for part in only.split(",") if part))


@main.command("kafka")
@click.option("--events", default=1_000_000, help="How many events each way reads.")
@click.option("--rounds", default=3, help="How often each is measured; the median counts.")
def run_kafka(events: int, rounds: int) -> None:
    """From Kafka to Kafka, exactly once, beside Flink's exactly-once sink and Spark's own at-least-once one."""
    from bench import kafka

    kafka.run(events, rounds)


@main.command("nexmark")
@click.option("--events", default=1_000_000, help="How many events; a multiple of 2,000.")
@click.option("--rounds", default=3, help="How often each is measured; 0: only judge the results.")
@click.option("--warm-ups", default=3, help="How often each runs before that.")
@click.option("--judged", default=100_000, help="By how many events, the first ones, results are judged.")
@click.option("--queries", default=",".join(nexmark.NAMES), help="Some of q0 to q23.")
@click.option("--against", default="flink,spark", help="Some of: flink, spark.")
@click.option("--judge-flink", is_flag=True, help="Lets DuckDB judge Flink's results, too; for few events.")
def run_nexmark(
    events: int, rounds: int, warm_ups: int, judged: int, queries: str, against: str, judge_flink: bool
) -> None:
    """The auction benchmark, results checked by DuckDB, beside Flink and hand-written PySpark."""
    chosen, rivals = (tuple(part for part in text.split(",") if part) for text in (queries, against))
    for option, number in (("--events", events), ("--judged", judged)):
        if number < 2000 or number % 2000:
            raise click.BadParameter("a multiple of 2,000 is needed", param_hint=option)
    for option, parts, known in (("--queries", chosen, nexmark.NAMES), ("--against", rivals, ("flink", "spark"))):
        unknown = [part for part in parts if part not in known]
        if unknown:
            raise click.BadParameter(f"there is no {', '.join(unknown)}", param_hint=option)
    wanted = nexmark.Wanted(chosen, events, rounds, rivals, judge_flink, warm_ups, judged)
    print(report(nexmark.run(wanted), wanted))


@main.command("process")
@click.option("--events", default=200_000, help="How many events each case reads.")
@click.option("--rounds", default=1, help="How often each is measured; the median counts.")
def run_process(events: int, rounds: int) -> None:
    """Python code with state, against Spark's own transformWithState in Python."""
    from bench import process

    process.run(events, rounds)


if __name__ == "__main__":
    main()
