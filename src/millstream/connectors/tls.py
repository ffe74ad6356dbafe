"""Encrypted connections of clients in Python."""

from __future__ import annotations

import ssl
from dataclasses import dataclass

from millstream.connectors.secrets import Secret, require_named
from millstream.errors import MillstreamError


@dataclass(frozen=True)
class Tls:
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    key_password: Secret | None = None

    def context(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cafile=self.ca)
            if self.certificate is not None:
                password = self.key_password.read() if self.key_password else None
                context.load_cert_chain(self.certificate, self.key, password)
        except (OSError, ssl.SSLError) as error:
            files = ", ".join(file for file in (self.ca, self.certificate, self.key) if file)
            raise MillstreamError(
                "MS-TLS-001", "a certificate or key cannot be used.", found=f"{error}; files: {files}"
            ) from error
        return context


def tls(
    *,
    ca: str | None = None,
    certificate: str | None = None,
    key: str | None = None,
    key_password: Secret | None = None,
) -> Tls:
    """Encrypted. `ca`: a PEM file with whom to trust, else the system's own list. `certificate` and `key`: this
    client's own, as PEM files, where the server asks for them."""
    require_named("key_password", key_password)
    return Tls(ca, certificate, key, key_password)
