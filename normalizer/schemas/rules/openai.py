"""Rules of OpenAI, on both of its wires.

Recorded traffic corrects two statements that are still widespread: strict mode accepts ``default`` and
``title``, and a description may be longer than 1,024 characters (recorded requests with status 200).
"""

from __future__ import annotations

from .model import Cap, Keyword, SchemaRules, ToolRules, accepted, refused

_GUIDE = "https://platform.openai.com/docs/guides/structured-outputs#supported-schemas"
_TOO_MANY = "https://github.com/zed-industries/zed/issues/32946"
_REFERENCE = "https://platform.openai.com/docs/api-reference/chat/create#chat_create-tools"
_ROOT = "https://github.com/langchain-ai/langchainjs/issues/9804"
_PROPERTIES = "https://github.com/openai/openai-agents-python/issues/449"
_ITEMS = "https://github.com/sigoden/aichat/pull/1049"
_ONE_OF = "https://github.com/ai-dynamo/dynamo/pull/15153"
_NAMES = "https://github.com/vercel-labs/json-render/issues/180"
_SDK = "https://github.com/openai/openai-python/blob/main/src/openai/lib/_pydantic.py"
_CLOSED = (
    "recorded 400: 'additionalProperties' is required to be supplied and to be false; lastmile-ai/openai-agents-mcp#2"
)
_REQUIRED = "recorded 400: 'required' is required to be supplied and to be an array including every key in properties"
_FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")

PLAIN = SchemaRules(
    root=refused(_ROOT, "oneOf", "anyOf", "allOf", "enum", "not"),
    others=Keyword("accepted", _REFERENCE),
    shapes={"root-object": _ROOT, "root-properties": _PROPERTIES, "items": _ITEMS, "resolvable": _SDK},
)
STRICT = SchemaRules(
    keywords={
        **refused(_GUIDE, "allOf", "not", "dependentRequired", "dependentSchemas", "if", "then", "else"),
        **refused(_ONE_OF, "oneOf"),
        **refused(_NAMES, "propertyNames"),
        **refused(
            _GUIDE,
            "patternProperties",
            "unevaluatedProperties",
            "minProperties",
            "maxProperties",
            "prefixItems",
            "unevaluatedItems",
            "contains",
            "minContains",
            "maxContains",
            "uniqueItems",
            "minLength",
            "maxLength",
        ),
        **accepted(_GUIDE, "pattern", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"),
        **accepted(_GUIDE, "minItems", "maxItems"),
        "format": Keyword("refused", _GUIDE, _FORMATS),
        "additionalProperties": Keyword("refused", _CLOSED, (False,)),
    },
    root=refused(_ROOT, "oneOf", "anyOf", "allOf", "enum", "not"),
    others=Keyword("accepted", _GUIDE),
    shapes={
        "root-object": _ROOT,
        "root-properties": _PROPERTIES,
        "typed": _GUIDE,
        "closed": _CLOSED,
        "all-required": _REQUIRED,
        "required-defined": _REQUIRED,
        "items": _ITEMS,
        "items-schema": _ITEMS,
        "no-boolean": _GUIDE,
        "variants": _GUIDE,
        "ref-alone": _SDK,
        "resolvable": _SDK,
    },
    caps={
        "depth": Cap(10, _GUIDE),
        "properties": Cap(5000, _GUIDE),
        "enum-values": Cap(1000, _GUIDE),
        "text-length": Cap(120_000, _GUIDE),
    },
)
CHAT = ToolRules(
    wire="openai.chat",
    name="[a-zA-Z0-9_-]{1,64}",
    name_source=_REFERENCE,
    strict_scope="tool",
    plain=PLAIN,
    strict=STRICT,
    caps={"tools": Cap(128, _TOO_MANY)},
)
RESPONSES = ToolRules(
    wire="openai.responses",
    name="[a-zA-Z0-9_-]{1,64}",
    name_source=_REFERENCE,
    strict_scope="tool",
    plain=PLAIN,
    strict=STRICT,
    caps={"tools": Cap(128, _TOO_MANY)},
)
