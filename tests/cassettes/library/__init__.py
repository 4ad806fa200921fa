"""The library of cassettes."""
