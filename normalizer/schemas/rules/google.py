"""Rules of Google: Gemini's `parametersJsonSchema`, its older `parameters` (a subset of OpenAPI), and Interactions."""

from __future__ import annotations

from msgspec.structs import replace

from .model import Cap, Keyword, SchemaRules, ToolRules, accepted, ignored, refused

_DECLARATION = "https://ai.google.dev/api/caching#FunctionDeclaration"
_JSON_SCHEMA = "https://ai.google.dev/gemini-api/docs/structured-output#json-schema"
_SCHEMA = "https://ai.google.dev/api/caching#Schema"
_REF = "https://github.com/su-kaka/gcli2api/pull/374"
_UNKNOWN = "https://github.com/decolua/9router/pull/3018"
_REQUIRED = "https://github.com/probelabs/probe/issues/569"
_ITEMS = "https://github.com/NousResearch/hermes-agent/pull/38972"
_TYPED = "https://github.com/danny-avila/LibreChat/issues/6971"
_ENUM = "https://github.com/microsoft/azure-devops-mcp/issues/145"
_EMPTY = "https://github.com/sbroenne/mcp-server-excel/issues/607"
_TYPES = "https://github.com/taylorwilsdon/google_workspace_mcp/issues/1099"
_DUPLICATE = "https://github.com/owndev/Open-WebUI-Functions/issues/135"
_NAME = "[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}"
_TOOLS = Cap(512, "https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling")

JSON_SCHEMA = SchemaRules(
    keywords={
        **accepted(_JSON_SCHEMA, "$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum"),
        **accepted(_JSON_SCHEMA, "items", "prefixItems", "minItems", "maxItems", "minimum", "maximum", "anyOf"),
        **accepted(_JSON_SCHEMA, "properties", "additionalProperties", "required", "propertyOrdering"),
        **accepted("recorded requests with status 200", "default", "minLength", "maxLength", "pattern", "uniqueItems"),
    },
    others=Keyword("ignored", _JSON_SCHEMA),
    shapes={"root-object": _DECLARATION, "ref-alone": _REF, "resolvable": _JSON_SCHEMA, "items-schema": _JSON_SCHEMA},
)
OPENAPI = SchemaRules(
    keywords={
        **accepted(_SCHEMA, "type", "title", "description", "nullable", "enum", "items", "minItems", "maxItems"),
        **accepted(_SCHEMA, "properties", "required", "propertyOrdering", "minProperties", "maxProperties"),
        **accepted(_SCHEMA, "minLength", "maxLength", "pattern", "example", "anyOf", "minimum", "maximum", "default"),
        **ignored(_SCHEMA, "$schema"),
        "format": Keyword("refused", _SCHEMA, ("enum", "date-time", "float", "double", "int32", "int64")),
    },
    root=refused(_SCHEMA, "anyOf"),
    others=Keyword("refused", _UNKNOWN),
    shapes={
        "root-object": _DECLARATION,
        "typed": _TYPED,
        "single-type": _TYPES,
        "required-defined": _REQUIRED,
        "items": _ITEMS,
        "items-schema": _SCHEMA,
        "object-properties": _SCHEMA,
        "string-enum": _ENUM,
        "enum-not-empty": _EMPTY,
        "matching-type": _ITEMS,
        "no-boolean": _SCHEMA,
        "variants": _SCHEMA,
    },
)
GEMINI = ToolRules(
    wire="google.gemini",
    name=_NAME,
    name_source=_DECLARATION,
    unique_source=_DUPLICATE,
    plain=JSON_SCHEMA,
    caps={"tools": _TOOLS},
)
PARAMETERS = replace(GEMINI, dialect="parameters", plain=OPENAPI)
INTERACTIONS = replace(GEMINI, wire="google.interactions")
