"""What can go wrong with RabbitMQ, as users see it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from millstream.connectors.rabbitmq.library import pika
from millstream.errors import MillstreamError
from millstream.plan.connectors import Errors
from millstream.plan.options import OptionChecks
from millstream.reception import ConnectionLost

CHECKS = OptionChecks("MS-RABBITMQ-001")
# The server does not answer, or does not confirm.
ERRORS = Errors(transient=frozenset({"MS-RABBITMQ-003", "MS-RABBITMQ-006"}))
NOT_FOUND, IN_USE, REFUSED = 404, 405, 403


def unreachable(error: BaseException | None) -> ConnectionLost:
    return ConnectionLost(
        "MS-RABBITMQ-003",
        "RabbitMQ does not answer.",
        found=said(error),
        hint="is the server up, and the address right?",
    )


def said(error: BaseException | None) -> str:
    """Pika often gives the reason only in an inner error."""
    inner = [repr(part) if isinstance(part, Exception) else str(part) for part in getattr(error, "args", ())]
    return (", ".join(inner) or type(error).__name__)[:300]


@contextmanager
def explained(queue: str) -> Iterator[None]:
    """Errors of the client, as ours."""
    client = pika().exceptions
    try:
        yield
    except client.ChannelClosedByBroker as error:
        raise closed(queue, error.reply_code, error.reply_text) from error
    except client.ProbableAuthenticationError as error:
        raise refused(said(error)) from error
    except client.ProbableAccessDeniedError as error:
        raise refused(said(error)) from error
    except (client.AMQPError, OSError) as error:
        raise unreachable(error) from error


def closed(queue: str, code: int, text: str) -> MillstreamError:
    """A channel that the server has closed: it says why."""
    if code == NOT_FOUND:
        return MillstreamError(
            "MS-RABBITMQ-004", f'RabbitMQ has no "{queue}".', found=text, hint="declare it first: a job creates none"
        )
    if code in (IN_USE, REFUSED):
        return refused(text)
    return ConnectionLost("MS-RABBITMQ-003", "RabbitMQ has closed the channel.", found=f"{code}: {text}")


def refused(text: str) -> MillstreamError:
    return MillstreamError(
        "MS-RABBITMQ-005",
        "RabbitMQ refuses access.",
        found=text,
        hint="check user, password, virtual host and the user's permissions",
    )


def unroutable(target: str, text: str) -> MillstreamError:
    return MillstreamError(
        "MS-RABBITMQ-007",
        f"a row for {target} reaches no queue. It waits in the checkpoint and is not lost.",
        found=text,
        hint="bind a queue to the exchange, or correct the routing key, and start the job again",
    )


def unconfirmed(target: str, found: str) -> MillstreamError:
    return MillstreamError("MS-RABBITMQ-006", f"RabbitMQ has not taken all rows for {target}.", found=found)
