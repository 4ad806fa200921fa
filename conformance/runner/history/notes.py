"""Causes of changes that an outcome does not show, found by reading the packages of two neighbours."""

#: Library -> release -> why it changed laws.
NOTES: dict[str, dict[str, str]] = {
    "litellm": {
        "1.100.0": (
            "From this release on, the package's list of models has xai/grok-4.20, which the suite asks for."
            " LiteLLM streams Responses only from models in the list, so cases of xai.responses-stream failed before."
        )
    },
    "vercel-ai": {
        "7.0.82": (
            "From this release on, the package has the class StreamProviderError, by which a caller recognizes an error"
            " that the provider sent in a stream. The suite's program raises such an error, so that the cases count as"
            " refused. Before, it returns the result with the error part."
        )
    },
}
