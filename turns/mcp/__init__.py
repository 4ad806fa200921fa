"""MCP servers whose tools are tools of turns, over the official SDK (extra `mcp`), which is imported on use only."""
