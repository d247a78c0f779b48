"""A prefix for any agent's command: passes every byte, and writes down what passed."""
