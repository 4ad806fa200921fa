"""Wire `anthropic.messages`: Anthropic's Messages API, including Claude on Bedrock and Vertex."""
