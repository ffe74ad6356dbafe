"""Requests made up from the description of the REST interface: none ends in an error of ours, none comes in alone."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from millstream.manager.app import served
from tests.manager.house import House

ENDLESS = ("/api/v1/events", "/api/v1/jobs/{name}/logs/follow")
"""Server-sent events have no end."""
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.mark.long
def test_made_up_requests_are_answered_as_described(manager: House) -> None:
    manager.submit("steady")
    manager.submit("brief", "finish")
    manager.until("brief", "finished")
    app: Any = served(manager.service)
    auth = {"Authorization": f"Bearer {manager.service.home.token.read_text().strip()}"}
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app, headers=auth)
    tried = 0
    found: Any
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path in ENDLESS:
            continue
        tried += 1

        @settings(
            max_examples=60,
            deadline=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def ask(case: Any) -> None:
            alone = case.call()
            assert alone.status_code == 401, (case.method, case.path, alone.status_code)
            answer = case.call(headers=auth)
            case.validate_response(answer, checks=CHECKS)

        ask()
    assert tried >= 18
