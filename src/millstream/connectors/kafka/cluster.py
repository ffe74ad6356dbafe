"""A Kafka cluster's address and login. Secrets are named, read when they are needed, and never printed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

from millstream.connectors.kafka.errors import CHECKS
from millstream.connectors.secrets import Secret, require_named

LOGINS = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
SECRETS = ("password", "jaas", "secret", "keystore.key")
"""Names of settings whose values are never shown."""


@dataclass(frozen=True)
class Tls:
    ca: str | None = None
    keystore: str | None = None
    key_password: Secret | None = None

    def settings(self) -> dict[str, str | Secret]:
        """PEM files, as Kafka's clients want them."""
        found: dict[str, str | Secret] = {}
        if self.ca:
            found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": self.ca}
        if self.keystore:
            found |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": self.keystore}
        if self.key_password:
            found["ssl.key.password"] = self.key_password
        return found


@dataclass(frozen=True)
class Sasl:
    mechanism: str
    user: str
    password: Secret

    def settings(self) -> dict[str, str | Secret]:
        login = f"{LOGINS[self.mechanism]} required username={quoted(self.user)} "
        return {
            "sasl.mechanism": self.mechanism,
            "sasl.jaas.config": f'{login}password="{self.password.placeholder}";',
        }


@dataclass(frozen=True)
class Cluster:
    """Brokers, and the settings of Kafka's own clients to reach them with."""

    servers: str
    tls: Tls | None = None
    sasl: Sasl | None = None
    more: tuple[tuple[str, str | Secret], ...] = ()

    def client(self) -> dict[str, str]:
        """Settings by Kafka's names, with placeholders where secrets go."""
        protocol = {(False, False): "PLAINTEXT", (True, False): "SSL", (False, True): "SASL_PLAINTEXT"}
        given: dict[str, str | Secret] = {"bootstrap.servers": self.servers}
        if self.tls or self.sasl:
            given["security.protocol"] = protocol.get((bool(self.tls), bool(self.sasl)), "SASL_SSL")
        given |= {**(self.tls.settings() if self.tls else {}), **(self.sasl.settings() if self.sasl else {})}
        given |= dict(self.more)
        return {name: value.placeholder if isinstance(value, Secret) else value for name, value in given.items()}

    def secrets(self) -> dict[str, str]:
        """Placeholder -> what goes there; within a quoted password, quoted."""
        found = {value.placeholder: value.read() for _, value in self.more if isinstance(value, Secret)}
        if self.tls and self.tls.key_password:
            found[self.tls.key_password.placeholder] = self.tls.key_password.read()
        if self.sasl:
            found[self.sasl.password.placeholder] = quoted(self.sasl.password.read())[1:-1]
        return found

    def filled(self) -> dict[str, str]:
        """Settings with the secrets in their places: for a client, not to be shown."""
        filled = self.client()
        for placeholder, value in self.secrets().items():
            filled = {name: setting.replace(placeholder, value) for name, setting in filled.items()}
        return filled


def quoted(text: str) -> str:
    """As a Java string, as in the settings of a login."""
    return json.dumps(text)


def tls(*, ca: str | None = None, keystore: str | None = None, key_password: Secret | None = None) -> Tls:
    """Encrypted. `ca`: a PEM file with whom to trust, else Java's own list. `keystore`: a PEM file with this client's
    private key and certificate, where the cluster asks for one."""
    return Tls(ca, keystore, key_password)


def sasl(mechanism: str, *, user: str, password: Secret) -> Sasl:
    """With user and password: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512."""
    CHECKS.one_of("mechanism", mechanism, tuple(LOGINS), 'others by cluster(settings={"sasl.mechanism": …})')
    require_named("password", password)
    return Sasl(mechanism, user, password)


def cluster(
    servers: str,
    *,
    tls: Tls | None = None,
    sasl: Sasl | None = None,
    settings: Mapping[str, str | Secret] | None = None,
) -> Cluster:
    """A cluster: `kafka.cluster("one:9092,two:9092", tls=kafka.tls(), sasl=kafka.sasl("PLAIN", …))`.

    `settings`: any other settings of Kafka's clients, by Kafka's own names.
    """
    more = tuple(sorted((settings or {}).items(), key=lambda item: item[0]))
    for name, value in more:
        if not isinstance(value, Secret) and any(sign in name for sign in SECRETS):
            raise CHECKS.wrong(f"the setting {name} is a secret, and is not written into a job.", "use kafka.secret(…)")
    return Cluster(servers, tls, sasl, more)


def default_cluster() -> Cluster:
    servers = os.environ.get("MILLSTREAM_KAFKA")
    if not servers:
        raise CHECKS.wrong("no brokers are named.", 'servers="host:9092", or set MILLSTREAM_KAFKA')
    return Cluster(servers)


def at(servers: str | Cluster | None) -> Cluster:
    if servers is None:
        return default_cluster()
    return servers if isinstance(servers, Cluster) else Cluster(servers)
