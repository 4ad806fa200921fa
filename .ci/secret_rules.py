"""Writes `turns/secrets/rules.json`: the forms of secrets that gitleaks and detect-secrets look for.

    python .ci/secret_rules.py gitleaks.toml COMMIT DATE LICENSE   # with detect-secrets installed

Of a rule, the file has the word that must be beside the secret, and the form of the secret in Python's syntax, without
what surrounds it. `toolparity cassettes secrets --check-rules` tries secrets of these forms.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "turns" / "secrets" / "rules.json"
#: What gitleaks generates around a secret that needs a word beside it, and around others.
_BEFORE, _BESIDE = r"[\w.-]{0,50}?", r"""[\x60'"\s=]{0,5}"""
_AROUND = (
    *(r"""(?:[\x60'"\s;]|\\[nr]|$|\b)""", r"""(?:[\x60'"\s;]|\\[nr]|$)""", r"(?:[^\w-]|\z)", r"(?:[^a-zA-Z0-9+/]|\z)"),
    *(r"""(?:^|[\\'"\x60\s>=:(,)])""", r"""(?:$|[\\'"\x60\s<),])""", r"""(?:\s|=|:|"|^)""", r"""(?:\s|"|$)""", r"\b"),
)
#: Their secrets have any form, or there is none.
_WITHOUT_FORM = frozenset(
    {
        *("generic-api-key", "curl-auth-header", "curl-auth-user", "kubernetes-secret-yaml", "nuget-config-password"),
        *("hashicorp-tf-password", "pkcs12-file", "sidekiq-sensitive-url", "private-key", "jwt-base64"),
        *("freemius-secret-key", "gitlab-session-cookie", "microsoft-teams-webhook"),
    }
)
_DETECTORS: tuple[str, ...] = (
    "AWSKey",
    "Artifactory",
    "DiscordBotToken",
    "GitHubToken",
    "GitLabToken",
    "JwtToken",
    "Mailchimp",
    "Npm",
)
_DETECTORS += ("OpenAI", "PypiToken", "SendGrid", "Slack", "SquareOAuth", "Stripe", "TelegramBotToken", "TwilioKey")


def _python(form: str) -> str:
    """Return Go's notation in Python's."""
    form = form.replace("[[:alnum:]]", "[A-Za-z0-9]").replace("\\z", "\\Z").replace("\\x60", "`")
    while (at := form.find("(?i)")) >= 0:  # it holds for the rest of its group
        depth, end = 0, at
        while end < len(form) and depth >= 0:
            depth += {"(": 1, ")": -1}.get(form[end], 0) if form[end - 1] != "\\" else 0
            end += 1
        end -= depth < 0
        form = f"{form[:at]}(?i:{form[at + 4 : end]}){form[end:]}"
    return form


def _alone(form: str) -> str:
    """Return a form without what only surrounds the secret."""
    folded = form.startswith("(?i)")
    form = form.removeprefix("(?i)")
    for around in _AROUND:
        form = form.replace(around, "")
    return f"(?i:{form})" if folded else form


def gitleaks(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield (id, word beside the secret, form)."""
    for rule in tomllib.loads(path.read_text("utf-8"))["rules"]:
        if rule["id"] in _WITHOUT_FORM:
            continue
        before, beside, form = rule["regex"].partition(_BESIDE)
        if beside and _BEFORE in before:
            folded = "(?i)" if before.startswith("(?i)") else ""
            yield rule["id"], rule["keywords"][0], _python(_alone(folded + form))
        else:
            yield rule["id"], "", _python(_alone(rule["regex"]))


def detect_secrets() -> Iterator[tuple[str, str, str]]:
    """Yield (id, "", form) for each expression of the detectors of vendors."""
    plugins = importlib.import_module("detect_secrets.plugins")
    for found in pkgutil.iter_modules(plugins.__path__):
        module = importlib.import_module(f"{plugins.__name__}.{found.name}")
        detectors: list[Any] = [getattr(module, f"{name}Detector", None) for name in _DETECTORS]
        for detector in filter(None, detectors):
            for number, expression in enumerate(detector.denylist, 1):
                if not any(beside in expression.pattern for beside in ("(?i", "{0,5}", "{0,20}", ".+")):
                    yield f"{found.name}-{number}", "", _alone(expression.pattern)


def main() -> None:
    """Write the file."""
    source, commit, date, licence = sys.argv[1:]
    rules: dict[str, list[str]] = {}
    for owner, found in (("gitleaks", gitleaks(Path(source))), ("detect-secrets", detect_secrets())):
        for name, word, form in found:
            re.compile(form)
            rules[f"{owner}/{name}"] = [word, form]
    sources = {
        "gitleaks": {
            "from": "https://github.com/gitleaks/gitleaks, config/gitleaks.toml",
            "version": f"{commit} of {date}",
            "licence": Path(licence).read_text("utf-8"),
        },
        "detect-secrets": {
            "from": "https://pypi.org/project/detect-secrets",
            "version": f"{version('detect-secrets')} of 2024-05-06",
            "licence": "Apache-2.0, https://www.apache.org/licenses/LICENSE-2.0. Copyright 2017-2018 Yelp Inc. "
            "Only the forms of the secrets are kept, without what surrounds them.",
        },
    }
    rows = ",\n".join(f"    {json.dumps(name)}: {json.dumps(row)}" for name, row in rules.items())
    TARGET.write_text(f'{{\n  "sources": {json.dumps(sources, indent=2)},\n  "rules": {{\n{rows}\n  }}\n}}\n')


if __name__ == "__main__":
    main()
