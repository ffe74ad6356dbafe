"""The REST interface, described by OpenAPI at `/api/v1/openapi.json`."""
