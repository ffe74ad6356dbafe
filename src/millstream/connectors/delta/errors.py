"""What can go wrong with Delta tables, as users see it; and the Python package that knows their format."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from millstream.errors import MillstreamError
from millstream.plan.connectors import Errors

# Storage does not answer, or others have changed the table meanwhile.
ERRORS = Errors(transient=frozenset({"MS-DELTA-001"}))


def deltalake() -> Any:
    try:
        import deltalake
    except ImportError as error:
        raise MillstreamError(
            "MS-DELTA-003", "the Python package deltalake is missing.", hint="pip install 'millstream[delta]'"
        ) from error
    return deltalake


@contextmanager
def told(path: str) -> Iterator[None]:
    """Storage that fails, others who commit at the same time, and rows that the table refuses."""
    errors = deltalake().exceptions
    try:
        yield
    except errors.CommitFailedError as error:
        if "oncurrent transaction" in str(error):
            raise MillstreamError(
                "MS-DELTA-004",
                f"another run of the job writes to the Delta table {path}.",
                hint="run a job once at a time",
            ) from error
        raise MillstreamError(
            "MS-DELTA-001", f"the Delta table {path} was changed by others meanwhile.", found=first_line(error)
        ) from error
    except OSError as error:
        raise MillstreamError(
            "MS-DELTA-001", f"the Delta table {path} cannot be reached.", found=first_line(error)
        ) from error
    except (errors.DeltaError, ValueError) as error:
        raise MillstreamError(
            "MS-DELTA-005", f"the Delta table {path} refuses the rows.", found=first_line(error)
        ) from error


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
