"""Processes that spend from one ledger at once; in a module of its own, so that another process can import it."""

import multiprocessing

import utmost as um
from utmost.errors import BudgetSpent


def spend_until_refused(url, level, name, results):
    """Spend without pauses until the budget says no; report how many were answered, or what went wrong."""
    answered = 0
    try:
        account = um.Ledger(url).account("survey")
        while True:
            with account.reserve(level, {"by": name, "n": answered}) as entry:
                if answered % 7 != 6:  # every seventh is left unfinished
                    entry.complete({"n": answered})
            answered += 1
    except BudgetSpent:
        results.put((answered, None))
    except BaseException as wrong:
        results.put((answered, repr(wrong)))


def spend_at_once(urls, level):
    """A process for each name of a ledger; how many releases each of them got."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["utmost"])
    results = context.Queue()
    workers = [
        context.Process(target=spend_until_refused, args=(str(url), level, name, results))
        for name, url in enumerate(urls)
    ]
    for worker in workers:
        worker.start()
    found = [results.get(timeout=300) for _ in workers]
    for worker in workers:
        worker.join()
    assert [wrong for _, wrong in found if wrong] == []
    return [answered for answered, _ in found]
