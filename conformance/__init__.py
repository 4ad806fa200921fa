"""The top floor: what proves that tool calls are safe in an implementation, and the command line."""
