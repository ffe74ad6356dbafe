"""Proves on a user's own job that nothing is lost and nothing is there twice, whatever is killed when."""
