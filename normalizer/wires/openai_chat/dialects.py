"""Dialects, which only this wire has: how its providers differ from OpenAI in the requests they accept."""

from __future__ import annotations

from msgspec import Struct

from ..write_context import IdStyle, NameStyle
from ..xai_tools import RESERVED_ON_CHAT

#: Beginnings of the names of Mistral's models that were recorded to accept a user message directly after a result;
#: others reject it (failure ORD-04).
USER_AFTER_TOOL = ("mistral-small-latest", "ministral-3b")
#: OpenAI documents at most 40 characters and no alphabet; compatible providers follow it.
_IDS = IdStyle(r"[\x21-\x7e]{1,40}", 40, plain=40)
_NAMES = NameStyle()
_SOUND = frozenset(("wav", "mp3"))
_MUTE: frozenset[str] = frozenset()
#: Body members in Mistral's SDK; Mistral rejects any other with 422, extra_forbidden.
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
#: Members that Groq's page on OpenAI compatibility and its SDK list as not supported.
GROQ_LACKS = frozenset(("logit_bias", "logprobs", "metadata", "store", "top_logprobs"))


class Dialect(Struct, frozen=True):
    """The rules that one provider applies to requests.

    ``ids``, ``names``: the styles of call ids and tool names. ``ids_checked``: other ids are rejected, so even the
    provider's own ids are converted. ``reasoning``: the member for reasoning ("content": as thinking parts).
    ``blank``: the content of a message that has calls and no text. ``strict``: undocumented members of a message are
    rejected. ``lists``: content may be a list of text parts. ``result_media``: results may hold images.
    ``bridge``: an assistant message is required between a result and a user message. ``wordless``: an assistant
    message may be empty. ``custom``, ``developer``, ``refusal``: custom tools, the role and the member are supported.
    ``parallel``: ``parallel_tool_calls`` is supported. ``tools_needed``: it and ``tool_choice`` are refused without
    tools. ``images``: users may send images. ``sound``: audio formats. ``files``: the part type for file data, None if
    there is none. ``any_word``: the tool choice that requires a call.
    ``limit``, ``seed``: names of the body members for the token limit and the seed. ``members``: the body members
    that are accepted, None for any. ``lacks``: members that are rejected or not documented. ``schemas``: JSON schemas
    for answers are supported.
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
    tools_needed: bool = False
    images: bool = True
    sound: frozenset[str] = _SOUND
    files: str | None = "file"
    any_word: str = "required"
    limit: str = "max_tokens"
    seed: str = "seed"
    members: frozenset[str] | None = None
    lacks: frozenset[str] = frozenset()
    schemas: bool = True


_OPENAI = Dialect(
    ids_checked=True, custom=True, developer=True, refusal=True, limit="max_completion_tokens", tools_needed=True
)
_DIALECTS: dict[str | None, Dialect] = {
    None: _OPENAI,
    "openai": _OPENAI,
    "azure": _OPENAI,
    # The references of xAI and Groq for this wire list only text and images. DeepSeek rejects all parts but text.
    "xai": Dialect(
        names=NameStyle(reserved=RESERVED_ON_CHAT), blank="", sound=_MUTE, files=None, lacks=frozenset(("logit_bias",))
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
    """Return the dialect of a provider; an unlisted one gets the dialect that all compatible providers accept."""
    return _DIALECTS.get(provider, _OTHER)
