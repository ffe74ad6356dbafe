"""Speaks to a manager, with nothing but the standard library: to submit a job needs no server's packages."""

from __future__ import annotations

import json
import os
import secrets
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from millstream.errors import Location, MillstreamError
from millstream.manager.home import Home

DEFAULT = "http://127.0.0.1:8484"
PATIENCE = 180


def default_home() -> Path:
    return Path(os.environ.get("MILLSTREAM_HOME") or Path.home() / ".millstream" / "manager")


class Client:
    """`url` and `token`: as given, or of the environment, or of the manager that this user runs on this machine."""

    def __init__(self, url: str | None = None, token: str | None = None, certificate: str | None = None) -> None:
        home = Home(default_home())
        known = home.address.read_text().strip() if home.address.exists() else DEFAULT
        self.url = (url or os.environ.get("MILLSTREAM_MANAGER") or known).rstrip("/")
        self._token = token or os.environ.get("MILLSTREAM_TOKEN") or said(home.token)
        trusted = certificate or os.environ.get("MILLSTREAM_CERTIFICATE")
        self._tls = ssl.create_default_context(cafile=trusted) if self.url.startswith("https") else None

    @property
    def local(self) -> bool:
        return urllib.parse.urlsplit(self.url).hostname in ("127.0.0.1", "localhost", "::1")

    def get(self, path: str, **query: object) -> Any:
        return json.loads(self._send("GET", path, query=query))

    def text(self, path: str, **query: object) -> str:
        return self._send("GET", path, query=query).decode()

    def post(self, path: str, asked: Mapping[str, object] | None = None) -> Any:
        if asked is None:
            return json.loads(self._send("POST", path))
        return json.loads(self._send("POST", path, json.dumps(asked).encode(), "application/json"))

    def put(self, path: str, content: Mapping[str, object]) -> Any:
        return json.loads(self._send("PUT", path, json.dumps(content).encode(), "application/json"))

    def delete(self, path: str) -> None:
        self._send("DELETE", path)

    def upload(self, path: str, archive: bytes, fields: Mapping[str, str]) -> Any:
        boundary = secrets.token_hex(16)
        body = b"".join(multipart(boundary, archive, fields))
        return json.loads(self._send("POST", path, body, f"multipart/form-data; boundary={boundary}"))

    def follow(self, path: str, **query: object) -> Iterator[str]:
        """The data of server-sent events, as they come."""
        with self._open("GET", path, query=query) as answer:
            for line in answer:
                if line.startswith(b"data: "):
                    yield line[6:].decode().rstrip("\n")

    def _send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        kind: str = "",
        query: Mapping[str, object] | None = None,
    ) -> bytes:
        with self._open(method, path, body, kind, query) as answer:
            return bytes(answer.read())

    def _open(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        kind: str = "",
        query: Mapping[str, object] | None = None,
    ) -> Any:
        asked = {name: value for name, value in (query or {}).items() if value is not None}
        address = f"{self.url}{path}{'?' + urllib.parse.urlencode(asked, doseq=True) if asked else ''}"
        headers = {"Accept": "application/json", **({"Content-Type": kind} if kind else {})}
        headers |= {"Authorization": f"Bearer {self._token}"} if self._token else {}
        request = urllib.request.Request(address, body, headers, method=method)
        try:
            return urllib.request.urlopen(request, timeout=PATIENCE, context=self._tls)
        except urllib.error.HTTPError as error:
            raise refused(error, self.url) from None
        except (OSError, ValueError) as error:
            raise MillstreamError(
                "MS-MANAGER-030",
                f"no manager answers at {self.url}.",
                found=str(getattr(error, "reason", error)),
                hint="millstream manager starts one; --manager or MILLSTREAM_MANAGER names another",
            ) from None


def said(file: Path) -> str | None:
    try:
        return file.read_text().strip()
    except OSError:
        return None


def refused(error: urllib.error.HTTPError, url: str) -> MillstreamError:
    try:
        told = json.loads(error.read())
        place = told.get("at")
        at = Location(place.rpartition(":")[0], int(place.rpartition(":")[2])) if place else None
        hint = told.get("hint")
        if error.code == 401:
            hint = "MILLSTREAM_TOKEN or --token says it; the manager's first start printed one"
        return MillstreamError(told["code"], told["message"], at=at, found=told.get("found"), hint=hint)
    except (ValueError, KeyError, AttributeError):
        return MillstreamError("MS-MANAGER-030", f"{url} answered {error.code}.", found=str(error.reason))


def multipart(boundary: str, archive: bytes, fields: Mapping[str, str]) -> Iterator[bytes]:
    for name, value in fields.items():
        yield f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
    yield f'--{boundary}\r\nContent-Disposition: form-data; name="archive"; filename="job.tar.gz"\r\n\r\n'.encode()
    yield archive + f"\r\n--{boundary}--\r\n".encode()
