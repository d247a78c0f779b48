"""The parts of the screens."""
