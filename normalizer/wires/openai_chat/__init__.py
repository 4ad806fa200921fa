"""Wire `openai.chat`: the Chat Completions API of OpenAI and of compatible providers."""
