"""Moves whole frames between two peers. See `contract` for what every transport promises."""
