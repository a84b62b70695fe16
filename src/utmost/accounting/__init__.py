"""How promises add up: exact composition, privacy regions, filters, and a ledger that never overspends."""

from utmost.accounting import filters
from utmost.accounting.ledger import Account, Entry, Ledger

__all__ = ["Account", "Entry", "Ledger", "filters"]
