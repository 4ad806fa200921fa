"""Failures of class errors: a call that the provider itself refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.decoding import codes
from toolparity import normalize

RAW = '<function=lookup {"city": "Turin"</function>'
ERROR = {"message": "Failed to call a function.", "type": "invalid_request_error", "code": "tool_use_failed"}
BODY: dict[str, Any] = {"error": {**ERROR, "failed_generation": RAW}}


@pytest.mark.parametrize("form", [json.dumps(BODY).encode(), json.dumps(BODY), BODY], ids=["bytes", "text", "parsed"])
def test_GROQ_01_a_call_that_the_provider_could_not_parse_is_an_error_with_its_text(form: Any) -> None:
    response = normalize(form, "openai.chat", provider="groq", status=400)
    assert response.error is not None
    assert (response.error.type, response.error.status) == ("invalid_request_error", 400)
    assert (response.error.message, response.error.retryable) == ("Failed to call a function.", False)
    assert (response.error.raw, response.choices) == (BODY, [])
    assert codes(response) == ["error-response", "provider-rejected-call"]
