"""How values in Avro are read and written: by one schema, or by those of a registry."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.connectors.secrets import Secret, require_named
from millstream.plan.options import OptionChecks

CHECKS = OptionChecks("MS-FORMAT-001")


@dataclass(frozen=True)
class Registry:
    """A schema registry that speaks Confluent's protocol."""

    url: str
    user: str | None = None
    password: Secret | None = None

    def settings(self) -> dict[str, str]:
        login = f"{self.user}:{self.password.placeholder}" if self.user and self.password else ""
        return {"registry": self.url, **({"registry_login": login} if login else {})}

    def secrets(self) -> dict[str, str]:
        return {self.password.placeholder: self.password.read()} if self.password else {}

    def filled(self) -> dict[str, str]:
        found = self.settings()
        for placeholder, value in self.secrets().items():
            found = {name: setting.replace(placeholder, value) for name, setting in found.items()}
        return found


@dataclass(frozen=True)
class Avro:
    """One of the two; a sink may have neither, and then uses the schema of its columns."""

    schema: str | None = None
    registry: Registry | None = None

    def settings(self) -> dict[str, str]:
        schema = {"avro_schema": self.schema} if self.schema else {}
        return {**schema, **(self.registry.settings() if self.registry else {})}

    def filled(self) -> dict[str, str]:
        return {**self.settings(), **(self.registry.filled() if self.registry else {})}

    def secrets(self) -> dict[str, str]:
        return self.registry.secrets() if self.registry else {}


def registry(url: str, *, user: str | None = None, password: Secret | None = None) -> Registry:
    """A schema registry: `registry("http://host:8081")`."""
    if (user is None) != (password is None):
        raise CHECKS.wrong("a registry wants user and password, or neither.", 'password=secret(env="PASSWORD")')
    require_named("password", password)
    return Registry(url, user, password)
