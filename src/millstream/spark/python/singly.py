"""A function that is called with one row at a time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.spark.python.compiled import map_loop
from millstream.spark.python.failures import WrongValue, current_line, short
from millstream.spark.python.found import Found, Letter
from millstream.spark.python.shapes import SHAPE

if TYPE_CHECKING:
    from millstream.spark.python.caller import Caller


class MapEach:
    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.loop = map_loop(caller.shape.schema, caller.shape.looked_at)
        self.nothing = (None,) * caller.shape.width

    def called(self, columns: list[pa.Array]) -> Found:
        rows = self.caller.decoded(columns)
        given: list[Any] = []
        failed: dict[int, Letter | None] = {}
        left = iter(rows)
        while len(given) < len(rows):
            try:
                self.loop(self.caller.function, left, given.append)
            except Exception as error:
                at = len(given)
                failed[at] = self.caller.failed(error, rows[at])
                given.append(self.nothing)
        return self.found(given, failed)

    def found(self, given: list[Any], failed: dict[int, Letter | None]) -> Found:
        letters = {at: letter for at, letter in failed.items() if letter is not None}
        if len(letters) == len(failed):
            return Found(len(given), self.caller.shape.columns(given), None, letters)
        of = [i for i in range(len(given)) if i not in failed]
        return Found(len(of), self.caller.shape.columns([given[i] for i in of]), of)


class FlatMapEach:
    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.nothing = (None,) * caller.shape.width

    def called(self, columns: list[pa.Array]) -> Found:
        found: list[Any] = []
        of: list[int] = []
        letters: dict[int, Letter] = {}
        for at, row in enumerate(self.caller.decoded(columns)):
            before = len(found)
            try:
                self.take(self.caller.function(row), found)
            except Exception as error:
                del found[before:]
                letter = self.caller.failed(error, row)
                if letter is not None:
                    letters[before] = letter
                    found.append(self.nothing)
            of += [at] * (len(found) - before)
        return Found(len(found), self.caller.shape.columns(found), of, letters)

    def take(self, given: Any, found: list[Any]) -> None:
        if isinstance(given, dict | str) or not isinstance(given, Iterable):
            raise WrongValue(SHAPE, f"gave {short(given)}, which is no list of rows")
        append, checked = found.append, self.caller.shape.row
        try:
            for row in given:
                append(checked(row))
        except WrongValue as error:
            error.add_note(current_line(given) or "")
            raise


class FilterEach:
    def __init__(self, caller: Caller) -> None:
        self.caller = caller

    def called(self, columns: list[pa.Array]) -> Found:
        function = self.caller.function
        of: list[int] = []
        letters: dict[int, Letter] = {}
        for at, row in enumerate(self.caller.decoded(columns)):
            try:
                keep = function(row)
                if not isinstance(keep, bool):
                    raise WrongValue(SHAPE, f"gave {short(keep)}, which is neither True nor False")
            except Exception as error:
                letter = self.caller.failed(error, row)
                keep = letter is not None
                if letter is not None:
                    letters[len(of)] = letter
            if keep:
                of.append(at)
        return Found(len(of), [], of, letters)


CALLED_FOR_EACH: dict[str, type[MapEach | FlatMapEach | FilterEach]] = {
    "map": MapEach,
    "flat_map": FlatMapEach,
    "filter": FilterEach,
}
