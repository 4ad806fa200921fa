"""Commands of the conformance suite."""
