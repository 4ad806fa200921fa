"""Wire `bedrock.converse`: Amazon Bedrock's Converse and ConverseStream, and Nova's bodies of its InvokeModel."""
