"""Wire `ollama.chat`: the native chat API of Ollama."""
