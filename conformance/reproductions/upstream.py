"""Writes the draft of a bug report about a failure, for the project of the library."""

from __future__ import annotations

import base64

from toolparity.reports.results import EFFECTS

from ..laws.consequences import CONSEQUENCES
from .accusations import Accusation
from .documentation import statement
from .javascript_test import javascript_test
from .python_test import python_test

#: Maximum size in bytes of a response that the draft contains.
_INLINE = 8_000


def draft(accusation: Accusation) -> str:
    """Return the draft as Markdown."""
    verdict, response, script = accusation.verdict, accusation.response, accusation.script
    language = "js" if script.node else "python"
    mode = "streamed" if response.traffic.stream else "plain"
    documented = statement(accusation)
    parts = [
        f"# {_title(accusation)}",
        f"**Version:** `{script.install}`\n\n**Response:** {response.surface.wire} of {response.provider}, {mode}. "
        "It is emulated: written after the provider's format, and no provider sent it. Such responses may be rare.",
        f"{_capitalized(_first_line(accusation.reason))}. {EFFECTS.get(verdict.effect, '')}".strip(),
        f"## Reproduction\n\n`{script.name}`, beside `{response.file}`:\n\n{_block(script.text, language)}",
        _response(accusation),
        f"## Expected\n\n{documented.sentence} ([{documented.title}]({documented.url}))\n\n"
        f"{_block(_side(verdict.expected), 'text')}",
        f"## Got\n\n{_block(_got(accusation), 'text')}",
    ]
    if meaning := CONSEQUENCES.get(verdict.check, {}).get(verdict.effect):
        parts.append(f"## Consequence\n\n{meaning}")
    if verdict.check != "answered":  # only the provider can judge a request that it would refuse
        test = javascript_test(accusation) if script.node else python_test(accusation)
        parts.append(f"## Test\n\nIt fails at this version, with the response in a file.\n\n{_block(test, language)}")
    return "\n\n".join(parts) + "\n"


def _title(accusation: Accusation) -> str:
    """Return the reason of the baseline as a title, or that of the law."""
    return _capitalized(accusation.known_reason or accusation.reason.partition(":")[0])


def _response(accusation: Accusation) -> str:
    """Return the response if it is small: as text, or in base64 if the text is not the same bytes."""
    response = accusation.response
    data = response.data
    if len(data) > _INLINE:
        return f"`{response.file}` has {len(data):,} bytes and is attached (`--files FOLDER` writes it)."
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    if text and "\r" not in text:
        content, how = text, f"`{response.file}`:"
    else:
        content = base64.encodebytes(data).decode()
        how = f"`{response.file}` in base64 (`base64 -d` decodes it):"
    return f"<details><summary>The response</summary>\n\n{how}\n\n{_block(content, 'text')}\n\n</details>"


def _capitalized(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


def _side(text: str) -> str:
    return text or "nothing"


def _got(accusation: Accusation) -> str:
    """Return the accused value; of a refusal, the error."""
    error = accusation.report.error
    return error if accusation.verdict.effect == "refused" and error else _side(accusation.verdict.got)


def _block(text: str, language: str) -> str:
    """Return a code block. It keeps all line ends of the text, which a stream needs."""
    end = "" if text.endswith("\n") else "\n"
    return f"````{language}\n{text}{end}````"
