"""Wire `openai.responses`: the Responses API of OpenAI, xAI and other providers."""
