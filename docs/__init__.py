"""Pages for readers (`pages`), and the programs (`generate`) and data (`data`) from which their tables are made."""
