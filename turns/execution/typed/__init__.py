"""Python types as JSON schemas: the arguments of a call are converted to the types that a function declares."""
