"""Profiles of the providers that serve this wire besides OpenAI: what their responses do with ids, indexes and so on.

The decoder needs none of this: it reads every response by its content. The profiles say what to expect of a provider
(`docs/pages/dialects.md`), and tests compare them with all recordings. What a provider accepts in a request is the
matter of `dialects`.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

#: The traits of a profile, and what their values say.
TRAITS: dict[str, str] = {
    "ids": "the pattern of call ids; it matches an empty text if the provider leaves ids out",
    "indexes": "the indexes of streamed calls: numbered from 0, missing, all 0, or other numbers",
    "arguments": "whether streamed arguments arrive at once or in pieces",
    "stops of calls": "the stop words of responses with calls",
    "stops": "the stop words of other responses",
    "reasoning": "the members of a message that hold reasoning",
    "usage": "where a stream reports usage: without choices (in a last chunk), beside the stop word, beside a delta, "
    "in the choice, in x_groq, or none",
}
#: The source of traits that all recordings of the provider show.
RECORDED = "recorded"


class Trait(Struct, frozen=True):
    """What a provider does. ``values``: all known; for ``ids`` a pattern. ``sources``: `RECORDED`, or addresses."""

    values: tuple[str, ...]
    sources: tuple[str, ...] = (RECORDED,)


class Profile(Struct, frozen=True):
    """One provider or server. ``traits``: key of `TRAITS` -> trait; an unknown one is absent."""

    title: str
    traits: Mapping[str, Trait]


def _seen(**traits: str | tuple[str, ...]) -> dict[str, Trait]:
    """Return recorded traits. The names have underscores instead of spaces."""
    return {
        name.replace("_", " "): Trait((values,) if isinstance(values, str) else values)
        for name, values in traits.items()
    }


def _said(values: str | tuple[str, ...], *threads: str) -> Trait:
    """Return a trait that public threads report. ``threads``: their paths on GitHub, or addresses."""
    sources = tuple(thread if "//" in thread else f"https://github.com/{thread}" for thread in threads)
    return Trait((values,) if isinstance(values, str) else values, sources)


_BOTH = ("at once", "in pieces")
#: Streams of vLLM and SGLang side by side.
_COMPARED = "InternLM/lmdeploy/issues/3412"

#: Name of the provider -> its profile. Names are those that callers pass as ``provider``.
PROFILES: dict[str, Profile] = {
    "azure": Profile(
        "Azure",
        _seen(
            ids=r"call_[\w-]+",
            indexes="numbered",
            arguments="at once",
            stops_of_calls=("tool_calls", "tool_call"),
            stops=("stop", "length"),
            reasoning=("reasoning_content", "<think> in content"),
            usage="without choices",
        ),
    ),
    "cerebras": Profile(
        "Cerebras",
        _seen(
            ids="[a-z0-9]{9}",
            indexes="numbered",
            arguments=_BOTH,
            stops_of_calls="tool_calls",
            stops=("stop", "length"),
            reasoning="reasoning",
            usage="beside the stop word",
        ),
    ),
    "cloudflare": Profile("Cloudflare Workers AI", _seen(stops="stop", usage="beside the stop word")),
    "deepseek": Profile(
        "DeepSeek",
        _seen(
            ids=r"call_\d+_[\w-]+",
            indexes="numbered",
            arguments=_BOTH,
            stops_of_calls="tool_calls",
            stops="stop",
            reasoning="reasoning_content",
            usage=("beside the stop word", "beside a delta", "without choices"),
        ),
    ),
    "fireworks": Profile(
        "Fireworks",
        {
            "reasoning": _said("reasoning_content", "langchain-ai/langchain/pull/38050"),
            "usage": _said("without choices", "langchain-ai/langchain/pull/38050"),
        },
    ),
    "google": Profile(
        "Gemini, endpoint for Chat Completions",
        {
            "ids": _said(
                r"call_\d+|function-call-\d+", "THU-MAIC/OpenMAIC/issues/1556", "open-webui/computer/issues/224"
            ),
            "indexes": _said(
                ("missing", "all 0"), "THU-MAIC/OpenMAIC/issues/1556", "NousResearch/hermes-agent/issues/62937"
            ),
            "stops of calls": _said(("tool_calls", "stop"), "googleapis/python-genai/issues/2868"),
        },
    ),
    "groq": Profile(
        "Groq",
        _seen(
            ids=r"[a-z0-9]{9}|call_\w+|fc_[\w-]+|functions\.\w+:\d+",
            indexes="numbered",
            arguments="at once",
            stops_of_calls="tool_calls",
            stops=("stop", "length"),
            reasoning=("reasoning", "<think> in content"),
            usage=("x_groq", "beside the stop word", "without choices", "none"),
        ),
    ),
    "llama-cpp": Profile(
        "llama.cpp",
        {
            "ids": _said(r"\d*", "ggml-org/llama.cpp/issues/12279", "ggml-org/llama.cpp/issues/26359"),
            "stops of calls": _said("tool_calls", "ggml-org/llama.cpp/issues/11992"),
            "reasoning": _said("reasoning_content", "ggml-org/llama.cpp/issues/11992"),
        },
    ),
    "lmstudio": Profile(
        "LM Studio",
        {
            "ids": _said(r"\d*", "lmstudio-ai/lmstudio-bug-tracker/issues/830"),
            "arguments": _said("in pieces", "lmstudio-ai/lmstudio-bug-tracker/issues/649"),
            "usage": _said("none", "lmstudio-ai/lmstudio-bug-tracker/issues/713"),
        },
    ),
    "minimax": Profile(
        "MiniMax",
        {
            "reasoning": _said(
                ("<think> in content", "reasoning_details"), "anomalyco/opencode/issues/3555", "LionSR/TeXRA/pull/2947"
            ),
        },
    ),
    "mistral": Profile(
        "Mistral",
        _seen(
            ids="[a-zA-Z0-9]{9}",
            indexes=("numbered", "missing"),
            arguments="at once",
            stops_of_calls="tool_calls",
            stops=("stop", "length"),
            reasoning="thinking in content",
            usage="beside the stop word",
        ),
    ),
    "moonshot": Profile(
        "Moonshot",
        {
            "ids": _said(r"functions\.\w+:\d+", "vybestack/llxprt-code/issues/713"),
            "reasoning": _said("reasoning_content", "openclaw/Tachikoma/pull/27"),
            "usage": _said("in the choice", "earendil-works/pi/issues/2017"),
        },
    ),
    "ollama": Profile(
        "Ollama, endpoint for Chat Completions",
        _seen(
            ids="call_[a-z0-9]{8}",
            indexes="numbered",
            arguments="at once",
            stops_of_calls="tool_calls",
            stops=("stop", "length"),
            reasoning="reasoning",
            usage=("without choices", "none"),
        ),
    ),
    # Ids are those of the provider behind it.
    "openrouter": Profile(
        "OpenRouter",
        _seen(
            indexes=("numbered", "all 0", "1"),
            arguments=_BOTH,
            stops_of_calls=("tool_calls", "stop"),
            stops=("stop", "length"),
            reasoning=("reasoning", "reasoning_details", "<think> in content"),
            usage=("beside a delta", "beside the stop word", "none"),
        ),
    ),
    "qwen": Profile(
        "Qwen, DashScope's compatible mode",
        {
            "usage": _said(
                "without choices",
                "https://app.unpkg.com/@lobehub/chat@1.94.7/files/src/libs/model-runtime/utils/streams/qwen.ts",
            )
        },
    ),
    "sglang": Profile(
        "SGLang",
        {
            "ids": _said(r"\d*", _COMPARED, "sgl-project/sglang/issues/7048"),
            "indexes": _said(("missing", "all 0"), _COMPARED, "sgl-project/sglang/issues/5661"),
            "reasoning": _said("reasoning_content", "sgl-project/sglang/issues/6310"),
        },
    ),
    "together": Profile(
        "Together",
        _seen(
            ids="call_[a-z0-9]{24}",
            indexes="numbered",
            arguments="in pieces",
            stops_of_calls="tool_calls",
            stops=("stop", "eos"),
            usage=("beside the stop word", "none"),
        ),
    ),
    "vllm": Profile(
        "vLLM",
        {
            "ids": _said(r"chatcmpl-tool-\w+", _COMPARED),
            "stops of calls": _said(("tool_calls", "stop"), "vllm-project/vllm/pull/25054"),
            "reasoning": _said(("reasoning", "reasoning_content"), "vllm-project/vllm/pull/27752"),
        },
    ),
    "xai": Profile(
        "xAI",
        _seen(
            ids=r"call_\d+|\d+",
            indexes="numbered",
            arguments="at once",
            stops_of_calls="tool_calls",
            stops=("stop", "length"),
            reasoning="reasoning_content",
            usage=("without choices", "none"),
        ),
    ),
    "zai": Profile(
        "Z.ai",
        _seen(
            ids=r"call_[\w-]+",
            indexes=("numbered", "-1"),
            arguments="at once",
            stops_of_calls="tool_calls",
            stops=("stop", "length"),
            reasoning="reasoning_content",
            usage="beside the stop word",
        ),
    ),
}
