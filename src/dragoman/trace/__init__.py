"""Recordings: made by the tap, shown by the view, served again by the replay, disturbed by chaos."""
