"""One aggregation run by Spark: its stages as a bar on a terminal, and Ctrl-C ends it in the cluster, too.

The job runs in a thread of its own, under a name of its own, so that what waits for it can watch and cancel it. What
has been spent on it stays spent: the ledger was charged before. What Spark says of it is written to no log.
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
"""Seconds before a bar is shown: most jobs are over by then."""
LOOK = 0.2
"""Seconds between two looks at a job."""
WIDTH = 30
ENDING = 10.0
"""Seconds that a cancelled job has to end before it is left alone."""
LOGGERS = ("pyspark.sql.connect.logging", "DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""Where PySpark writes every error that reaches it, with Spark's words for it: a value of a row may be among them."""
SHOWN = threading.Event()
"""Whether a bar has the terminal's line, in which others would write, too."""
_unlogged: ContextVar[bool] = ContextVar("unlogged", default=False)


def rows_of(spark: Spark, frame: Any) -> list[Any]:
    """The rows of a frame that has a few, in the order of Spark; `KeyboardInterrupt` cancels the job."""
    found: list[list[Any]] = []
    failed: list[BaseException] = []
    name = f"utmost-{uuid.uuid4().hex}"

    def work() -> None:
        try:
            with unlogged(), _named(spark, name):
                found.append(frame.collect())
        except BaseException as reason:
            failed.append(reason)

    thread = _thread(spark, work)
    thread.start()
    try:
        with _watched(spark, name):
            while thread.is_alive():  # nothing of Spark's here: an interrupt would break into the middle of a call
                thread.join(LOOK)
    except BaseException:
        with contextlib.suppress(Exception):
            _cancel(spark, name)
        thread.join(ENDING)
        raise
    if failed:
        raise failed[0]
    return found[0]


@contextlib.contextmanager
def unlogged() -> Iterator[None]:
    """Meanwhile, what goes wrong in this thread is written to none of PySpark's logs; what others do is."""
    with contextlib.suppress(ImportError):  # PySpark 3.5 writes none of its own accord
        from pyspark.logger import PySparkLogger

        for name in LOGGERS:
            PySparkLogger.getLogger(name).addFilter(_is_told)
    token = _unlogged.set(True)
    try:
        yield
    finally:
        _unlogged.reset(token)


def _is_told(record: Any) -> bool:
    return not _unlogged.get()


def _thread(spark: Spark, work: Any) -> threading.Thread:
    """A thread whose jobs have the properties of this one's, such as the scheduler's pool."""
    if spark.connect:
        return threading.Thread(target=work, daemon=True)
    from pyspark import InheritableThread

    thread: threading.Thread = InheritableThread(target=work)
    thread.daemon = True
    return thread


@contextlib.contextmanager
def _named(spark: Spark, name: str) -> Iterator[None]:
    """What this thread asks Spark for goes by a name."""
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
    """Meanwhile, a bar that shows how far a job is: on a terminal, once it takes long."""
    if not sys.stderr.isatty():
        yield
        return
    ended, tasks = threading.Event(), [0, 0]

    def heard(stages: Any = None, **_: Any) -> None:  # Connect tells, also of operations of others in this session
        known = list(stages or ())
        tasks[:] = sum(stage.num_completed_tasks for stage in known), sum(stage.num_tasks for stage in known)

    def watch() -> None:
        ended.wait(PATIENCE)
        while not ended.wait(LOOK):
            with contextlib.suppress(Exception):
                done, all_of_them = tasks if spark.connect else _tasks(spark, name)
                SHOWN.set()
                print(f"\r{bar(done, all_of_them)}", end="", file=sys.stderr, flush=True)
        if SHOWN.is_set():
            print("\r" + " " * len(bar(0, 10**9)) + "\r", end="", file=sys.stderr, flush=True)
            SHOWN.clear()

    told = spark.connect and hasattr(spark.session, "registerProgressHandler")
    if told:
        spark.session.registerProgressHandler(heard)
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join(ENDING)
        if told:
            spark.session.removeProgressHandler(heard)


def _tasks(spark: Spark, name: str) -> tuple[int, int]:
    """How many tasks of a job are done, and how many are known."""
    tracker = spark.session.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(name)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    known = [stage for stage in stages if stage]
    return sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)


def bar(done: int, all_of_them: int) -> str:
    """A bar of tasks.

    Examples
    --------
    >>> bar(50, 200)
    'Spark [#######                       ] 50 of 200 tasks      '
    """
    full = WIDTH * done // all_of_them if all_of_them else 0
    return f"Spark [{'#' * full:{WIDTH}}] {f'{done} of {all_of_them} tasks':<21}"
