"""Other engines, each a script that runs in an environment of its own and says what its rows cost."""
