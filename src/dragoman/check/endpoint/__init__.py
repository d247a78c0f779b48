"""The examination of a remote endpoint: Streamable HTTP and WebSocket, spoken by hand."""
