"""Registry of the wires: every fact about a wire that code outside its package needs, in one `WireSpec`.

    spec("openai.chat").owner                     "openai"
    spec("openai.chat").part("write").write(…)    a module of the wire's package, imported on first use
    names(), specs()                              all wires, those of third parties included

The built-in wires are listed in `WIRES`; each has its spec in ``normalizer/wires/<wire>/spec.py``. A third party
registers a wire by an entry point of the group `GROUP`, whose name is the wire's name and whose object is the spec:

    [project.entry-points."toolparity.wires"]
    "acme.chat" = "acme_wire.spec:SPEC"

A spec is imported when its wire is named, so that a caller of one wire does not load the others. Entry points are read
when a name is not built in, when a wire is detected, and when all wires are listed.

The parts of a wire are modules with fixed names. In the wire's package:

    decode       ``decode(body, context) -> Response``: a whole body
    stream       ``Stream``: the decoder of a stream, a subclass of `wires.stream_base.StreamBase`
    read         ``read(body, provider) -> Request``; with a third argument ``before`` if `History.counted` is set
    write        ``write(request, provider) -> Encoded`` and ``Writer`` (see `normalizer.requests.RequestWriter`)
    rules        ``RULES``, and ``parsed(body)`` if the rules get something other than the parsed JSON
    schema       only if framed as messages: ``request_from``, ``response_from``, ``chunk_from``, ``as_dict``

Upper packages need more parts, which the normalizer knows nothing about. They follow one convention: package ``home``
has one module per built-in wire, named like the wire's package, and a third party's wire has a module ``name`` in its
own package. So ``spec(wire).part("recorder", home="toolparity.cassettes.recorder.sdks")`` is
``toolparity.cassettes.recorder.sdks.openai_chat`` or ``acme_wire.recorder``. Use `has_part` if the part is optional.

To handle all wires alike, ask the spec: ``spec(wire).framing == "messages"``, never ``wire == "xai.grpc"``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeGuard, cast

from msgspec import Struct

from ..errors import UnknownWire
from ..model import Response, StopReason, Wire
from .grammar import Grammar
from .limits import Boundary

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from ..conversation import Loss, Request
    from .decode_context import Context, Declared

#: The built-in wires, and the name of each one's package beside this module.
WIRES: dict[Wire, str] = {
    "openai.chat": "openai_chat",
    "openai.responses": "openai_responses",
    "anthropic.messages": "anthropic_messages",
    "xai.grpc": "xai_grpc",
    "cohere.chat": "cohere_chat",
    "ollama.chat": "ollama_chat",
    "google.interactions": "google_interactions",
    "bedrock.converse": "bedrock_converse",
    "google.gemini": "google_gemini",
}
#: The entry-point group in which third parties register wires.
GROUP = "toolparity.wires"


class Shape(NamedTuple):
    """What a JSON object is on one wire.

    ``body``: it can be a whole body. ``whole``: it is a whole response. ``event``: it is a stream event. ``error``: it
    is an error in this wire's format. ``marked``: a type marker shows this, and not only members that other wires may
    have too.
    """

    body: bool = False
    whole: bool = False
    event: bool = False
    error: bool = False
    marked: bool = False


class History(NamedTuple):
    """Where requests have their history, so that a part of it can be read on its own (see `audit.histories`).

    ``member``: the list of its messages or items. ``model``: the roles and types of those that belong to an assistant
    message, besides types that end with ``_call``. ``needed``: other members of the request on which reading the
    history depends. ``counted``: what the ids depend on that the reader assigns to calls without one: the number of
    "items" or of canonical "messages" before; the reader then takes this number.
    """

    member: str
    model: tuple[str, ...]
    needed: tuple[str, ...] = ()
    counted: Literal["", "items", "messages"] = ""

    def of_model(self, items: list[Any]) -> list[bool]:
        """Return for each item whether it belongs to an assistant message."""
        return [
            isinstance(item, dict)
            and (item.get("role") in self.model or ("type" in item and self._is_type_of_model(item["type"])))
            for item in items
        ]

    def _is_type_of_model(self, kind: Any) -> bool:
        return isinstance(kind, str) and (kind in self.model or kind.endswith("_call"))


class Output(NamedTuple):
    """How the provider handles a required form of the answer (`normalizer.output_format`).

    ``lenient``: it accepts a schema without strict mode. ``unseen``: the schema only constrains the decoding, and the
    model does not see it.
    """

    lenient: bool = False
    unseen: bool = False


def _no_shape(body: dict[str, Any]) -> None:
    return None


def _no_boundary(event: dict[str, Any]) -> Boundary:
    return Boundary()


class WireSpec(Struct, frozen=True, kw_only=True, dict=True):
    """The facts about one wire.

    ``package``: the dotted name of its package. ``owner``: the provider that defines the wire, and the default where
    the caller passes no provider. ``framing``: "bytes" (HTTP bodies and event streams) or "messages" (each message
    arrives separately, as in gRPC; such a wire is not JSON and is never detected from bytes). ``many_providers``:
    providers other than the owner serve the wire as well. ``models``: pattern for the beginning of the owner's model
    names. ``parsed_arguments``: whole bodies contain the arguments of calls as JSON objects instead of text, and with
    ``parsed_streams`` streams do, too. ``streams_by_default``: a request without the member ``stream`` is for a stream.
    ``stop_words``: the wire's words for stop reasons that `wires.stop_words` does not list. ``results``: results must
    directly follow the message with their calls ("adjacent"), and also precede other content of their message
    ("first"). ``reasoning_items``: reasoning is an item that refers to the item after it, so that it need not come
    first. ``sealed_anew``: the provider encrypts reasoning anew in each event of a stream, so that equal reasoning has
    several texts, any of which may be sent back. ``anonymous_calls``: calls may have no ids, and those of streams have
    no index. ``unnamed_tools``: the owner accepts a tool without a name. ``history``: see `History`; None if requests
    can only be read whole. ``output``: see `Output`.

    HTTP: ``base_path``: the end of the SDK's base URL. ``path``, ``models_path``: the paths that the SDK appends to it
    for an answer and for the list of models. ``stream_path``: the path of a streamed answer, where it differs.
    ``model_member``: the member of a request that names the model. If ``path`` contains ``{model}``, a body over HTTP
    does not have this member. ``version``: the version of the API that has tools, if ``path`` begins with another one.
    ``stream_query``: the query of a streamed answer. ``stream_type``: the content type of streams. ``key_header``: the
    header with the API key, if it is not a bearer token in ``authorization``. ``headers``: further headers that every
    request needs. ``members``, ``stream_members``: members that a request needs besides the conversation: each one, and
    one whose stream shall have all that a body has. ``hosts``: suffixes of the owner's host names. ``addresses``:
    patterns for host and path of requests in recorded traffic.

    SDK: ``sdk``: the name of the official SDK's distribution. ``sdk_modules``: prefixes of the modules of its objects,
    or of the full names of its protobuf messages.
    ``sdk_bytes(source, event)``: the bytes of such an object, a whole body or a stream event; empty for an event that
    the SDK derived from others.

    Detection: ``shape(body)``: see `Shape`; None for an object that does not belong to the wire. ``boundary(event)``:
    see `Boundary`. ``end_of_stream``: the data of the event that ends every stream, if it is not JSON. ``grammar``: see
    `Grammar`; None if the form of streams is not judged.

    ``declared(request)``: the tools that a request declares, as parsed JSON or an object of the SDK; None if
    `wires.declared_tools.declared_by_json` can read them. ``flatten(request)``: for another wire or provider, a request
    with a flat list of tools, the flat names with their namespaces and names, and the losses; None if the wire has
    neither namespaces nor tools in the history.
    """

    name: str
    package: str
    owner: str
    framing: Literal["bytes", "messages"] = "bytes"
    many_providers: bool = False
    models: str = ""
    parsed_arguments: bool = False
    parsed_streams: bool = False
    streams_by_default: bool = False
    stop_words: Mapping[str, StopReason] = {}
    results: Literal["", "adjacent", "first"] = ""
    reasoning_items: bool = False
    sealed_anew: bool = False
    anonymous_calls: bool = False
    unnamed_tools: bool = False
    history: History | None = None
    output: Output = Output()
    base_path: str = ""
    path: str = ""
    stream_path: str = ""
    version: str = ""
    stream_query: str = ""
    stream_type: str = "text/event-stream"
    key_header: str = ""
    headers: Mapping[str, str] = {}
    members: Mapping[str, Any] = {}
    stream_members: Mapping[str, Any] = {}
    model_member: str = "model"
    models_path: str = ""
    hosts: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    sdk: str = ""
    sdk_modules: tuple[str, ...] = ()
    sdk_bytes: Callable[[Any, bool], bytes] | None = None
    shape: Callable[[dict[str, Any]], Shape | None] = _no_shape
    boundary: Callable[[dict[str, Any]], Boundary] = _no_boundary
    end_of_stream: bytes | None = None
    grammar: Grammar | None = None
    declared: Callable[[Any], Declared] | None = None
    flatten: Callable[[Request], tuple[Request, dict[str, tuple[str, str]], list[Loss]]] | None = None

    def parses_arguments(self, *, stream: bool) -> bool:
        """Return whether responses contain the arguments of calls as JSON objects instead of text."""
        return self.parsed_streams if stream else self.parsed_arguments

    @cached_property
    def blocks_end(self) -> bool:
        """Whether each block of a stream has an end event."""
        return self.grammar is not None and any(unit.end for unit in self.grammar.units[1:])

    @cached_property
    def decode(self) -> Callable[[bytes, Context], Response]:
        """The decoder of whole bodies."""
        return cast("Callable[[bytes, Context], Response]", self.part("decode").decode)

    @cached_property
    def stream(self) -> Any:
        """The class that decodes streams, a subclass of `wires.stream_base.StreamBase`."""
        return self.part("stream").Stream

    def part(self, name: str, *, home: str | None = None) -> Any:
        """Import a part of the wire and return the module (see the module's docstring).

        ``home``: the package that has this part of the built-in wires; None for parts in the wire's own package. Raises
        UnknownWire if there is no such module, and MissingExtra if it needs an extra that is not installed.
        """
        try:
            return self._parts[name, home]
        except KeyError:
            pass
        module = self._part_name(name, home)
        try:
            self._parts[name, home] = part = import_module(module)
            return part
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
            raise UnknownWire(
                f"the wire {self.name} has no {name}: there is no module {module}", hint=f"write the module {module}"
            ) from None

    @cached_property
    def _parts(self) -> dict[tuple[str, str | None], Any]:
        """The parts that were imported, since `import_module` is slow for the work on a small request."""
        return {}

    def has_part(self, name: str, *, home: str | None = None) -> bool:
        """Return whether the wire has this part. Does not import it."""
        from importlib.util import find_spec  # the import of toolparity does not need it

        return find_spec(self._part_name(name, home)) is not None

    def _part_name(self, name: str, home: str | None) -> str:
        if home is not None and self.name in WIRES:
            return f"{home}.{self.package.rpartition('.')[2]}"
        return f"{self.package}.{name}"


_specs: dict[str, WireSpec] = {}


def spec(name: str) -> WireSpec:
    """Return the spec of a wire, and import it on first use. Raises UnknownWire if no wire has this name."""
    try:
        return _specs[name]
    except (KeyError, TypeError):
        return _load(wire_name(name))


@cache
def specs() -> tuple[WireSpec, ...]:
    """Return the specs of all wires, the built-in ones first."""
    return tuple(spec(name) for name in names())


def names() -> list[str]:
    """Return the names of all wires, the built-in ones first."""
    return [*WIRES, *_registered()]


def spec_of_object(source: object, wire: str | None = None) -> WireSpec | None:
    """Return the spec of the wire whose SDK defines the class of an object, or None. ``wire``: the wire to try first.

    Raises UnknownWire if no wire has the name ``wire``.
    """
    origins = [str(type(source).__module__), getattr(getattr(source, "DESCRIPTOR", None), "full_name", "")]
    if origins[0] == "builtins":
        return None
    for candidate in specs() if wire is None else [spec(wire), *specs()]:
        if any(origin.startswith(candidate.sdk_modules) for origin in origins):
            return candidate
    return None


def is_wire(name: object) -> TypeGuard[Wire]:
    """Return whether a wire has this name."""
    return isinstance(name, str) and (name in WIRES or name in _registered())


def wire_name(name: str) -> Wire:
    """Return a name that comes from outside as the name of a wire. Raises UnknownWire if no wire has this name.

    The type `Wire` lists the built-in wires; the name of a third party's wire has this type too.
    """
    if not isinstance(name, str):  # whatever it is, it can be long, and secret
        got = type(name).__name__
        raise UnknownWire(f"the name of a wire must be a str, got {got}", hint=f"one of {', '.join(names())}")
    if not is_wire(name):
        raise UnknownWire(f"unknown wire: {name!r}", hint=f"one of {', '.join(names())}")
    return name


def _load(name: Wire) -> WireSpec:
    loaded = import_module(f".{WIRES[name]}.spec", __package__).SPEC if name in WIRES else _third_party(name)
    _specs[name] = loaded
    return loaded


def _third_party(name: str) -> WireSpec:
    hint = "fix or uninstall the distribution that registers it"
    try:
        loaded = _registered()[name].load()
    except Exception as error:
        raise UnknownWire(f"the wire {name} cannot be loaded: {type(error).__name__}: {error}", hint=hint) from error
    if not isinstance(loaded, WireSpec) or loaded.name != name:
        raise UnknownWire(f"the entry point of the wire {name} is not its WireSpec: {loaded!r}", hint=hint)
    return loaded


@cache
def _registered() -> Mapping[str, EntryPoint]:
    """Return the entry points of third parties' wires by name. They cannot replace a built-in wire."""
    from importlib.metadata import entry_points  # slow to import, and rarely needed

    return {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in WIRES}
