"""The conformance suite, which checks that an implementation handles tool calls safely, and the command line."""
