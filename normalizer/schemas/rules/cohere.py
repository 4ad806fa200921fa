"""Rules of Cohere. Strict mode is a member of the request, ``strict_tools``, and concerns all its tools."""

from __future__ import annotations

from .model import Cap, Keyword, SchemaRules, ToolRules, refused

_TOOLS = "https://docs.cohere.com/reference/chat#request.body.tools"
_GUIDE = "https://docs.cohere.com/docs/structured-outputs#unsupported-schema-features"
_STRICT = "https://docs.cohere.com/docs/tool-use-parameter-types"
_FORMATS = ("date-time", "uuid", "date", "time")

PLAIN = SchemaRules(others=Keyword("accepted", _TOOLS), shapes={"root-object": _GUIDE, "resolvable": _GUIDE})
STRICT = SchemaRules(
    keywords={
        **refused(_GUIDE, "anyOf", "allOf", "oneOf", "not", "maximum", "minimum", "exclusiveMaximum"),
        **refused(_GUIDE, "exclusiveMinimum", "multipleOf", "minItems", "maxItems", "minLength", "maxLength"),
        **refused(_GUIDE, "uniqueItems", "prefixItems", "contains", "minContains", "maxContains", "pattern"),
        **refused(_GUIDE, "patternProperties", "propertyNames", "minProperties", "maxProperties", "if", "then", "else"),
        **refused(_GUIDE, "dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems"),
        "format": Keyword("refused", _GUIDE, _FORMATS),
        "additionalProperties": Keyword("refused", _GUIDE, (False,)),
    },
    others=Keyword("accepted", _GUIDE),
    shapes={
        "root-object": _GUIDE,
        "typed": _GUIDE,
        "single-type": _GUIDE,
        "some-required": _STRICT,
        "items-schema": _GUIDE,
        "no-boolean": _GUIDE,
        "object-properties": _GUIDE,
        "acyclic": _GUIDE,
        "resolvable": _GUIDE,
    },
    caps={"fields": Cap(200, _STRICT)},
)
CHAT = ToolRules(
    wire="cohere.chat",
    name="[a-zA-Z_][a-zA-Z0-9_]*",
    name_source="https://docs.cohere.com/v1/reference/chat",
    schema_source=_TOOLS,
    strict_scope="request",
    plain=PLAIN,
    strict=STRICT,
)
