"""Trial of the scrubber with secrets that the rules of gitleaks and detect-secrets describe.

The secrets are drawn from the forms in `turns/secrets/rules.json`, which `.ci/secret_rules.py` wrote from these rule
sets. They are put into the contexts of gitleaks' own tests (`GenerateSampleSecrets`): assignments in configurations and
programs, beside a name such as ``adafruitToken``. A form that needs no word beside it is tried alone, too.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from importlib import resources
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from msgspec import Struct

from ..secrets import Scrubber
from ..secrets.allowed import AllowList

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
#: The context of a form that needs no word beside it.
ALONE = "alone"
#: Forms that may stay, each with its reason: without a name, or with one that only may mean a secret (``…Token``).
OUT_OF_SCOPE = {
    "gitleaks/asana-client-id": "16 digits: also a time, an amount or the number of a row; and a client's id is public",
    "gitleaks/discord-client-id": "18 digits: also the number of any message; and a client's id is public",
    "gitleaks/dropbox-api-token": "15 characters: names with numbers, such as gpt-4o-mini-2024, are as mixed",
    "gitleaks/linkedin-client-id": "14 characters, like dropbox-api-token; and a client's id is public",
    "gitleaks/sumologic-access-id": "14 characters, like dropbox-api-token; the key that belongs to it is found",
    "gitleaks/flutterwave-public-key": "a public key",
    "gitleaks/jwt": "the rule takes any text after ey, with backslashes; the header of a token begins with eyJ",
    "gitleaks/sourcegraph-access-token": "40 hexadecimal digits without sgp_ are also the digest of a commit",
    "gitleaks/square-access-token": "binary data in base64 can begin with EAAA: it needs a name, or 60 characters",
    "detect-secrets/artifactory-2": "a word that begins with AP: it needs a name",
}
#: How many further characters a count without an upper bound may add.
_MORE = 20
_WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"


class TriedRule(Struct):
    """A rule with the number of its trials, the contexts in which a secret stayed, and why that may be."""

    rule: str
    tried: int
    kept: list[str]
    reason: str | None = None


def rules() -> dict[str, tuple[str, str]]:
    """Return each rule with the word beside the secret, or "", and the form of the secret."""
    text = resources.files("toolparity.turns.secrets").joinpath("rules.json").read_text("utf-8")
    return {rule: (word, form) for rule, (word, form) in json.loads(text)["rules"].items()}


def sources() -> dict[str, str]:
    """Return the rule sets and their versions."""
    text = resources.files("toolparity.turns.secrets").joinpath("rules.json").read_text("utf-8")
    return {name: source["version"] for name, source in json.loads(text)["sources"].items()}


def tried_rules(secrets: int = 1, *, step: int = 1) -> Iterator[TriedRule]:
    """Try each rule with a number of secrets in all contexts, or in each ``step``-th, in turn."""
    for number, (rule, (word, form)) in enumerate(rules().items()):
        contexts = [*([ALONE] if not word else []), *list(CONTEXTS)[number % step :: step]]
        kept = {
            context
            for seed in range(secrets)
            for context in contexts
            if is_kept(sample(form, f"{rule} {seed}"), CONTEXTS.get(context, "SECRET"), word)
        }
        yield TriedRule(rule, secrets * len(contexts), sorted(kept), OUT_OF_SCOPE.get(rule))


def is_kept(secret: str, context: str, word: str) -> bool:
    """Return whether a secret is still in a text after scrubbing."""
    name = re.sub(r"\W", "", word) or "service"
    text = f"Use this:\n{context.replace('NAME', name).replace('SECRET', secret)}\nand continue."
    return secret in Scrubber({}, allow=AllowList({})).text(text)


def sample(form: str, seed: str) -> str:
    """Return the text of a form that belongs to a seed."""
    return _text(parser.parse(form), random.Random(seed))


def _text(tree: Any, chance: random.Random, folded: bool = False) -> str:
    return "".join(_part(code, argument, chance, folded) for code, argument in tree)


def _part(code: Any, argument: Any, chance: random.Random, folded: bool) -> str:
    if code is codes.LITERAL:
        return chr(argument)
    if code is codes.IN:
        char = chance.choice([char for kind, value in argument for char in _chars(kind, value)])
        return chance.choice((char, char.upper())) if folded else char
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        least, most, inner = argument
        return "".join(_text(inner, chance, folded) for _ in range(chance.randint(least, min(most, least + _MORE))))
    if code is codes.SUBPATTERN:
        return _text(argument[-1], chance, folded or bool(argument[1] & re.IGNORECASE))
    if code is codes.ANY:
        return "."
    if code is codes.BRANCH:
        return _text(chance.choice(argument[1]), chance, folded)
    if code in (codes.AT, codes.ASSERT, codes.ASSERT_NOT):
        return ""
    raise NotImplementedError(f"{code} is not used in these forms")


def _chars(kind: Any, value: Any) -> list[str]:
    if kind is codes.LITERAL:
        return [chr(value)]
    if kind is codes.RANGE:
        return [chr(code) for code in range(value[0], value[1] + 1)]
    return list("0123456789" if value is codes.CATEGORY_DIGIT else _WORD)
