"""Rules of Anthropic, and of Amazon Bedrock's Converse, whose strict mode has the same limits."""

from __future__ import annotations

from msgspec.structs import replace

from .model import Cap, Keyword, SchemaRules, ToolRules, refused

_TOOLS = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools"
_LIMITS = "https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations"
_ROOT = "https://github.com/anthropics/claude-code/issues/5973"
_PROPERTY = "https://platform.claude.com/docs/en/managed-agents/self-hosted-sandboxes"
_SDK = "https://github.com/anthropics/anthropic-sdk-python/blob/main/src/anthropic/lib/_parse/_transform.py"
_RECORDED = "recorded 400: For 'integer' type, property 'minimum' is not supported"
_CONVERSE = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html"
_CONVERSE_ROOT = "https://github.com/earendil-works/pi/issues/8279"
_FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid")

PLAIN = SchemaRules(
    root=refused(_ROOT, "oneOf", "anyOf", "allOf"),
    others=Keyword("accepted", _TOOLS),
    shapes={"root-object": _ROOT, "property-names": _PROPERTY, "items-schema": _TOOLS, "resolvable": _TOOLS},
    property_names="[a-zA-Z0-9_.-]{1,64}",
)
STRICT = SchemaRules(
    keywords={
        **refused(_RECORDED, "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        **refused(_LIMITS, "minLength", "maxLength", "pattern", "maxItems", "uniqueItems", "contains", "minContains"),
        **refused(_LIMITS, "maxContains", "prefixItems", "unevaluatedItems", "patternProperties", "propertyNames"),
        **refused(_LIMITS, "minProperties", "maxProperties", "unevaluatedProperties", "dependentRequired"),
        **refused(_LIMITS, "dependentSchemas", "not", "if", "then", "else"),
        **refused(_SDK, "oneOf"),
        "minItems": Keyword("refused", _LIMITS, (0, 1)),
        "format": Keyword("refused", _LIMITS, _FORMATS),
        "additionalProperties": Keyword("refused", _LIMITS, (False,)),
    },
    root=refused(_ROOT, "oneOf", "anyOf", "allOf"),
    others=Keyword("accepted", _LIMITS),
    shapes={
        "root-object": _ROOT,
        "typed": _SDK,
        "closed": _LIMITS,
        "required-defined": _LIMITS,
        "items-schema": _LIMITS,
        "no-boolean": _SDK,
        "variants": _SDK,
        "ref-alone": _SDK,
        "acyclic": _LIMITS,
        "resolvable": _LIMITS,
        "property-names": _PROPERTY,
    },
    caps={"optional": Cap(24, _LIMITS), "unions": Cap(16, _LIMITS)},
    property_names="[a-zA-Z0-9_.-]{1,64}",
)
#: The rules for structured outputs. Their root may be of any type (recorded requests with status 200).
OUTPUT = replace(STRICT, root={}, shapes={name: STRICT.shapes[name] for name in STRICT.shapes if name != "root-object"})
MESSAGES = ToolRules(
    wire="anthropic.messages",
    name="[a-zA-Z0-9_-]{1,128}",
    name_source=_TOOLS,
    name_length=128,
    unique_source="https://github.com/anthropics/claude-code/issues/10687",
    strict_scope="tool",
    plain=PLAIN,
    strict=STRICT,
    caps={"strict-tools": Cap(20, _LIMITS)},
)
CONVERSE = ToolRules(
    wire="bedrock.converse",
    name="[a-zA-Z0-9_-]{1,64}",
    name_source=_CONVERSE,
    unique_source="https://github.com/NousResearch/hermes-agent/pull/18748",
    description_source=_CONVERSE,
    strict_scope="tool",
    plain=SchemaRules(
        root=PLAIN.root,
        others=Keyword("accepted", _CONVERSE),
        shapes={**PLAIN.shapes, "root-object": _CONVERSE_ROOT},
        property_names=PLAIN.property_names,
    ),
    strict=STRICT,
    caps={"strict-tools": Cap(20, _LIMITS)},
)
