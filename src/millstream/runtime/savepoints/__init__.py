"""State that outlives the code and the cluster's size: savepoints, and jobs that continue from them."""
