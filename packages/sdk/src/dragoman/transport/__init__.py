"""Moves whole frames between two peers. `contract` describes what every transport promises."""
