"""The name of a member, a variable, a parameter or a header says that its value is a secret."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cassettes.secrets.cassettes import answer, cassette, chat_arguments, pieces, response_body, written
from tests.cassettes.secrets.fakes import HEX, letters, uuid
from tests.cassettes.secrets.plant import answering
from tests.support.thoroughness import examples
from toolparity.cassettes.secrets import Scrubber, scan

_SURE = ["api key", "access key", "secret key", "private key", "password", "passwd", "passphrase", "client secret"]
_SURE += ["signing key", "api token", "auth token", "access token", "refresh token", "webhook secret"]
_SURE += ["subscription key"]
_LIKELY = ["token", "secret", "bot token", "deploy token", "credential", "storage key", "license token", "auth secret"]
_OWNERS = ["mistral", "azure openai", "db", "github", "my", "x", "stripe", "", "prod", "service2"]
_CASINGS: dict[str, Callable[[list[str]], str]] = {
    "snake": "_".join,
    "upper": lambda words: "_".join(words).upper(),
    "kebab": "-".join,
    "header": lambda words: "-".join(word.title() for word in words),
    "camel": lambda words: words[0] + "".join(word.title() for word in words[1:]),
    "pascal": lambda words: "".join(word.title() for word in words),
    "dotted": ".".join,
}
_SUFFIXES = ["", "2", "_1", "_prod", "_DEV", "_v2", "_staging"]

_names = st.builds(
    lambda owner, text, casing, suffix: _CASINGS[casing]((owner + " " + text).split()) + suffix,
    st.sampled_from(_OWNERS),
    st.sampled_from(_SURE + _LIKELY),
    st.sampled_from(sorted(_CASINGS)),
    st.sampled_from(_SUFFIXES),
)
_values = st.builds(lambda length, seed: letters(length, seed=seed), st.integers(28, 80), st.integers(0, 10**6))


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


#: Place -> a cassette with a value of this name there.
PLACES: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "json": lambda name, value: cassette(response=json.dumps({"id": "1", "settings": {name: value}}).encode()),
    "request": lambda name, value: cassette(request=json.dumps({"tools": [{"env": {name: value}}]}).encode()),
    "nested json": lambda name, value: answering(json.dumps({"env": json.dumps({name: value})})),
    "stream": lambda name, value: cassette(
        response=chat_arguments(pieces(json.dumps({"cmd": "run", "env": {name: value}}), 7), ["{", "}"])
    ),
    "query": lambda name, value: cassette(url=f"https://host/v1?x=1&{name}={value}"),
    "text": lambda name, value: answering(f"first\n{name}={value}\nlast"),
    "configuration": lambda name, value: answering(f"first\n{name}: {value}\nlast"),
    "address in a text": lambda name, value: answering(f"at https://host/x?a=1&{name}={value}&b=2"),
    "base64": lambda name, value: answering(f"see {_base64(json.dumps({name: value}))} there"),
}


def _gone(given: dict[str, Any], value: str) -> bool:
    """Whether the scrubber leaves nothing, in any event or base64 either, that the scanner still sees."""
    clean = Scrubber({}).cassette(given)
    assert len(response_body(clean)) == len(response_body(given))
    text = written(clean) + "\n".join(
        base64.b64decode(run + "=" * (-len(run) % 4)).decode("latin-1")
        for run in re.findall(r"[A-Za-z0-9+/]{20,}", response_body(clean).decode())
        if len(run) % 4 != 1
    )
    return value not in text and scan(clean, {}) == []


@examples(300)
@given(name=_names, value=_values, place=st.sampled_from(sorted(PLACES)))
def test_a_random_value_with_a_secret_name_is_always_scrubbed(name: str, value: str, place: str) -> None:
    whole = PLACES[place](name, value)
    assert scan(whole, {}) != []
    assert _gone(whole, value)


#: Names that once escaped the scrubber.
ESCAPED = ["MISTRAL_API_KEY", "AZURE_OPENAI_API_KEY", "mistralApiKey", "DB_PASSWORD", "GITHUB_TOKEN", "accessKey"]
ESCAPED += ["COHERE_API_KEY", "xi-api-key", "azureOpenaiKey", "SLACK_BOT_TOKEN", "dbPassword2", "OPENAI_API_KEY_PROD"]
ESCAPED += ["stripeWebhookSecret", "JWT_SECRET", "SESSION_SECRET", "encryption_key", "Ocp-Apim-Subscription-Key"]
#: Names and values that people choose, or that have the form of an id.
PASSWORDS = ["DB_PASSWORD", "dbPassword", "postgres_password", "ADMIN_PASSWD", "wifiPassphrase"]
CHOSEN = [
    (name, word) for name in PASSWORDS for word in ("hunter2hunter", "Tr0ub4dor&3", "p@ssw0rd!x", "s3cret-s3cret")
]
CHOSEN += [(name, uuid(name)) for name in ("SNYK_TOKEN", "deployToken", "tenant_secret", "HEROKU_API_KEY")]


@pytest.mark.parametrize("place", PLACES)
def test_names_that_once_escaped_the_scrubber_are_scrubbed(place: str) -> None:
    for name, value in [*((name, letters(32, HEX, name)) for name in ESCAPED), *(CHOSEN if place == "json" else [])]:
        whole = PLACES[place](name, value)
        assert scan(whole, {}) != [], name
        assert _gone(whole, value), name


def test_several_keys_in_a_list_are_found_by_the_scanner() -> None:
    assert scan(cassette(response=json.dumps({"api_keys": [letters(32), letters(32, seed=1)]}).encode()), {}) != []


#: Members that look alike and are not secrets.
INNOCENT: dict[str, Any] = {
    "max_tokens": 4096,
    "token_count": 12,
    "total_tokens": "12345678901234567890",
    "api_key_id": "kid-primary-of-the-team",
    **dict.fromkeys(["page_token", "next_page_token", "nextPageToken", "continuation_token"], letters(40)),
    **dict.fromkeys(["prompt_cache_key", "publishableKey", "object_key"], letters(40)),
    **dict.fromkeys(["idempotencyKey", "primary_key", "csrf_token", "key", "keyboard", "passwordless"], letters(32)),
    **dict.fromkeys(["partition_key", "author"], letters(24)),
    **dict.fromkeys(["idempotency_key", "item_key"], uuid()),
    "cache_key": letters(40, HEX),
    "public_key": letters(60),
    "sort_key": "2024-11-05#" + letters(20),
    "model_key": "claude-sonnet-4-20250514",
    "deployment_key": "gpt-4o-mini-2024-07-18",
    "stop_token": "<|end_of_text_0001|>",
    "tool_call_id": "call_" + letters(24),
    "toolUseId": "tooluse_" + letters(22),
    "request_digest": letters(64, HEX),
    "system_fingerprint": "fp_" + letters(10, HEX),
    "monkey": "see-no-evil",
    "password": {"type": "string", "minLength": 12},
    "DB_PASSWORD": "<your-password>",
    "GITHUB_TOKEN": "${GITHUB_TOKEN}",
    "OPENAI_API_KEY": "your-api-key-here",
    "ANTHROPIC_API_KEY": "$ANTHROPIC_API_KEY",
    "reset_password": "https://host.com/reset/1234567890",
    "token_url": "https://host.com/oauth2/token/v1",
    "secret_name": "projects-p1-secrets-db1-versions-3",
    "auth_type": "oauth2_client_credentials_v2",
    "access_token_expires_at": "2026-01-01T00:00:00Z",
    "api_token_name": "ci-runner-2024-a1b2",
    "private_key_path": "/etc/ssl/private/server1.pem",
}


TEXTS = [
    "The password must have 12 characters, and the api key is in the vault.",
    "token = tokenizer.decode(output_ids[0], skip_special_tokens=True)",
    "api_key=settings.OPENAI_API_KEY, token=os.environ['HF_TOKEN']",
    "const accessKey = process.env.ACCESS_KEY_2024;",
    "max_tokens=4096 total_tokens: 123456789012345678",
    "use s.toLowerCaseAndTrimItAll() and sess-ion, dp.pt.then, pat-na1-value, key-value-pairs-2024",
    "password: changeme-please-now",
    "hf_your_hugging_face_token_goes_right_here",
    "see sha256:" + letters(64, HEX) + " and sk_live_or_test, whsec_your_secret, vck_your_key",
    "order 123456789012 of 2024, project 42, account 7",
    "authors: jane1990doe, keys: a1 b2",
    "primaryKey=" + letters(30),
]


def test_a_member_or_text_that_only_resembles_a_secret_is_unchanged() -> None:
    members = [{name: value} for name, value in INNOCENT.items()]
    bodies = [json.dumps({"id": "1", "a": member}).encode() for member in members]
    for body in [*bodies, *map(answer, map(json.dumps, members)), *map(answer, TEXTS)]:
        whole = cassette(request=body, response=body)
        scrubber = Scrubber({})
        clean = scrubber.cassette(whole)
        assert (response_body(clean), clean["requests"][0].body) == (body, body)
        assert scrubber.report.total == 0, body
        assert scan(whole, {}) == [], body
