"""What is told when a user's code fails: the step, the user's line, the key, the row."""

from __future__ import annotations

import traceback
from pathlib import Path
from types import GeneratorType
from typing import Any

from pyspark.sql.types import StringType, StructField, StructType

from millstream.spark.python.debugger import post_mortem

OWN = str(Path(__file__).parents[2])
LONGEST = 300
ERROR = StructType([StructField(name, StringType()) for name in ("step", "key", "row", "error", "line")])


class WrongValue(Exception):
    """A value of the user's that does not fit where it was put; `code` says where."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class UserError(Exception):
    """A user's code failed. Its text is one line, with a code in front, so that it is found again in Spark's."""


class Failure:
    """One failed call."""

    def __init__(self, step: str, call: str, key: Any, row: Any, error: BaseException, line: str | None) -> None:
        self.step = step
        self.call = call
        self.key = None if key is None else short(key)
        self.row = None if row is None else short(shown(row))
        self.line = line or user_line(error)
        self.code = error.code if isinstance(error, WrongValue) else "MS-PROCESS-101"
        kind = "" if isinstance(error, WrongValue) else f"{type(error).__name__}: "
        self.error = " ".join(f"{kind}{error}".split())
        post_mortem(error)

    def letter(self) -> tuple[Any, ...]:
        return self.step, self.key, self.row, self.error, self.line

    def raised(self) -> UserError:
        key = f", key {self.key}" if self.key is not None else ""
        row = f"; row {self.row}" if self.row is not None else ""
        place = f" at {self.line}" if self.line else ""
        return UserError(f'{self.code}: step "{self.step}" failed in {self.call}{place}{key}: {self.error}{row}')


def shown(row: Any) -> Any:
    return row.asdict() if hasattr(row, "asdict") else row


def short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def user_line(error: BaseException) -> str | None:
    """The innermost line that is neither ours nor a library's, or else the innermost that is not ours."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(OWN)]
    users = [frame for frame in frames if "site-packages" not in frame.filename and "/lib/python" not in frame.filename]
    chosen = (users or frames)[-1:]
    return f"{chosen[0].filename}:{chosen[0].lineno}" if chosen else None


def locals_of(function: str, error: BaseException) -> dict[str, Any]:
    """The variables of the function of ours in which something went wrong."""
    at = error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_name == function and at.tb_frame.f_code.co_filename.startswith(OWN):
            return dict(at.tb_frame.f_locals)
        at = at.tb_next
    return {}


def current_line(result: object) -> str | None:
    """Where a generator stands; None for anything else."""
    if not isinstance(result, GeneratorType) or result.gi_frame is None:
        return None
    return f"{result.gi_code.co_filename}:{result.gi_frame.f_lineno}"


def first_line(function: Any) -> str | None:
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else None
