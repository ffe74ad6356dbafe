"""A server's self-signed certificate."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Certificate:
    """PEM files. A client that trusts the first one trusts the server at 127.0.0.1 and localhost."""

    file: Path
    key: Path

    def as_pkcs12(self, password: str) -> Path:
        """Both in one file, as Java reads them."""
        made = self.file.with_suffix(".p12")
        files = ("-in", str(self.file), "-inkey", str(self.key), "-out", str(made))
        subprocess.run(["openssl", "pkcs12", "-export", *files, "-passout", f"pass:{password}"], check=True)
        return made


def certificate(folder: Path) -> Certificate:
    made = Certificate(folder / "server.pem", folder / "server.key")
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-days", "3650")
    kind = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    files = ("-keyout", str(made.key), "-out", str(made.file))
    subprocess.run(["openssl", "req", "-x509", *kind, *names, *files], check=True, capture_output=True)
    return made
