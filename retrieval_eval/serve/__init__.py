"""Read-only faces over what was measured: HTTP and MCP."""
