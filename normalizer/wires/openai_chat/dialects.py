"""What the providers of Chat Completions take and refuse in a history, where they differ from OpenAI."""

from __future__ import annotations

from msgspec import Struct

from ..carry import IdStyle, NameStyle

WIRE = "openai.chat"

#: Names that xAI keeps for the tools it runs itself: a client tool under one is refused (failure XAI-08).
XAI_RESERVED = frozenset(
    (
        "attachment_search",
        "browse_page",
        "code_execution",
        "collections_search",
        "file_search",
        "tool_search",
        "web_search",
        "x_search",
    )
)
#: Mistral's models that were recorded to take a user directly after a result; others refused it (failure ORD-04).
USER_AFTER_TOOL = frozenset(("mistral-small-latest",))
#: OpenAI documents at most 40 characters and no alphabet; its many imitators keep to that.
_IDS = IdStyle(r"[\x21-\x7e]{1,40}", 40)
_NAMES = NameStyle()
_SOUND = frozenset(("wav", "mp3"))
_MUTE: frozenset[str] = frozenset()


class Dialect(Struct, frozen=True):
    """One provider's ways.

    ``ids_checked``: an id of another shape is refused, so even the provider's own are held to it.
    ``reasoning``: the member that carries reasoning back ("content": as thinking parts). ``blank``: what stands as
    content beside calls. ``strict``: members of a message that are not documented are refused. ``lists``: an
    assistant's content may be parts. ``result_media``: results may hold images. ``bridge``: the assistant has to
    speak between a tool's result and a user. ``wordless``: an assistant's message may say nothing at all.
    ``parallel``: there is a switch for parallel calls.
    ``images``, ``sound``, ``files``: whether users may show images; the formats of sound; the part that holds a
    file's bytes, null where none does.
    """

    ids: IdStyle = _IDS
    ids_checked: bool = False
    names: NameStyle = _NAMES
    reasoning: str = "reasoning_content"
    blank: str | None = None
    strict: bool = False
    lists: bool = True
    result_media: bool = False
    bridge: bool = False
    wordless: bool = True
    custom: bool = False
    developer: bool = False
    refusal: bool = False
    parallel: bool = True
    images: bool = True
    sound: frozenset[str] = _SOUND
    files: str | None = "file"
    any_word: str = "required"
    limit: str = "max_tokens"


_OPENAI = Dialect(ids_checked=True, custom=True, developer=True, refusal=True, limit="max_completion_tokens")
_DIALECTS: dict[str | None, Dialect] = {
    None: _OPENAI,
    "openai": _OPENAI,
    "azure": _OPENAI,
    # xAI's and Groq's references for this wire know texts and images alone, DeepSeek refuses whatever is no text.
    "xai": Dialect(names=NameStyle(reserved=XAI_RESERVED), blank="", sound=_MUTE, files=None),
    "mistral": Dialect(
        ids=IdStyle("[a-zA-Z0-9]{9}", 9, prefix=""),
        ids_checked=True,
        reasoning="content",
        strict=True,
        bridge=True,
        wordless=False,
        any_word="any",
        files="document_url",
    ),
    "deepseek": Dialect(lists=False, parallel=False, images=False, sound=_MUTE, files=None),
    "groq": Dialect(reasoning="reasoning", strict=True, sound=_MUTE, files=None),
    "openrouter": Dialect(
        reasoning="reasoning",
        result_media=True,
        sound=_SOUND | {"aiff", "aac", "ogg", "flac", "m4a", "pcm16", "pcm24"},
    ),
}
_OTHER = Dialect()


def dialect_of(provider: str | None) -> Dialect:
    """The ways of a provider; one that is in no table gets what every imitator of OpenAI is known to take."""
    return _DIALECTS.get(provider, _OTHER)
