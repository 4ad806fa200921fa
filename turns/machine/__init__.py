"""The state machine of a turn, without I/O: inputs, state, effects, and the transitions between them."""
