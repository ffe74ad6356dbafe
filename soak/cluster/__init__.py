"""A job on a standalone Spark cluster, with its state in HDFS or S3, while machines, masters and storages fail."""
