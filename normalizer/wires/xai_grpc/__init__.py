"""Wire `xai.grpc`: messages of xAI's `xai_api.Chat` service. It needs the protobuf classes of the `xai` extra."""
