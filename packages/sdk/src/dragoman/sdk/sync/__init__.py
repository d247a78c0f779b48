"""The faces of a turn for handlers that are plain functions and run in threads of the asyncio server."""
