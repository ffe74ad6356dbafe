"""Calls a user's process and takes what it yields; what fails is told, skipped, or sent to dead letters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import GeneratorType
from typing import Any

from millstream.spark.python.failures import Failure, WrongValue, current_line, first_line, short
from millstream.spark.python.shapes import SHAPE, RowShape
from millstream.spark.python.spec import ProcessSpec

NO_ROWS = (dict, tuple, str)
ENDLESS = "on_timer set a timer for the very time that it rings for: it would ring for ever"
Found = list[tuple[int, tuple[Any, ...]]]
"""Rows with the number of the output that each belongs to."""


class Calls:
    """The rows that a user's code gave so far, and how many it failed on."""

    def __init__(self, spec: ProcessSpec) -> None:
        self.spec = spec
        self.shapes = [RowShape(schema) for schema in spec.schemas]
        self.numbers = {name: i for i, (name, _) in enumerate(spec.outputs[:-1])}
        self.main = self.shapes[0].row
        self.found: Found = []
        self.skipped = 0

    def make(self, function: Callable[..., Any], key: Any, what: Any, row: Any) -> bool:
        """Whether it went well. `what` is the row, or the time of a timer."""
        result: Any = None
        before = len(self.found)
        try:
            result = function(key, what)
            if result is not None:
                self.take(result)
            return True
        except Exception as error:
            del self.found[before:]
            line = None
            if isinstance(error, WrongValue) and error.code == SHAPE:
                line = current_line(result) or first_line(function)
            self.failed(Failure(self.spec.step, f"{function.__name__}()", key, row, error, line), error)
            return False

    def take(self, result: Any) -> None:
        if type(result) is not GeneratorType and (isinstance(result, NO_ROWS) or not isinstance(result, Iterable)):
            raise WrongValue(SHAPE, f"returned {short(result)}: rows must be yielded, or returned as a list")
        append, main = self.found.append, self.main
        for given in result:
            kind = type(given)
            if kind is not tuple and kind is not dict and getattr(given, "is_output", False):
                append(self.other(*given))
            else:
                append((0, main(given)))

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
            self.found.append((len(self.shapes) - 1, failure.letter()))

    def end(self) -> tuple[Found, int]:
        """What there is, to begin anew."""
        found, skipped = self.found, self.skipped
        self.found, self.skipped = [], 0
        return found, skipped
