"""The agent `review`: reviews code offline, in any editor, and mends what it is allowed to mend.

`agent` declares it; `intent` understands what people write; `targets` and `files` find and read what they
mean; `reviewing` reviews, `fixing` applies; `telling` words it. The judging itself is done by the room
`dragoman.review`.
"""
