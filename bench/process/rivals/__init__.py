"""Other engines, each a script that runs in its own environment and says what its rows cost."""
