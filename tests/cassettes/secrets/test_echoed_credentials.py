"""Credentials of dropped headers are found wherever a body repeats them; ids of accounts in error texts."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.cassettes.secrets.cassettes import answer, cassette, response_body, written
from tests.cassettes.secrets.fakes import letters, uuid
from toolparity.cassettes.recorder.vcr import recording
from toolparity.cassettes.secrets import Scrubber, scan
from toolparity.cassettes.secrets.headers import credentials_in

PLAIN = letters(26, seed="echo")

REQUEST_HEADERS = {
    "authorization": f"Bearer {PLAIN}",
    "Authorization": f'Token token="{PLAIN}", scope=all',
    "proxy-authorization": "Basic " + base64.b64encode(f"me:{PLAIN}".encode()).decode(),
    **dict.fromkeys(["x-api-key", "X-Mistral-Key", "xi-api-key", "ocp-apim-subscription-key", "x-auth-token"], PLAIN),
    **dict.fromkeys(["x-goog-user-project", "x-portkey-api-key", "x-amz-security-token", "x-webhook-secret"], PLAIN),
    **dict.fromkeys(["mcp-session-id", "openai-project", "anthropic-workspace-id"], PLAIN),
    **dict.fromkeys(["helicone-auth", "cf-aig-authorization"], f"Bearer {PLAIN}"),
    "cookie": f"theme=dark; sid={PLAIN}",
}
RESPONSE_HEADERS = {
    "set-cookie": f"__cf_bm={PLAIN}; path=/; secure",
    **dict.fromkeys(["openai-organization", "openai-project", "anthropic-organization-id", "x-account-id"], PLAIN),
}


def _echo(**more: Any) -> dict[str, Any]:
    return cassette(status=401, response=answer(f"Wrong: {PLAIN} is not known"), **more)


@pytest.mark.parametrize("name", REQUEST_HEADERS)
def test_a_credential_of_the_request_is_removed_from_the_response_body(name: str) -> None:
    given = _echo(request_headers={name: REQUEST_HEADERS[name]})
    assert PLAIN not in written(Scrubber({}).cassette(given))
    scrubber = Scrubber({})
    scrubber.cassette(given)
    assert scrubber.report.counts["credential of the request"] == 1
    scrubber = Scrubber({})
    scrubber.before_record_request(given["requests"][0])
    assert PLAIN.encode() not in scrubber.before_record_response(given["responses"][0])["body"]["string"]


@pytest.mark.parametrize("name", RESPONSE_HEADERS)
def test_a_credential_in_a_response_header_is_removed_from_the_body(name: str) -> None:
    given = _echo(headers={name: [RESPONSE_HEADERS[name]]})
    assert PLAIN not in written(Scrubber({}).cassette(given))
    clean = Scrubber({}).before_record_response(given["responses"][0])
    assert PLAIN.encode() not in clean["body"]["string"]


def test_a_credential_in_grpc_metadata_is_removed_from_the_body() -> None:
    for part in ("trailing_metadata", "initial_metadata", "trailers"):
        assert PLAIN not in written(Scrubber({}).cassette(_echo(**{part: {"x-team-key": [PLAIN]}}))), part


def test_a_credential_is_removed_from_answers_before_its_first_use() -> None:
    """A session issues a key that a later request sends."""
    first, second = _echo(), cassette(request_headers={"x-session-key": PLAIN})
    both = {part: first[part] + second[part] for part in ("requests", "responses")}
    assert PLAIN not in written(Scrubber({}).cassette(both))


def test_headers_without_credentials_yield_no_credentials() -> None:
    headers = {
        "content-type": "application/json; charset=utf-8",
        "x-ratelimit-remaining-tokens": "1499840000",
        "x-ratelimit-reset-tokens": "6m0s12345",
        "anthropic-ratelimit-tokens-reset": "2026-01-01T00:00:00Z",
        "anthropic-beta": "token-efficient-tools-2025-02-19",
        "user-agent": "AsyncOpenAI/Python 1.66.3",
        "x-stainless-runtime-version": "CPython-3.12.1",
    }
    assert credentials_in(headers) == []


ACCOUNTS = {
    "organisation": f"organization `org-{letters(24, seed='o')}`",
    "organisation-groq": f"organization `org_{letters(26, seed='o')}` service tier",
    "organisation-uuid": f"for your organization ({uuid('o')})",
    "organisation-id": f"Organization ID: {uuid('o2')}",
    "project": f"Project `proj_{letters(24, seed='p')}` does not have access",
    "project-number": "has not been used in project 482913570164 before",
    "projects-number": "Consumer 'projects/482913570164' has been suspended",
    "aws-account": "Account 482913570164 is not authorized",
    "aws-arn": "arn:aws:iam::482913570164:user/jane is not authorized",
    "aws-arn-bedrock": "arn:aws:bedrock:us-east-1:482913570164:inference-profile/x",
    "workspace": f"workspace wrkspc_01{letters(22, seed='w')}",
    "workspace-uuid": f"workspace {uuid('w')}",
    "tenant": f"Tenant '{uuid('t')}' not found",
    "subscription": f"/subscriptions/{uuid('s')}/resourceGroups/x",
    "user": f"user_{letters(27, seed='u')} has no credits",
    "stripe-account": f"acct_{letters(16, seed='a')} is closed",
    "team": f"team {uuid('team')}",
}


@pytest.mark.parametrize("what", ACCOUNTS)
def test_an_account_id_in_an_error_is_scrubbed(what: str) -> None:
    body = json.dumps({"error": {"message": f"Sorry, {ACCOUNTS[what]}.", "type": "x"}}).encode()
    given = cassette(status=403, response=body)
    assert scan(given, {}) != []
    clean = Scrubber({}).cassette(given)
    assert scan(clean, {}) == []
    assert response_body(clean) != body
    assert len(response_body(clean)) == len(body)


def test_a_recording_is_scrubbed_again_when_all_credentials_are_known() -> None:
    """What vcrpy's hooks saw of one exchange was seen before the credentials of the next were."""
    first, second = _echo(), cassette(url="https://host/v2", request_headers={"x-session-key": PLAIN})
    with recording({}) as made:
        for each in (first, second):
            made.append(each["requests"][0], each["responses"][0])
    assert len(made.data) == 2
    assert PLAIN not in str([response for _, response in made.data])
