"""Who may do what: tokens with a role, known by their hash."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from dataclasses import asdict, dataclass
from enum import IntEnum

from millstream.errors import MillstreamError
from millstream.manager.home import Home, private, read_json

SESSION = 12 * 3600
"""Seconds that a browser stays logged in."""


class Role(IntEnum):
    """Each may do what those before it may."""

    READ = 1
    OPERATE = 2
    ADMIN = 3


@dataclass(frozen=True)
class Identity:
    name: str
    role: Role
    session: str | None = None
    """The cookie by which a browser is known; None: it came with a token."""


@dataclass(frozen=True)
class Token:
    name: str
    role: str
    sha256: str


class Tokens:
    def __init__(self, home: Home) -> None:
        self._home = home

    def first(self) -> str | None:
        """Makes the administrator's token at the first start, and the secret that cookies are signed with. None: they
        are there."""
        if not self._home.secret.exists():
            private(self._home.secret, secrets.token_hex(32))
        if self._home.tokens.exists():
            return None
        text = self.add("admin", Role.ADMIN)
        private(self._home.token, text + "\n")
        return text

    def all(self) -> list[Token]:
        return [Token(**told) for told in read_json(self._home.tokens, [])]

    def add(self, name: str, role: Role) -> str:
        """The token itself, which cannot be shown again."""
        known = self.all()
        if any(each.name == name for each in known):
            raise MillstreamError("MS-MANAGER-020", f'there is a token "{name}".', hint="remove it first")
        text = f"ms_{secrets.token_urlsafe(24)}"
        self._keep([*known, Token(name, role.name.lower(), digest(text))])
        return text

    def remove(self, name: str) -> None:
        known = self.all()
        left = [each for each in known if each.name != name]
        if len(left) == len(known):
            raise MillstreamError(
                "MS-MANAGER-020",
                f'there is no token "{name}".',
                found=f"tokens: {', '.join(each.name for each in known)}",
            )
        self._keep(left)

    def _keep(self, tokens: list[Token]) -> None:
        private(self._home.tokens, json.dumps([asdict(each) for each in tokens]))

    def of(self, text: str) -> Identity | None:
        wanted = digest(text)
        for each in self.all():
            if hmac.compare_digest(each.sha256, wanted):
                return Identity(each.name, Role[each.role.upper()])
        return None

    def session(self, who: Identity) -> str:
        """A cookie: the name and the end, signed. All managers of a home know it."""
        told = base64.urlsafe_b64encode(json.dumps([who.name, int(time.time()) + SESSION]).encode()).decode()
        return f"{told}.{self._sign('session', told)}"

    def of_session(self, cookie: str) -> Identity | None:
        told, _, signature = cookie.partition(".")
        if not hmac.compare_digest(signature.encode(), self._sign("session", told).encode()):
            return None
        name, end = json.loads(base64.urlsafe_b64decode(told))
        # Its token may have been removed, or given another role, since.
        token = next((each for each in self.all() if each.name == name), None)
        if token is None or end < time.time():
            return None
        return Identity(token.name, Role[token.role.upper()], cookie)

    def csrf(self, cookie: str) -> str:
        """What a form of ours sends along, and another site's cannot know."""
        return self._sign("form", cookie)

    def _sign(self, what: str, text: str) -> str:
        key = self._home.secret.read_text().encode()
        return hmac.new(key, f"{what}:{text}".encode(), hashlib.sha256).hexdigest()


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
