"""The dialect of an agent server with durable sessions: snake_case, `@type`, permission as an update.

Its spelling is mixed: `session/new` and the `sessionId` of updates are in camelCase, all else is in
snake_case. A turn is stopped by a request `cancel`; a question for permission is an update, answered by
`permission_response`, whose form is ours because its document gives none; a turn may end with `error`.
"""

from dragoman.dialect.crow.agent import CrowAgent
from dragoman.dialect.crow.client import CrowClient

__all__ = ["CrowAgent", "CrowClient"]
