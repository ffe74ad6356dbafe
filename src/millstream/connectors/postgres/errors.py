"""What can go wrong with Postgres, as users see it."""

from __future__ import annotations

from millstream.plan.connectors import Errors
from millstream.plan.options import OptionChecks
from millstream.reception import ConnectionLost

CHECKS = OptionChecks("MS-POSTGRES-012")
# The server does not answer.
ERRORS = Errors(transient=frozenset({"MS-POSTGRES-001"}))


def unreachable(error: Exception) -> ConnectionLost:
    return ConnectionLost(
        "MS-POSTGRES-001",
        "Postgres does not answer.",
        found=str(error).strip().splitlines()[0],
        hint="is the server up, and the address right?",
    )
