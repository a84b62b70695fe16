"""Run one aggregation on Spark, with a progress bar on a terminal; Ctrl-C also cancels the job in the cluster.

The job runs in a thread of its own, under a name of its own, so that the waiting thread can watch and cancel it. Its
spend remains charged: the ledger was written before. Spark's messages about it are kept out of all logs.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import uuid
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from utmost.backends.spark_columns import Spark

PATIENCE = 2.0
"""Seconds before a bar is shown: most jobs have finished by then."""
LOOK = 0.2
"""Seconds between two looks at the progress of a job."""
WIDTH = 30
ENDING = 10.0
"""Seconds to wait for a cancelled job to end."""
LOGGERS = ("pyspark.sql.connect.logging", "DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""Loggers to which PySpark writes every error with Spark's message, which may contain values of rows."""
SHOWN = threading.Event()
"""Set while a bar occupies the current line of the terminal."""
_unlogged: ContextVar[bool] = ContextVar("unlogged", default=False)


def rows_of(spark: Spark, frame: Any) -> list[Any]:
    """Collect the rows of a small frame, in Spark's order; `KeyboardInterrupt` cancels the job."""
    results: list[list[Any]] = []
    failed: list[BaseException] = []
    name = f"utmost-{uuid.uuid4().hex}"

    def work() -> None:
        try:
            with unlogged(), _named(spark, name):
                results.append(frame.collect())
        except BaseException as reason:
            failed.append(reason)

    thread = _thread(spark, work)
    thread.start()
    try:
        with _watched(spark, name):
            while thread.is_alive():  # no call of Spark here: an interrupt would break into the middle of it
                thread.join(LOOK)
    except BaseException:
        with contextlib.suppress(Exception):
            _cancel(spark, name)
        thread.join(ENDING)
        raise
    if failed:
        raise failed[0]
    return results[0]


@contextlib.contextmanager
def unlogged() -> Iterator[None]:
    """Keep errors of this thread out of PySpark's logs; other threads log as usual."""
    with contextlib.suppress(ImportError):  # PySpark 3.5 logs nothing by default
        from pyspark.logger import PySparkLogger

        for name in LOGGERS:
            PySparkLogger.getLogger(name).addFilter(_is_logged)
    token = _unlogged.set(True)
    try:
        yield
    finally:
        _unlogged.reset(token)


def _is_logged(record: Any) -> bool:
    return not _unlogged.get()


def _thread(spark: Spark, work: Any) -> threading.Thread:
    """A thread whose jobs inherit the properties of this one's, such as the scheduler's pool."""
    if spark.connect:
        return threading.Thread(target=work, daemon=True)
    from pyspark import InheritableThread

    thread: threading.Thread = InheritableThread(target=work)
    thread.daemon = True
    return thread


@contextlib.contextmanager
def _named(spark: Spark, name: str) -> Iterator[None]:
    """Run the Spark jobs of this thread under a name."""
    if spark.connect:
        spark.session.addTag(name)
    else:
        spark.session.sparkContext.setJobGroup(name, "a private answer", True)
    try:
        yield
    finally:
        if spark.connect:
            spark.session.removeTag(name)


def _cancel(spark: Spark, name: str) -> None:
    if spark.connect:
        spark.session.interruptTag(name)
    else:
        spark.session.sparkContext.cancelJobGroup(name)


@contextlib.contextmanager
def _watched(spark: Spark, name: str) -> Iterator[None]:
    """Show a progress bar for a job, if standard error is a terminal and the job takes longer than `PATIENCE`."""
    if not sys.stderr.isatty():
        yield
        return
    ended, tasks = threading.Event(), [0, 0]

    def on_progress(
        stages: Any = None, **_: Any
    ) -> None:  # Connect tells, also of operations of others in this session
        stage_infos = list(stages or ())
        tasks[:] = (
            sum(stage.num_completed_tasks for stage in stage_infos),
            sum(stage.num_tasks for stage in stage_infos),
        )

    def watch() -> None:
        ended.wait(PATIENCE)
        while not ended.wait(LOOK):
            with contextlib.suppress(Exception):
                completed, total = tasks if spark.connect else _tasks(spark, name)
                SHOWN.set()
                print(f"\r{bar(completed, total)}", end="", file=sys.stderr, flush=True)
        if SHOWN.is_set():
            print("\r" + " " * len(bar(0, 10**9)) + "\r", end="", file=sys.stderr, flush=True)
            SHOWN.clear()

    has_progress = spark.connect and hasattr(spark.session, "registerProgressHandler")
    if has_progress:
        spark.session.registerProgressHandler(on_progress)
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join(ENDING)
        if has_progress:
            spark.session.removeProgressHandler(on_progress)


def _tasks(spark: Spark, name: str) -> tuple[int, int]:
    """How many tasks of a job are completed, and how many are known."""
    tracker = spark.session.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(name)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    stage_infos = [stage for stage in stages if stage]
    return sum(stage.numCompletedTasks for stage in stage_infos), sum(stage.numTasks for stage in stage_infos)


def bar(completed: int, total: int) -> str:
    """A progress bar of tasks.

    Examples
    --------
    >>> bar(50, 200)
    'Spark [#######                       ] 50 of 200 tasks      '
    """
    full = WIDTH * completed // total if total else 0
    return f"Spark [{'#' * full:{WIDTH}}] {f'{completed} of {total} tasks':<21}"
