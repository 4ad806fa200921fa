"""The fingerprint of the reasoning settings in the record of an exchange."""

from __future__ import annotations

from typing import Any

from toolparity.audit.conversations import record
from toolparity.normalizer.requests import read_request


def settings(**members: Any) -> int:
    body = {"model": "gpt-5", "messages": [{"role": "user", "content": "Hello"}], **members}
    return record("log:1", "openai.chat", read_request(body, "openai.chat"), None).settings


def test_requests_with_other_reasoning_settings_have_other_fingerprints() -> None:
    assert len({settings(), settings(reasoning_effort="low"), settings(reasoning_effort="high")}) == 3
    assert settings(reasoning_effort="low", temperature=0) == settings(reasoning_effort="low")


def test_a_request_without_reasoning_settings_has_no_fingerprint_of_them() -> None:
    assert settings(temperature=0) == 0
