"""Secrets of the forms that gitleaks looks for, in the contexts of its tests: the scrubber leaves out each of them.

Each secret is made here from its form, and no file of this project contains one. The contexts are those of gitleaks'
`GenerateSampleSecrets` (cmd/generate/config/utils/generate.go): assignments in configuration files and programs. A
planted secret must be gone after scrubbing, or the scanner must refuse what was scrubbed.
"""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.cassettes.secrets.cassettes import cassette
from tests.cassettes.secrets.sampling import sample
from tests.support.thoroughness import is_thorough
from toolparity.cassettes.secrets import Scrubber, scan

FORMS: dict[str, tuple[str, str]] = {
    name: (owner, form)
    for name, (owner, form) in tomllib.loads((Path(__file__).parent / "gitleaks.toml").read_text()).items()
}

#: How a secret is written: NAME is what it belongs to.
CONTEXTS = {
    "ini quoted": 'NAMEToken="SECRET"',
    "ini quoted with blanks": 'NAMEToken = "SECRET"',
    "ini": "NAMEToken=SECRET",
    "ini with blanks": "NAMEToken = SECRET",
    "json": '{\n    "NAME_token": "SECRET"\n}',
    "json escaped": '\\{\n    \\"NAME_token\\": \\"SECRET\\"\n\\}',
    "xml": "<NAMEToken>SECRET</NAMEToken>",
    "xml on lines": "<NAMEToken>\n    SECRET\n</NAMEToken>",
    "yaml": "NAME_token: SECRET",
    "yaml single-quoted": "NAME_token: 'SECRET'",
    "yaml double-quoted": 'NAME_token: "SECRET"',
    "yaml literal": "NAME_token: |\n  SECRET",
    "yaml folded": "NAME_token: >\n  SECRET",
    "c#": 'string NAMEToken = "SECRET";',
    "go": 'var NAMEToken string = "SECRET"',
    "go short": 'NAMEToken := "SECRET"',
    "go backquoted": "NAMEToken := `SECRET`",
    "java": 'String NAMEToken = "SECRET";',
    "kotlin": 'var NAMEToken = "SECRET"',
    "php": 'NAMEToken .= "SECRET"',
    "python": "NAMEToken = 'SECRET'",
    "csv": "NAMEToken,SECRET,",
    "logstash": '  "NAMEToken" => "SECRET"',
    "make": 'NAME_TOKEN = "SECRET"',
    "make simple": 'NAME_TOKEN := "SECRET"',
    "make shell": 'NAME_TOKEN ::= "SECRET"',
    "make evaluated": 'NAME_TOKEN :::= "SECRET"',
    "make conditional": 'NAME_TOKEN ?= "SECRET"',
    "make append": 'NAME_TOKEN += "SECRET"',
}

#: Forms that may stay in a cassette, each with its reason. A sure name, such as ``…_api_key``, marks them all the same.
OUT_OF_SCOPE: dict[str, str] = {
    "asana-client-id": "16 digits: also a time, an amount or the number of a row; and the id of a client is public",
    "discord-client-id": "18 digits: also the number of any message; and the id of a client is public",
    "dropbox-api-token": "15 characters: names with numbers, such as gpt-4o-mini-2024, are as long and as mixed",
    "linkedin-client-id": "14 characters, like dropbox-api-token; and the id of a client is public",
    "sumologic-access-id": "14 characters, like dropbox-api-token; the key that belongs to it is found",
}
#: Contexts of one form in the plain run: every fifth, in turn.
_STEP = 5


@cache
def escaped(form: str, context: str) -> bool:
    """Return whether a secret is in the scrubbed cassette, and the scanner does not refuse it."""
    owner, expression = FORMS[form]
    secret = sample(expression, form)
    assert re.fullmatch(expression, secret), form
    text = CONTEXTS[context].replace("NAME", owner or "service").replace("SECRET", secret)
    message = {"role": "user", "content": f"Use this:\n{text}\nand go on."}
    request = json.dumps({"model": "gpt-4o", "messages": [message]}).encode()
    clean = Scrubber({}).cassette(cassette(request=request))
    kept = json.loads(clean["requests"][0].body)["messages"][0]["content"]
    return secret in kept and not scan(clean, {})


def contexts_of(form: str, thorough: bool) -> list[str]:
    """Return the contexts in which a form is tried."""
    first = list(FORMS).index(form) % _STEP
    return list(CONTEXTS) if thorough else list(CONTEXTS)[first::_STEP]


def test_no_secret_of_any_form_is_written() -> None:
    forms = [form for form in FORMS if form not in OUT_OF_SCOPE]
    tried = [(form, context) for form in forms for context in contexts_of(form, is_thorough())]
    assert len(tried) >= 1000
    assert len(set(FORMS.values())) > 180  # some vendors' secrets have the same form
    assert [case for case in tried if escaped(*case)] == []


@pytest.mark.parametrize("form", OUT_OF_SCOPE)
def test_a_form_out_of_scope_needs_its_entry(form: str) -> None:
    assert any(escaped(form, context) for context in CONTEXTS)


@pytest.mark.parametrize("form", OUT_OF_SCOPE)
def test_a_sure_name_marks_a_form_out_of_scope(form: str) -> None:
    samples = (sample(FORMS[form][1], f"{form} {number}") for number in range(100))
    secret = next(text for text in samples if any(map(str.isdigit, text)))  # letters alone could be a word
    clean = Scrubber({}).cassette(cassette(response=json.dumps({"service_api_key": secret}).encode()))
    assert secret not in str(clean["responses"])
