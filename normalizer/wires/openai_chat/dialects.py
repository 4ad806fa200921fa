"""What the providers of Chat Completions take and refuse in a history, where they differ from OpenAI."""

from __future__ import annotations

from msgspec import Struct

from ..write_context import IdStyle, NameStyle

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
#: Mistral's SDK lists them; whatever else stands in a body is refused with 422, extra_forbidden.
MISTRAL_MEMBERS = frozenset(
    (
        "frequency_penalty",
        "guardrails",
        "logprobs",
        "max_tokens",
        "messages",
        "metadata",
        "min_tokens",
        "model",
        "n",
        "parallel_tool_calls",
        "prediction",
        "presence_penalty",
        "prompt_cache_key",
        "prompt_logprobs",
        "prompt_mode",
        "random_seed",
        "reasoning_effort",
        "repetition_penalty",
        "response_format",
        "safe_prompt",
        "service_tier",
        "stop",
        "stream",
        "temperature",
        "tool_choice",
        "tools",
        "top_k",
        "top_logprobs",
        "top_p",
        "top_prompt_logprobs",
    )
)
#: What Groq's page on its compatibility with OpenAI and its SDK call not supported.
GROQ_LACKS = frozenset(("logit_bias", "logprobs", "metadata", "store", "top_logprobs"))


class Dialect(Struct, frozen=True):
    """One provider's ways.

    ``ids_checked``: an id of another shape is refused, so even the provider's own are held to it.
    ``reasoning``: the member that carries reasoning back ("content": as thinking parts). ``blank``: what stands as
    content beside calls. ``strict``: members of a message that are not documented are refused. ``lists``: an
    assistant's content may be parts. ``result_media``: results may hold images. ``bridge``: the assistant has to
    speak between a tool's result and a user. ``wordless``: an assistant's message may say nothing at all.
    ``parallel``: there is a switch for parallel calls.
    ``images``, ``sound``, ``files``: whether users may show images; the formats of sound; the part that holds a
    file's bytes, null where none does. ``members``: those of the body that it documents, where it refuses all others;
    ``lacks``: shared ones that it refuses or does not document. ``schemas``: whether an answer may be held to a schema.
    ``limit`` and ``seed``: its names for these.
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
    seed: str = "seed"
    members: frozenset[str] | None = None
    lacks: frozenset[str] = frozenset()
    schemas: bool = True


_OPENAI = Dialect(ids_checked=True, custom=True, developer=True, refusal=True, limit="max_completion_tokens")
_DIALECTS: dict[str | None, Dialect] = {
    None: _OPENAI,
    "openai": _OPENAI,
    "azure": _OPENAI,
    # xAI's and Groq's references for this wire know texts and images alone, DeepSeek refuses whatever is no text.
    "xai": Dialect(
        names=NameStyle(reserved=XAI_RESERVED), blank="", sound=_MUTE, files=None, lacks=frozenset(("logit_bias",))
    ),
    "mistral": Dialect(
        ids=IdStyle("[a-zA-Z0-9]{9}", 9, prefix=""),
        ids_checked=True,
        reasoning="content",
        strict=True,
        bridge=True,
        wordless=False,
        any_word="any",
        files="document_url",
        seed="random_seed",
        members=MISTRAL_MEMBERS,
    ),
    "deepseek": Dialect(
        lists=False,
        parallel=False,
        images=False,
        sound=_MUTE,
        files=None,
        lacks=frozenset(("logit_bias", "n", "user")),
        schemas=False,
    ),
    "groq": Dialect(reasoning="reasoning", strict=True, sound=_MUTE, files=None, lacks=GROQ_LACKS | {"n"}),
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
