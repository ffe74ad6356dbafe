"""Secrets: named in a job, read when they are needed, and never printed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from millstream.errors import MillstreamError
from millstream.plan.errors import here
from millstream.plan.options import OptionChecks

CHECKS = OptionChecks("MS-SECRET-001")


@dataclass(frozen=True)
class Secret:
    """The name of a secret. Its text and its plan show the name alone."""

    env: str | None = None
    file: str | None = None

    @property
    def placeholder(self) -> str:
        return f"${{env:{self.env}}}" if self.env else f"${{file:{self.file}}}"

    def read(self) -> str:
        if self.env is not None:
            value = os.environ.get(self.env)
            if value is None:
                raise missing(f"the environment variable {self.env}, which holds a secret, is not set.")
            return value
        assert self.file is not None
        try:
            return Path(self.file).expanduser().read_text().rstrip("\r\n")
        except OSError as error:
            raise missing(f"the file {self.file}, which holds a secret, cannot be read: {error.strerror}.") from error


def secret(*, env: str | None = None, file: str | None = None) -> Secret:
    """A secret from an environment variable or a file: `secret(env="PASSWORD")`."""
    if (env is None) == (file is None):
        raise CHECKS.wrong("a secret comes from an environment variable or from a file.", 'secret(env="PASSWORD")')
    return Secret(env, file)


def require_named(what: str, value: object) -> None:
    """An error if a secret is written into a job as it is."""
    if value is not None and not isinstance(value, Secret):
        raise CHECKS.wrong(f"a {what} is not written into a job.", f'{what}=secret(env="{what.upper()}")')


def missing(message: str) -> MillstreamError:
    return MillstreamError("MS-SECRET-002", message, at=here())
