"""Write the page docs/tool-schemas.md from the rules: ``python docs/tool_schemas.py > docs/tool-schemas.md``."""

from __future__ import annotations

from collections.abc import Iterator

from toolparity.schemas import CAPS, SHAPES, TARGETS, TOOL_LOSSES, SchemaRules, ToolRules

_INTRODUCTION = """\
# Tool schemas

A tool definition that one provider accepts can be refused by the next, and then the whole request fails. This page is
written by `python docs/tool_schemas.py > docs/tool-schemas.md`; the rules are in `normalizer/schemas/rules/`.

```sh
toolparity tools check tools.json                          # every wire and dialect
toolparity tools check --mcp "python server.py" --wire anthropic.messages
toolparity tools check request.json --wire google.gemini/parameters --ignored
```

The command prints one line per violation, with its JSON pointer in the file, and exits with 1 if a provider would
refuse a tool. `--json` prints JSON lines, `--strict` checks every tool as strict. FILE is a list of tools of OpenAI,
Anthropic, Gemini, Bedrock or MCP, or a request that declares tools. The same in Python:

```python
from toolparity.schemas import check_tools, read_tools

tools = [tool.definition for tool in read_tools(document)]
for violation in check_tools(tools, "anthropic.messages"):
    print(violation.name, violation.pointer, violation.message, violation.source)
```

## Adapting tools

```python
from toolparity.schemas import adapt_tools

adapted = adapt_tools(tools, "openai.chat")
adapted.tools  # definitions that break no rule
name, arguments = adapted.restore(call.name, call.arguments)  # the original name and arguments of a call
wire_name, wire_arguments = adapted.express(name, arguments)  # the way there, for a history
for loss in adapted.losses:
    print(loss.name, loss.pointer, loss.code, loss.effect, loss.message)
```

A definition that breaks no rule stays unchanged. Otherwise its schema is rewritten: non-recursive references are
replaced by their targets, and each keyword that the target refuses or drops is replaced by an equivalent, or moved into
the description. Each change has a code and an effect. `exact`: every value is mapped there and back. `widens`: the
adapted definition accepts values that the original rejects, so validate the restored arguments against the original.
`narrows`: it cannot express some value. `describes`: no value is concerned.

Optional properties become nullable where all must be required, and null is removed again from the arguments. Objects
with arbitrary names become lists of names and values. A value that a target cannot describe, such as any JSON, or a
recursive schema where it is refused, becomes JSON text. A union at the root moves into one property. A tool that breaks
a maximum of strict mode loses `strict`; a schema that is refused in every form becomes one JSON text.

{changes}
## Rules

Rules exist also for wires that the normalizer does not decode yet. A target is a wire, or a wire in a dialect:
`openai.chat/xai` is xAI's endpoint of that wire, and `google.gemini/parameters` is Gemini's older member for schemas.
The rules come from the providers' documentation, from their SDKs, and from recorded answers; a rule that an accepted
recorded request contradicts is not here. Limits that a provider does not publish are missing: the nesting depth of
Gemini and the size of Anthropic's compiled grammar.
"""


def page() -> Iterator[str]:
    """Yield the parts of the page."""
    rows = [f"| `{code}` | {effect} | {meaning} |" for code, (effect, meaning) in TOOL_LOSSES.items()]
    table = "\n".join(["| code | effect | meaning |", "|---|---|---|", *rows, ""])
    yield _INTRODUCTION.replace("{changes}", table)
    yield "### Targets\n"
    yield "| target | tool names | a second tool of one name | an empty description | strict mode | maxima |"
    yield "|---|---|---|---|---|---|"
    for name, rules in TARGETS.items():
        twice, empty = _refused(rules.unique_source), _refused(rules.description_source)
        yield f"| `{name}` | `{rules.name}` | {twice} | {empty} | {rules.strict_scope} | {_caps(rules)} |"
    yield "\n## Rules by target\n"
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


if __name__ == "__main__":
    print("\n".join(page()))
