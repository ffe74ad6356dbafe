"""What requests are answered with: the manager's parts, and who asks."""

from __future__ import annotations

from typing import cast

from fastapi import Request

from millstream.manager.guard import Refused
from millstream.manager.service import Service
from millstream.manager.tokens import Identity, Role


def service_of(request: Request) -> Service:
    return cast(Service, request.app.state.service)


def who_of(request: Request) -> Identity:
    return cast(Identity, request.state.who)


def operator(request: Request) -> None:
    who = who_of(request)
    if who.role < Role.OPERATE:
        raise Refused(403, "MS-MANAGER-403", f"the token {who.name!r} may not see the rows of a job.")


def administrator(request: Request) -> None:
    who = who_of(request)
    if who.role < Role.ADMIN:
        raise Refused(403, "MS-MANAGER-403", f"the token {who.name!r} is not an administrator's.")
