"""Wire `cohere.chat`: Cohere's Chat API, version 2; responses and requests of version 1 are read."""
