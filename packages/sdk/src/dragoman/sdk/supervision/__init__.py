"""An agent that is watched: deadlines, crashes, restarts, and sessions that outlive a process."""
