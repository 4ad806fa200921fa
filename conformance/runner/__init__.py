"""Runs of the suite: cases in, verdicts out, on all cores."""
