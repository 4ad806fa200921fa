"""The rules for tool schemas, as tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from docs.generate import filled
from toolparity.schemas import CAPS, SHAPES, TARGETS, TOOL_LOSSES, SchemaRules, ToolRules


def files() -> dict[Path, str]:
    """Return the page."""
    rows = [f"| `{code}` | {effect} | {meaning} |" for code, (effect, meaning) in TOOL_LOSSES.items()]
    blocks = {
        "changes": "\n".join(["| code | effect | meaning |", "|---|---|---|", *rows]),
        "targets": "\n".join(_targets()),
        "rules": "\n".join(_rules()),
    }
    return filled("tool-schemas.md", blocks)


def _targets() -> Iterator[str]:
    yield "| target | tool names | a second tool of one name | an empty description | strict mode | maxima |"
    yield "|---|---|---|---|---|---|"
    for name, rules in TARGETS.items():
        twice, empty = _refused(rules.unique_source), _refused(rules.description_source)
        yield f"| `{name}` | `{rules.name}` | {twice} | {empty} | {rules.strict_scope} | {_caps(rules)} |"


def _rules() -> Iterator[str]:
    for name, rules in TARGETS.items():
        for mode, schema in (("", rules.plain), (", strict", rules.strict)):
            if schema is not None:
                yield from _section(f"{name}{mode}", schema)


def _refused(source: str) -> str:
    return f"refused ({source})" if source else "accepted"


def _caps(rules: ToolRules) -> str:
    return ", ".join(f"{cap.limit} {CAPS[key]}" for key, cap in rules.caps.items()) or "none"


def _section(title: str, rules: SchemaRules) -> Iterator[str]:
    yield f"### {title}\n"
    yield "| rule | effect | source |\n|---|---|---|"
    for shape, source in rules.shapes.items():
        yield f"| {SHAPES[shape]} | {'changes the meaning' if shape == 'closed-by-default' else 'refused'} | {source} |"
    for where, keywords in ((" at the root", rules.root), ("", rules.keywords)):
        for (effect, source, values), names in _grouped(keywords).items():
            listed = ", ".join(f"`{name}`" for name in names)
            but = f", except {', '.join(f'`{value}`' for value in values)}" if values else ""
            yield f"| {listed}{where} | {effect}{but} | {source} |"
    yield f"| every other keyword | {rules.others.effect} | {rules.others.source} |"
    for key, cap in rules.caps.items():
        yield f"| at most {cap.limit:,} {CAPS[key]} | refused | {cap.source} |"
    yield ""


def _grouped(keywords: object) -> dict[tuple[str, str, tuple[str, ...]], list[str]]:
    found: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    assert isinstance(keywords, dict)
    for name, rule in keywords.items():
        values = tuple(str(value).lower() if isinstance(value, bool) else str(value) for value in rule.values or ())
        found.setdefault((rule.effect, rule.source, values), []).append(name)
    return found
