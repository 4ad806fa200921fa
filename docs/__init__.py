"""Pages for readers, and the programs that write their tables."""
