"""A job on a cluster of Spark's own, with its state in HDFS or S3, while machines, masters and storages fail."""
