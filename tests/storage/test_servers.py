"""The servers that hold files for tests: what they confirm is there, also after a crash."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from pyarrow.fs import FileSelector
from pyspark.sql import SparkSession

from servers.hdfs import Hdfs
from servers.s3 import BUCKET, S3
from servers.s3_proxy import S3Proxy

pytestmark = pytest.mark.server


def write(spark: SparkSession, url: str, text: str) -> None:
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(url)
    out = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).create(path, False)
    out.write(text.encode())
    out.close()


def read(spark: SparkSession, url: str) -> str:
    return "\n".join(row.value for row in spark.read.text(url).collect())


def test_hdfs_keeps_its_files_through_a_crash(hdfs: Hdfs, spark: SparkSession) -> None:
    url = f"{hdfs.url}/servers/file"
    write(spark, url, "kept")
    hdfs.stop()
    hdfs.start()
    assert read(spark, url) == "kept"
    with pytest.raises(Exception, match="exists"):
        write(spark, url, "again")


def test_s3_keeps_its_objects_through_a_crash(s3: S3, bucket: str, spark: SparkSession) -> None:
    write(spark, f"{bucket}/folder/object", "kept")
    s3.stop()
    s3.start()
    assert read(spark, f"{bucket}/folder/object") == "kept"
    found = s3.files().get_file_info(FileSelector(bucket.removeprefix("s3a://"), recursive=True))
    assert [info.path for info in found if info.is_file] == [f"{bucket.removeprefix('s3a://')}/folder/object"]


def test_s3_knows_its_user(s3: S3) -> None:
    with pytest.raises(OSError, match=r"ACCESS_DENIED|SignatureDoesNotMatch|403|SIGNATURE"):
        s3.files(password="wrong").get_file_info(FileSelector(BUCKET))


def test_requests_are_counted(s3_proxy: S3Proxy, bucket_behind_proxy: str, spark: SparkSession) -> None:
    write(spark, f"{bucket_behind_proxy}/counted", "one")
    name = bucket_behind_proxy.removeprefix("s3a://")
    assert [str(request) for request in s3_proxy.requests("PUT")] == [f"PUT /{name}/counted"]
    s3_proxy.clear()
    assert s3_proxy.requests() == []
    assert read(spark, f"{bucket_behind_proxy}/counted") == "one"
    assert s3_proxy.kinds()["GET"] >= 1
    assert s3_proxy.kinds()["PUT"] == 0


def test_a_request_is_held_until_it_is_released(
    s3: S3, s3_proxy: S3Proxy, bucket_behind_proxy: str, spark: SparkSession
) -> None:
    held = s3_proxy.hold("PUT .*/held")
    writer = threading.Thread(target=write, args=(spark, f"{bucket_behind_proxy}/held", "late"))
    writer.start()
    assert held.met.wait(60)
    folder = FileSelector(bucket_behind_proxy.removeprefix("s3a://"))
    assert s3.files().get_file_info(folder) == []
    held.release()
    writer.join()
    assert read(spark, f"{bucket_behind_proxy}/held") == "late"


def test_errors_are_answered_as_often_as_asked(
    s3_proxy: S3Proxy, bucket_behind_proxy: str, spark: SparkSession
) -> None:
    s3_proxy.answer(503, "PUT .*/slow", times=2)
    write(spark, f"{bucket_behind_proxy}/slow", "after all")
    assert s3_proxy.kinds("/slow")["PUT"] == 3
    assert read(spark, f"{bucket_behind_proxy}/slow") == "after all"


def test_an_answer_is_lost(s3_proxy: S3Proxy, bucket_behind_proxy: str, spark: SparkSession) -> None:
    """The object is there although its writer got no answer: it asks again."""
    s3_proxy.lose("PUT .*/lost")
    write(spark, f"{bucket_behind_proxy}/lost", "there")
    assert s3_proxy.kinds("/lost")["PUT"] == 2
    assert read(spark, f"{bucket_behind_proxy}/lost") == "there"
