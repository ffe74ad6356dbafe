"""`millstream state`: the state of a job's steps."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from millstream.cli import verbose
from millstream.cli.jobfile import folder_of
from millstream.cli.operated import Manager, or_managed
from millstream.errors import MillstreamError
from millstream.runtime.state import Row, SavedState, changes, saved_state, table_name, with_key
from millstream.spark.state.reading import SavedList

WEIGHT = "_w"
"""The column that says whether a row was added (1) or removed (-1)."""
MOST_ROWS = 1_000
"""Of each list, as a manager gives them."""


@dataclass(frozen=True)
class Listed:
    """A list of state, as a manager returns it."""

    operator: str
    name: str
    kind: str
    rows: int


AnyList = SavedList | Listed
Found = tuple[AnyList, list[Row]]


@click.command()
@click.argument("job")
@click.argument("operator", required=False)
@click.option("--key", "keys", metavar="[COLUMN=]VALUE", multiple=True, help="Only rows of this key; repeatable.")
@click.option("--at", type=int, metavar="EPOCH", help="The state after this epoch; by default, after the last.")
@click.option("--changes", "between", type=(int, int), metavar="FROM TO", help="Show what changed between two epochs.")
@click.option("--sql", metavar="QUERY", help="Query all state with SQL; the tables are named STEP_LIST.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1), help="Rows to show of each list.")
@or_managed
@verbose.option
def state(
    job: str,
    operator: str | None,
    keys: tuple[str, ...],
    at: int | None,
    between: tuple[int, int] | None,
    sql: str | None,
    limit: int,
    manager: Manager,
) -> None:
    """Show the state of JOB, or of its step OPERATOR: typed rows, after the last epoch or an earlier one.

    JOB is the file with the job, its checkpoint's folder, or its name if the checkpoint is in .millstream. The job may
    be running. Without OPERATOR, --key or --sql, show which steps have state, and how much. With --manager, JOB is the
    name of a job there, and its state is read where that job runs.
    """
    refuse_both(at, between, sql)
    shown = Shown(limit, manager.as_json)
    if manager.has(job) and (manager.url is not None or not Path(f".millstream/{job}").exists()):
        if between is not None or sql is not None:
            raise click.UsageError("--changes and --sql work on a checkpoint's folder, not at a manager.")
        asked = {"operator": operator, "key": list(keys), "at": at, "limit": min(limit, MOST_ROWS)}
        shown.told(manager.client.get(f"/api/v1/jobs/{job}/state", **asked), bool(keys))
        return
    folder, only = folder_of(job).root, None if operator is None else [operator]
    if between is not None:
        with (
            saved_state(folder, between[0], operators=only) as first,
            saved_state(folder, between[1], operators=only) as last,
        ):
            shown.lists([(one, picked(rows, keys)) for one, rows in changed(first, last)], bool(keys))
        return
    with saved_state(folder, at, operators=only) as found:
        if sql is not None:
            shown.rows([row.asDict(recursive=True) for row in found.sql(sql).collect()])
        elif operator is None and not keys:
            shown.overview(found.job, found.epoch, found.lists)
        else:
            shown.lists([(one, picked(rows_of(found, one), keys)) for one in found.lists], bool(keys))


def refuse_both(at: int | None, between: tuple[int, int] | None, sql: str | None) -> None:
    if between is not None and (at is not None or sql is not None):
        raise click.UsageError("--changes is between two epochs: leave out --at and --sql.")


def rows_of(found: SavedState, one: SavedList) -> list[Row]:
    return list(found.arrow(one.operator, one.name).to_pylist())


def changed(first: SavedState, last: SavedState) -> Iterator[tuple[SavedList, list[Row]]]:
    """For each list, the removed rows and the added ones."""
    lists = {(one.operator, one.name): one for state in (first, last) for one in state.lists}
    for place, one in lists.items():
        sides = [
            [row for own in state.of(one.operator) if own.name == place[1] for row in rows_of(state, own)]
            for state in (first, last)
        ]
        yield one, [{WEIGHT: weight, **row} for weight, row in changes(*sides)]


def picked(rows: list[Row], keys: tuple[str, ...]) -> list[Row]:
    wanted = {
        name if sign else None: value if sign else name for name, sign, value in (key.partition("=") for key in keys)
    }
    plain = [{name: value for name, value in row.items() if name != WEIGHT} for row in rows]
    kept = {id(row) for row in with_key(plain, wanted)}
    return [row for row, bare in zip(rows, plain, strict=True) if id(bare) in kept]


class Shown:
    """What goes to stdout: tables, or JSON lines."""

    def __init__(self, limit: int, as_json: bool) -> None:
        self._limit, self._json = limit, as_json
        self._console = Console()

    def told(self, found: dict[str, Any], by_key: bool) -> None:
        """What a manager has answered."""
        lists = [Listed(one["operator"], one["list"], one["kind"], one["total"]) for one in found["lists"]]
        if any("rows" in one for one in found["lists"]):
            rows = (one.get("rows", []) for one in found["lists"])
            self.lists(list(zip(lists, rows, strict=True)), by_key)
        else:
            self.overview(found["job"], found["epoch"], lists)

    def overview(self, job: str, epoch: int, lists: Sequence[AnyList]) -> None:
        if self._json:
            for one in lists:
                click.echo(json.dumps({"operator": one.operator, "list": one.name, "kind": one.kind, "rows": one.rows}))
            return
        table = Table("step", "list", "kind", "rows", "table for --sql", box=None, pad_edge=False)
        for one in lists:
            table.add_row(one.operator, one.name, one.kind, f"{one.rows:,}", table_name(one))
        self._console.print(f"job {job}, after epoch {epoch}")
        self._console.print(table)

    def lists(self, found: list[Found], by_key: bool) -> None:
        """An error if a key was asked for and nothing has it."""
        if by_key and not any(rows for _, rows in found):
            raise MillstreamError(
                "MS-STATE-003", "there is no state of this key.", hint="write the key as COLUMN=VALUE, as rows show it"
            )
        for one, rows in found:
            if self._json:
                for row in rows:
                    click.echo(json.dumps({"operator": one.operator, "list": one.name, **row}, default=str))
            elif rows:
                self._console.print(f"{one.operator}: {one.name} ({one.kind})", style="bold", markup=False)
                self.rows(rows)

    def rows(self, rows: list[Row]) -> None:
        if self._json:
            for row in rows:
                click.echo(json.dumps(row, default=str))
            return
        table = Table(*(dict.fromkeys(name for row in rows for name in row)), box=None, pad_edge=False)
        for row in rows[: self._limit]:
            table.add_row(*(cell(row.get(str(column.header))) for column in table.columns))
        self._console.print(table)
        if len(rows) > self._limit:
            self._console.print(f"… and {len(rows) - self._limit:,} more: --limit, --json or --sql", style="dim")


def cell(value: Any) -> str:
    return "NULL" if value is None else value if isinstance(value, str) else json.dumps(value, default=str).strip('"')
