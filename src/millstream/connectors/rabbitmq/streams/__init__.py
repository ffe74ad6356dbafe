"""Streams and super streams of RabbitMQ: logs that are read by offset and can be read again."""
