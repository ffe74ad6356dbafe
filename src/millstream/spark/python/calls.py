"""Calls a user's process and takes what it yields; what fails is told, skipped, or sent to dead letters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from inspect import isawaitable
from types import AsyncGeneratorType, GeneratorType
from typing import Any

from millstream.spark.python.awaited import loop
from millstream.spark.python.compiled import ROWS_LOOP, keys_loop, rows_loop
from millstream.spark.python.failures import Failure, WrongValue, current_line, first_line, locals_of, short
from millstream.spark.python.shapes import SHAPE, RowShape
from millstream.spark.python.spec import ProcessSpec

NO_ROWS = (dict, tuple, str)
ENDLESS = "on_timer set a timer for the very time that it rings for: it would ring for ever"


@dataclass
class Found:
    """Rows, and by their place those that belong to another output than the main one."""

    rows: list[tuple[Any, ...]] = field(default_factory=list)
    others: dict[int, int] = field(default_factory=dict)

    def add(self, output: int, row: tuple[Any, ...]) -> None:
        if output:
            self.others[len(self.rows)] = output
        self.rows.append(row)

    def cut(self, length: int) -> None:
        """Keeps only the first `length` rows."""
        del self.rows[length:]
        if self.others:
            self.others = {at: output for at, output in self.others.items() if at < length}

    def join(self, more: Found) -> None:
        """Those of another behind these."""
        self.others |= {len(self.rows) + at: output for at, output in more.others.items()}
        self.rows += more.rows

    def numbered(self) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Each with the number of its output."""
        return ((self.others.get(at, 0), row) for at, row in enumerate(self.rows))


class Calls:
    """The rows that a user's code gave so far, and how many it failed on."""

    def __init__(self, spec: ProcessSpec) -> None:
        self.spec = spec
        self.shapes = [RowShape(schema) for schema in spec.schemas]
        self.numbers = {name: i for i, (name, _) in enumerate(spec.outputs[:-1])}
        self.main = self.shapes[0].row
        self.found = Found()
        self.skipped = 0
        main = self.shapes[0]
        self.of_key = rows_loop(main.schema, self.take, main.looked_at)
        self.of_keys = keys_loop(main.schema, self.take, main.looked_at)

    def each(self, loop: Callable[..., None], function: Callable[..., Any], of: Any, rows: Any, *more: Any) -> None:
        """Calls it for the rows of a key, or of many, where a failure ends all."""
        try:
            loop(function, of, rows, self.found.rows.append, *more)
        except Exception as error:
            inside = locals_of(ROWS_LOOP, error)
            key, row, result = inside.get("key"), inside.get("row"), inside.get("result")
            raise self.failure(function, key, row, error, result).raised() from error

    def make(self, function: Callable[..., Any], key: Any, what: Any, row: Any) -> bool:
        """Whether it went well. `what` is the row, or the time of a timer."""
        if self.spec.in_flight:
            return loop().run_until_complete(self.awaited(function, key, what, row))
        result: Any = None
        before = len(self.found.rows)
        try:
            result = function(key, what)
            if result is not None:
                self.take(result)
            return True
        except Exception as error:
            self.found.cut(before)
            self.failed(self.failure(function, key, row, error, result), error)
            return False

    async def awaited(self, function: Callable[..., Any], key: Any, what: Any, row: Any) -> bool:
        """As `make`, of a function that may be async."""
        result: Any = None
        before = len(self.found.rows)
        try:
            result = function(key, what)
            if isawaitable(result):
                result = await result
            elif isinstance(result, AsyncGeneratorType):
                result = [given async for given in result]
            if result is not None:
                self.take(result)
            return True
        except Exception as error:
            self.found.cut(before)
            self.failed(self.failure(function, key, row, error, result), error)
            return False

    def failure(self, function: Callable[..., Any], key: Any, row: Any, error: Exception, result: Any) -> Failure:
        line = None
        if isinstance(error, WrongValue) and error.code == SHAPE:
            line = current_line(result) or first_line(function)
        return Failure(self.spec.step, f"{function.__name__}()", key, row, error, line)

    def take(self, result: Any) -> None:
        if type(result) is not GeneratorType and (isinstance(result, NO_ROWS) or not isinstance(result, Iterable)):
            raise WrongValue(SHAPE, f"returned {short(result)}: rows must be yielded, or returned as a list")
        found, main = self.found, self.main
        append = found.rows.append
        for given in result:
            kind = type(given)
            if kind is not tuple and kind is not dict and getattr(given, "is_output", False):
                found.add(*self.other(*given))
            else:
                append(main(given))

    def other(self, name: str, columns: dict[str, Any]) -> tuple[int, tuple[Any, ...]]:
        number = self.numbers.get(name)
        if number is None or not name:
            known = ", ".join(other for other in self.numbers if other) or "none but the main one"
            raise WrongValue(SHAPE, f"gave a row for output {name!r}; its outputs are: {known}")
        return number, self.shapes[number].row(columns)

    def failed(self, failure: Failure, error: Exception) -> None:
        if self.spec.on_error == "fail":
            raise failure.raised() from error
        if self.spec.on_error == "skip":
            self.skipped += 1
        else:
            self.found.add(len(self.shapes) - 1, failure.letter())

    def end(self) -> tuple[Found, int]:
        """What there is, to start over."""
        found, skipped = self.found, self.skipped
        self.found, self.skipped = Found(), 0
        return found, skipped
