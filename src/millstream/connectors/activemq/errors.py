"""What can go wrong with ActiveMQ, as users see it."""

from __future__ import annotations

from millstream.errors import MillstreamError
from millstream.plan.connectors import Errors
from millstream.plan.options import OptionChecks
from millstream.reception import ConnectionLost

CHECKS = OptionChecks("MS-ACTIVEMQ-001")
# The server does not answer, or another consumer has what a job needs.
ERRORS = Errors(transient=frozenset({"MS-ACTIVEMQ-003", "MS-ACTIVEMQ-006"}))
REFUSED = ("user name", "password", "login", "authenticat", "authoriz", "permission")
HELD = ("already connected", "consumer is in use")


class SubscriptionHeld(MillstreamError):
    """Another connection has the client id of a durable subscription: perhaps one that is about to go."""


def unreachable(found: str) -> ConnectionLost:
    return ConnectionLost(
        "MS-ACTIVEMQ-003",
        "ActiveMQ does not answer.",
        found=found[:300],
        hint="is the server up, does it speak STOMP there, and is the address right?",
    )


def answered(label: str, said: str) -> MillstreamError:
    """What the server refused. Its first line says why; a Java trace with arbitrary text follows."""
    why = said.partition("\n")[0].lower()
    if any(sign in why for sign in HELD):
        return SubscriptionHeld(
            "MS-ACTIVEMQ-006",
            f'another consumer holds the subscription of "{label}".',
            found=said[:300],
            hint="end the other consumer, or give this job a subscription of its own",
        )
    if any(sign in why for sign in REFUSED):
        return MillstreamError(
            "MS-ACTIVEMQ-004",
            "ActiveMQ refuses access.",
            found=said[:300],
            hint="check user, password and the user's permissions",
        )
    return MillstreamError("MS-ACTIVEMQ-005", f'ActiveMQ says no to a request for "{label}".', found=said[:300])
