"""Secrets of the forms that gitleaks and detect-secrets look for, in the contexts of gitleaks' tests."""

from __future__ import annotations

import json

import pytest

from tests.cassettes.secrets.cassettes import cassette
from tests.support.thoroughness import is_thorough
from toolparity.cassettes.maintenance import secret_rules
from toolparity.cassettes.secrets import Scrubber


def test_no_secret_of_any_form_is_written() -> None:
    tried = list(secret_rules.tried_rules(step=1 if is_thorough() else 5))
    assert sum(rule.tried for rule in tried) >= 1000
    assert len(tried) > 230
    assert [rule for rule in tried if rule.kept and rule.reason is None] == []


@pytest.mark.parametrize("rule", secret_rules.OUT_OF_SCOPE)
def test_a_form_out_of_scope_needs_its_entry(rule: str) -> None:
    word, form = secret_rules.rules()[rule]
    contexts = list(secret_rules.CONTEXTS.values()) if word else ["SECRET"]
    secrets = [secret_rules.sample(form, f"{rule} {number}") for number in range(20)]
    assert any(secret_rules.is_kept(secret, context, word) for context in contexts for secret in secrets)


@pytest.mark.parametrize("rule", [rule for rule in secret_rules.OUT_OF_SCOPE if secret_rules.rules()[rule][0]])
def test_a_sure_name_marks_a_form_out_of_scope(rule: str) -> None:
    samples = (secret_rules.sample(secret_rules.rules()[rule][1], f"{rule} {number}") for number in range(100))
    secret = next(text for text in samples if any(map(str.isdigit, text)))  # letters alone could be a word
    clean = Scrubber({}).cassette(cassette(response=json.dumps({"service_api_key": secret}).encode()))
    assert secret not in str(clean["responses"])
