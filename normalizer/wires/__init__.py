"""The wires, the API formats that Toolparity reads and writes: one package each, listed in `registry`."""
