"""A broker's address and login."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from ssl import SSLContext
from typing import ClassVar, Self
from urllib.parse import unquote, urlsplit

from millstream.connectors.secrets import Secret, require_named
from millstream.connectors.tls import Tls
from millstream.plan.options import OptionChecks


@dataclass(frozen=True)
class BrokerServer:
    url: str = field(repr=False)
    user: str | None = None
    password: Secret | None = None
    tls: Tls | None = None

    ports: ClassVar[Mapping[str, int]]
    """Scheme -> the default port."""
    encrypted: ClassVar[Collection[str]]
    """Schemes of encrypted connections."""
    checks: ClassVar[OptionChecks]

    @property
    def scheme(self) -> str:
        return urlsplit(self.url).scheme

    def place(self) -> tuple[str, int]:
        """Host and port."""
        address = urlsplit(self.url)
        return address.hostname or "localhost", address.port or self.ports[address.scheme]

    def login(self) -> tuple[str | None, str | None]:
        address = urlsplit(self.url)
        user = self.user or unquote(address.username or "") or None
        return user, self.password.read() if self.password else unquote(address.password or "") or None

    def encryption(self) -> Tls | None:
        return self.tls or (Tls() if self.scheme in self.encrypted else None)

    def context(self) -> SSLContext | None:
        tls = self.encryption()
        return tls.context() if tls else None

    @classmethod
    def checked(cls, url: str, user: str | None, password: Secret | None, tls: Tls | None, example: str) -> Self:
        """As a job names it."""
        require_named("password", password)
        if urlsplit(url).scheme not in cls.ports:
            begin = " or ".join(f"{scheme}://" for scheme in cls.ports)
            raise cls.checks.wrong(f"a server's address begins with {begin}.", f'server("{example}")')
        if urlsplit(url).password is not None:
            raise cls.checks.wrong("a password is not written into a job.", 'password=secret(env="PASSWORD")')
        return cls(url, user, password, tls)

    @classmethod
    def chosen(cls, given: str | Self | None, variable: str, example: str, schemes: Collection[str]) -> Self:
        """What a source or sink was given, or an environment variable. `schemes`: those that fit it."""
        url = os.environ.get(variable)
        if given is None and not url:
            raise cls.checks.wrong("no server is named.", f'server="{example}", or set {variable}')
        named = cls.checked(given, None, None, None, example) if isinstance(given, str) else given
        found = named if named is not None else cls(str(url))
        if found.scheme not in schemes:
            begin = " or ".join(f"{scheme}://" for scheme in schemes)
            raise cls.checks.wrong(f"an address begins with {begin} here.", f'server="{example}"')
        return found
