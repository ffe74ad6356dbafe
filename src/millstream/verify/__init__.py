"""Proves on a user's own job that nothing is lost or duplicated, whatever is killed, and whenever."""
