"""A job on real servers, under load, while one thing after the other breaks."""
