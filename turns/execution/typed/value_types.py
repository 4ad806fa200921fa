"""Types of values: their JSON schemas, and the conversion of JSON values to them.

msgspec handles the types of Python and its own structs. pydantic handles annotations that contain its models or
constraints; it is imported only for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, time
from importlib import import_module
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from toolparity.normalizer import json_codec

from ..exceptions import described

#: Packages whose types and metadata only pydantic interprets.
_PYDANTIC = ("pydantic", "pydantic_core", "annotated_types")
#: Types to which msgspec gives no format, because it also accepts values without an offset -> the format.
_FORMATS = {datetime: "date-time", time: "time"}
_COLLECTIONS = (list, dict, set, frozenset, tuple)
_REFERENCE = "#/$defs/{}"
#: Maximum number of problems that one value reports, and characters of each.
_MAX_PROBLEMS = 5
_MAX_LENGTH = 300


class MsgspecType(Struct, frozen=True):
    """A type that msgspec handles."""

    annotation: Any

    def __post_init__(self) -> None:
        with suppress(Exception):  # `convert` raises what is wrong with a type
            json_codec.decoder(self.annotation)  # before tools run in several threads

    def convert(self, value: Any) -> Any:
        """Return a JSON value as this type. Raises ValueError and whatever the type itself raises."""
        try:
            return msgspec.convert(value, self.annotation, str_keys=True)
        except msgspec.ValidationError as error:
            try:
                return msgspec.convert(_whole(value), self.annotation, str_keys=True)
            except msgspec.ValidationError:
                raise error from None

    def dump(self, value: Any) -> Any:
        """Return a value of this type as JSON. Raises TypeError if that is not possible."""
        return msgspec.json.decode(msgspec.json.encode(value))


class PydanticType(Struct, frozen=True):
    """A type that pydantic handles. ``adapter``: a `pydantic.TypeAdapter`."""

    adapter: Any

    def convert(self, value: Any) -> Any:
        """Return a JSON value as this type. Raises ValueError and whatever the type itself raises.

        It is validated as JSON, because a strict type accepts the text of a date only there.
        """
        return self.adapter.validate_json(json_codec.encode(value))

    def dump(self, value: Any) -> Any:
        """Return a value of this type as JSON. Raises ValueError if that is not possible."""
        return self.adapter.dump_python(value, mode="json", by_alias=True)


ValueType = MsgspecType | PydanticType


def value_type(annotation: Any) -> ValueType:
    """Return the type of an annotation. Raises TypeError for one without a JSON schema, with the reason."""
    try:
        if needs_pydantic(annotation):
            found = PydanticType(import_module("pydantic").TypeAdapter(annotation))
            found.adapter.json_schema()
            return found
        annotation = _with_formats(annotation)
        msgspec.json.schema(annotation)
    except Exception as error:
        raise TypeError(" ".join(described(error).split())[:_MAX_LENGTH]) from None
    return MsgspecType(annotation)


def schemas(types: Mapping[str, ValueType]) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return the JSON schema of each type, and the definitions to which they refer (``$defs``).

    Raises TypeError if msgspec and pydantic have different definitions with one name.
    """
    plain = {name: type for name, type in types.items() if isinstance(type, MsgspecType)}
    schemas, definitions = msgspec.json.schema_components(
        [type.annotation for type in plain.values()], ref_template=_REFERENCE.format("{name}")
    )
    by_name = dict(zip(plain, schemas, strict=True))
    adapters = [(name, "validation", type.adapter) for name, type in types.items() if isinstance(type, PydanticType)]
    if adapters:
        template = _REFERENCE.format("{model}")
        by_key, more = import_module("pydantic").TypeAdapter.json_schemas(adapters, ref_template=template)
        by_name |= {name: schema for (name, _), schema in by_key.items()}
        models = more.get("$defs", {})
        twice = [name for name in models if name in definitions]
        if twice:
            raise TypeError(f"a pydantic model and another type are both called {twice[0]!r}")
        definitions |= models
    _state_items([by_name, definitions])
    return {name: by_name[name] for name in types}, definitions


def _state_items(schema: Any) -> None:
    """State ``items`` of each tuple, without which OpenAI refuses an array. A tuple has as many items as its types."""
    if isinstance(schema, dict):
        if "prefixItems" in schema and not isinstance(schema.get("items"), dict):
            schema |= {"items": {}, "maxItems": len(schema["prefixItems"])}
        schema = list(schema.values())
    if isinstance(schema, list):
        for inner in schema:
            _state_items(inner)


def problems(error: BaseException) -> list[str]:
    """Return why a value could not be converted, from the exception of `ValueType.convert`."""
    if isinstance(error, RecursionError):
        return ["nested too deep"]
    errors = getattr(error, "errors", None)
    if callable(errors):  # pydantic's, with one entry for each problem
        entries = errors(include_url=False, include_context=False, include_input=False)[:_MAX_PROBLEMS]
        return [_located(entry["msg"], entry["loc"]) for entry in entries]
    text = str(error) if isinstance(error, msgspec.ValidationError) else described(error)
    return [text[:_MAX_LENGTH]]


def needs_pydantic(annotation: Any, seen: frozenset[int] = frozenset()) -> bool:
    """Return whether an annotation contains a type or metadata that only pydantic interprets."""
    if id(annotation) in seen:
        return False
    seen |= {id(annotation)}
    if get_origin(annotation) is Annotated and any(_is_pydantic(type(value)) for value in annotation.__metadata__):
        return True
    arguments = get_args(annotation)
    if arguments:
        return any(needs_pydantic(argument, seen) for argument in (get_origin(annotation), *arguments))
    if not isinstance(annotation, type):
        return False
    if _is_pydantic(annotation) or hasattr(annotation, "__pydantic_core_schema__"):
        return True
    if hasattr(annotation, "__get_pydantic_core_schema__"):
        return True
    if isinstance(annotation, msgspec.StructMeta) or not getattr(annotation, "__annotations__", None):
        return False
    try:
        members = get_type_hints(annotation, include_extras=True)
    except Exception:  # msgspec reports it
        return False
    return any(needs_pydantic(member, seen) for member in members.values())


def _is_pydantic(type: type) -> bool:
    return type.__module__.partition(".")[0] in _PYDANTIC


def _with_formats(annotation: Any) -> Any:
    """Return the annotation with a format for each type of `_FORMATS` in it, also inside unions and collections."""
    if annotation is datetime or annotation is time:
        return Annotated[annotation, msgspec.Meta(extra_json_schema={"format": _FORMATS[annotation]})]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return Annotated[(_with_formats(arguments[0]), *arguments[1:])]
    if origin in (Union, UnionType):
        return Union[tuple(map(_with_formats, arguments))]  # noqa: UP007
    if origin in _COLLECTIONS:
        return origin[tuple(map(_with_formats, arguments))]
    return annotation


def _whole(value: Any) -> Any:
    """Return a JSON value in which floats without a fraction are integers.

    JSON does not distinguish 1.0 from 1, and some providers represent every number as a float.
    """
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {name: _whole(item) for name, item in value.items()}
    return value


def _located(message: str, location: tuple[int | str, ...]) -> str:
    path = ".".join(map(str, location))
    text = message if len(message) <= _MAX_LENGTH else message[:_MAX_LENGTH] + "…"
    return f"{text} - at `{path}`" if path else text
