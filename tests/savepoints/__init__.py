"""State that outlives the code and the cluster: read, saved, restored."""
