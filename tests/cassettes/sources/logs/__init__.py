"""Tests of the importers of logs.

Most files in `samples/` were written by the tools themselves: `make_samples` runs the programs in `writers/`. In each,
an agent asks an emulated provider about the weather in three rounds: the model makes three calls, then two, then it
answers. The agent loses the second and the third call of the first round. In further conversations, streamed or with
another provider, it loses none.
"""
