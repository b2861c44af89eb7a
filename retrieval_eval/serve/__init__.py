"""Read-only HTTP and MCP servers for the measured results."""
