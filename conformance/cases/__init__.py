"""The cases of the suite: scenarios, the traffic of each, and the expected results."""
