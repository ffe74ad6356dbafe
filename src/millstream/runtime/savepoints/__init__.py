"""State that outlives the code and the cluster's size: savepoints, and jobs that go on from them."""
