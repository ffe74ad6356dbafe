"""A job that receives from RabbitMQ, ActiveMQ, SQS and Kinesis and writes back to them, while these fail."""
