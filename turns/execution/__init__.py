"""Execution of the calls of a round: tools, invocation, results."""
