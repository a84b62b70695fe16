"""Spark with a master and two workers on this machine: the same answers, also when a worker dies while it counts."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from utmost.errors import SUSPENDED

pytestmark = pytest.mark.long
WORKERS = 2
PROGRAM = """
import json, sys
import pyarrow, pyarrow.parquet
from pyspark.sql import SparkSession
import utmost as um

master, folder = sys.argv[1:]
building = SparkSession.builder.master(master).appName("utmost")
for name, value in {
    "spark.executor.memory": "512m", "spark.driver.memory": "512m", "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "4", "spark.ui.showConsoleProgress": "false",
}.items():
    building = building.config(name, value)
spark = building.getOrCreate()
rows = 20_000
table = pyarrow.table({"who": [f"p{i % 700}" for i in range(rows)], "n": [i * 37 % 101 for i in range(rows)]})
pyarrow.parquet.write_table(table, folder + "/t.parquet", row_group_size=2_000)
frame = spark.read.option("mergeSchema", "false").parquet(folder + "/t.parquet")
unit = um.people("who", rows_each=5, at_most=1000)
points = []
for source in (frame, table):
    s = um.Session(source, "survey", unit, "add-remove", budget=10)
    plans = s.plan.count("n > 50", privacy=1), s.plan.sum("n", 0, 60, privacy=1), s.plan.mean("n", 0, 60, privacy=1)
    asked = [plan.question.statement(s.source, b"s" * 32) for plan in plans]
    points.append([s.source.execute(statement) for statement in asked])
print(json.dumps({"points": points}), flush=True)
big = spark.range(0, 4 * 10**9, 1, 64)
s = um.Session(big, "big", um.rows(at_most=10**12), "add-remove", budget=10, ledger=folder + "/ledger.db")
print("asking", flush=True)
try:
    answer = s.count("id > 5 AND id <> 77", privacy=1, loss="absolute").value
except um.errors.AccountSuspended as reason:
    answer = str(reason)
print(json.dumps({"answer": answer, "left": str(s.left), "entries": len(s.account.entries())}), flush=True)
spark.stop()
"""


def started(folder, *words):
    """A process of Spark's own, in a group of its own."""
    import pyspark

    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(folder),
    }
    with (folder / f"{words[0].rpartition('.')[2]}-{len(list(folder.iterdir()))}.log").open("w") as log:
        return subprocess.Popen(
            [home / "bin" / "spark-class", *words],
            env=environment,
            stdout=log,
            stderr=log,
            cwd=folder,
            start_new_session=True,
        )


@pytest.fixture
def cluster(java, tmp_path):
    """A master and two workers, started with spark-class, which the wheel has (it has no sbin)."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"spark://127.0.0.1:{port}"
    place = "org.apache.spark.deploy"
    running = [
        started(tmp_path, f"{place}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
    ]
    try:
        time.sleep(5)
        for _ in range(WORKERS):
            limits = ("--cores", "1", "--memory", "700m", "--webui-port", "0", "--host", "127.0.0.1")
            running.append(started(tmp_path, f"{place}.worker.Worker", *limits, address))
        yield address, running
    finally:
        for process in running:
            end(process)


def end(process):
    """Kill a process with its executors."""
    if process.poll() is None:
        os.killpg(process.pid, 9)
    process.wait(30)


def test_a_cluster_answers_also_when_a_worker_dies(cluster, tmp_path):
    """The same points as DuckDB; then a count that goes on without the worker, or the fixed sentence: charged once."""
    address, running = cluster
    words = [sys.executable, "-W", "ignore", "-c", PROGRAM, address, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as program:
        try:
            points = json.loads(program.stdout.readline())["points"]
            assert points[0] == points[1]
            assert program.stdout.readline().strip() == "asking"
            time.sleep(4)
            end(running[1])
            said = json.loads(program.stdout.readline())
        finally:
            program.kill()
    assert said["left"] == "epsilon 9 of 10"
    assert said["entries"] == 1
    assert said["answer"] == SUSPENDED or abs(said["answer"] - (4 * 10**9 - 7)) < 100
