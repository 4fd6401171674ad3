"""The overlay on a store: checking its level, and the forms it is written in."""
