"""Page of one file: combines template, styles and scripts, with a content security policy that allows only these.

The fragment addresses of a page (filters and cases) are made here and read by `assets/state.js`.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ..compare import count_text
from ..escape import cut, visible
from ..results import Result
from .columns import NAME
from .outcome_icons import MARKS

_HALVES = re.compile("[\ud800-\udfff]")


def page(template: str, context: dict[str, Any], *, styles: Sequence[str], scripts: Sequence[str] = ()) -> bytes:
    """Render a template as a page. ``styles`` and ``scripts`` are files of `assets`, concatenated in this order.

    The content security policy allows them by their hashes, and no connections.
    """
    style = "\n".join(_asset(name) for name in styles)
    script = "\n".join(_asset(name) for name in scripts)
    text = (
        _environment()
        .get_template(template)
        .render(
            **context,
            style=Markup(style),
            script=Markup(script),
            policy=_policy(style, script),
        )
    )
    return text.encode()


def _policy(style: str, script: str) -> str:
    scripts = f"'{_hash(script)}'" if script else "'none'"
    return f"default-src 'none'; style-src '{_hash(style)}'; script-src {scripts}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _asset(name: str) -> str:
    return (resources.files(__package__) / "assets" / name).read_text("utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__ or "", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    environment.filters |= {
        "shown": _shown,
        "format_number": format_number,
        "count": count_text,
        "format_date": format_date,
    }
    environment.globals |= {"format_share": format_share, "mark": _mark, "MARKS": MARKS}
    return environment


def _finalize(value: Any) -> Any:
    """Escape invisible characters in every text of a template, including attributes."""
    return visible(value, "\n") if isinstance(value, str) and not isinstance(value, Markup) else value


def _shown(text: str) -> Markup:
    """Return third-party text, isolated from the direction of the surrounding text, with escapes styled as such."""
    if text.isprintable():
        return Markup("<bdi>{}</bdi>").format(text)
    spelled = Markup('<span class="hidden">{}</span>')
    parts = (escape(character) if character.isprintable() else spelled.format(visible(character)) for character in text)
    return Markup("<bdi>{}</bdi>").format(Markup("").join(parts))


def format_number(number: int) -> str:
    """Format a number with thousands separators."""
    return f"{number:,}"


def format_date(date: str) -> str:
    """Format an ISO 8601 date to the minute. Other text is returned, cut to 100 characters."""
    try:
        at = datetime.fromisoformat(date)
    except ValueError:
        return cut(date, 100)
    zone = f" {at.tzname()}" if at.tzname() else ""
    return f"{at:%Y-%m-%d %H:%M}{zone}"


def format_share(part: int, whole: int) -> str:
    """Format a percentage, rounded down, so that only the whole is 100 %. "none" if ``whole`` is 0."""
    return f"{part * 1000 // whole / 10:.1f} %" if whole else "none"


def _mark(name: str, label: str = "") -> Markup:
    """Return the sign of an outcome with a label for screen readers."""
    icon = MARKS[name]
    sign = Markup('<span aria-hidden="true">{}</span>').format(icon.sign)
    word = Markup('<span class="unseen">{}</span>').format(label or icon.label)
    return Markup('<span class="mark {}">{}{}</span>').format(icon.name, sign, word)


def case_link(result: Result) -> str:
    """Return the address that opens the evidence of a case."""
    parts = (result.subject, result.scenario, result.surface, result.mode, result.policy)
    return f"#case={'/'.join(map(_part, parts))}"


def filter_link(**members: str) -> str:
    """Return the address that sets filters, such as ``subject`` and ``law``."""
    return "#" + "&".join(f"{name}={_part(value)}" for name, value in members.items())


def _part(name: str) -> str:
    return quote(_HALVES.sub("\ufffd", cut(name, NAME)), safe="")
