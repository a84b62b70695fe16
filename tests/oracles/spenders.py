"""Processes that spend from one ledger at once; in a module of its own, so that another process can import it."""

import multiprocessing

import utmost as um
from utmost.accounting.holder_account import HolderAccount
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


def hold_until_refused(url, holder, level, name, results):
    """Spend as a holder until one of the two budgets says no; report how many were answered, or what went wrong."""
    answered = 0
    try:
        ledger = um.Ledger(url)
        account = HolderAccount(ledger.account("survey"), ledger.account(f"{holder} at survey"))
        while True:
            account.ask(level, {"by": name, "n": answered}, lambda: 7)
            answered += 1
    except BudgetSpent:
        results.put((answered, None))
    except BaseException as wrong:
        results.put((answered, repr(wrong)))


def spend_at_once(urls, level):
    """A process for each name of a ledger; how many releases each of them got."""
    return _at_once(spend_until_refused, [(str(url), level, name) for name, url in enumerate(urls)])


def hold_at_once(url, holders, level):
    """A process for each holder, who may be named twice; how many answers each of them got."""
    return _at_once(hold_until_refused, [(str(url), holder, level, name) for name, holder in enumerate(holders)])


def _at_once(work, given):
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["utmost"])
    results = context.Queue()
    workers = [context.Process(target=work, args=(*each, results)) for each in given]
    for worker in workers:
        worker.start()
    found = [results.get(timeout=300) for _ in workers]
    for worker in workers:
        worker.join()
    assert [wrong for _, wrong in found if wrong] == []
    return [answered for answered, _ in found]
