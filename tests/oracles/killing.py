"""Processes that end by kill -9 at a chosen step of what they do."""

import itertools
import os
import signal

from utmost.accounting import ledger_file


def in_a_child(work):
    """Run work(report) in a process of its own; whether it came to its end, and what it had reported until then."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        code = 1
        try:
            work(lambda word: os.write(writer, f"{word}\n".encode()))
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    with open(reader) as said:
        words = said.read().split()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL)
    return status == 0, words


def killing_before(last):
    """A function that ends the process, by kill -9, when it is called for the n-th time."""
    count = itertools.count(1)

    def step():
        if next(count) == last:
            os.kill(os.getpid(), signal.SIGKILL)

    return step


def killed_at(last):
    """Let every write, cut and sync of a ledger's file be a step, writes also in halves: kill -9 before the n-th."""
    step = killing_before(last)

    def stepping(work):
        def stepped(handle, *how):
            step()
            if work is write and len(how[0]) > 1:
                text, place = how
                write(handle, text[: len(text) // 2], place)
                step()
            work(handle, *how)

        return stepped

    write = ledger_file.write_at
    for name in ("write_at", "cut", "sync"):
        setattr(ledger_file, name, stepping(getattr(ledger_file, name)))
    return step
