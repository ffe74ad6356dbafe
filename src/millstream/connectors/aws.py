"""Clients of Amazon's services: addresses and logins."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from millstream.connectors.library import library
from millstream.connectors.secrets import Secret, require_named
from millstream.errors import MillstreamError
from millstream.plan.connectors import Errors
from millstream.plan.options import OptionChecks
from millstream.reception import ConnectionLost

CHECKS = OptionChecks("MS-AWS-001")
# The service does not answer.
ERRORS = Errors(transient=frozenset({"MS-AWS-003"}))
REFUSED = ("AccessDenied", "InvalidClientTokenId", "SignatureDoesNotMatch", "UnrecognizedClient", "ExpiredToken")
BUSY = ("Throttl", "ProvisionedThroughputExceeded", "LimitExceeded", "ServiceUnavailable", "InternalFailure")


@dataclass(frozen=True)
class Account:
    """`endpoint`: a service other than Amazon's own. `key` and `secret_key`: by default from Amazon's usual places."""

    region: str | None = None
    endpoint: str | None = None
    key: str | None = None
    secret_key: Secret | None = field(default=None, repr=False)
    token: Secret | None = field(default=None, repr=False)
    """Of a login that is valid for a while."""

    def client(self, service: str) -> Any:
        session = library("botocore.session", service).get_session()
        session.register_component("data_loader", descriptions(service))
        config = library("botocore.config", service).Config(
            connect_timeout=5, read_timeout=30, retries={"mode": "standard", "max_attempts": 3}, max_pool_connections=8
        )
        return session.create_client(
            service,
            region_name=self.region,
            endpoint_url=self.endpoint,
            aws_access_key_id=self.key,
            aws_secret_access_key=self.secret_key.read() if self.secret_key else None,
            aws_session_token=self.token.read() if self.token else None,
            config=config,
        )

    def named(self) -> Account:
        """The same with what this process's environment says of it: another machine's may say something else."""
        said = os.environ
        region = self.region or said.get("AWS_DEFAULT_REGION") or said.get("AWS_REGION")
        if self.key is not None or not {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} <= said.keys():
            return replace(self, region=region)
        token = Secret(env="AWS_SESSION_TOKEN") if "AWS_SESSION_TOKEN" in said else None
        key, secret_key = said["AWS_ACCESS_KEY_ID"], Secret(env="AWS_SECRET_ACCESS_KEY")
        return replace(self, region=region, key=key, secret_key=secret_key, token=token)


@cache
def descriptions(service: str) -> Any:
    """The client's descriptions of Amazon's services, read once: that is most of the work for a new client."""
    return library("botocore.session", service).get_session().get_component("data_loader")


def account(
    *,
    region: str | None = None,
    endpoint: str | None = None,
    key: str | None = None,
    secret_key: Secret | None = None,
) -> Account:
    """By default, Amazon's usual places are used: AWS_REGION, AWS_ACCESS_KEY_ID, a profile, the machine's role."""
    require_named("secret_key", secret_key)
    if (key is None) != (secret_key is None):
        raise CHECKS.wrong("a login is a key and a secret key, or neither.", 'secret_key=secret(env="AWS_SECRET")')
    return Account(region, endpoint, key, secret_key)


@contextmanager
def explained(service: str, label: str) -> Iterator[None]:
    """Errors of the client, as ours."""
    errors = library("botocore.exceptions", service.lower())
    try:
        yield
    except errors.ClientError as error:
        raise answered(service, label, error) from error
    except (errors.NoCredentialsError, errors.NoRegionError) as error:
        raise MillstreamError(
            "MS-AWS-002", f"{service} needs a region and a login.", found=str(error), hint="account=…, or AWS_REGION"
        ) from error
    except (errors.BotoCoreError, OSError) as error:
        raise ConnectionLost("MS-AWS-003", f"{service} does not answer.", found=str(error)[:300]) from error


def answered(service: str, label: str, error: Any) -> MillstreamError:
    """What the service refused."""
    code, text = str(error.response["Error"].get("Code", "")), str(error)[:300]
    if any(sign in code for sign in REFUSED):
        return MillstreamError("MS-AWS-004", f'{service} refuses access to "{label}".', found=text)
    if any(sign in code for sign in ("NonExistent", "NotFound", "DoesNotExist")):
        return MillstreamError(
            "MS-AWS-005", f'{service} has no "{label}".', found=text, hint="create it first: a job creates none"
        )
    if any(sign in code for sign in BUSY) or error.response["ResponseMetadata"].get("HTTPStatusCode", 0) >= 500:
        return ConnectionLost("MS-AWS-003", f"{service} is busy.", found=text)
    return MillstreamError("MS-AWS-006", f'{service} says no to a request for "{label}".', found=text)


def account_at(given: Account | None, variable: str) -> Account:
    """`variable`: of the environment, the address of a service that is not Amazon's own."""
    return given or Account(endpoint=os.environ.get(variable))
