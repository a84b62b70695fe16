"""Composition: exact and bounded composition, privacy regions, filters, and a ledger that never overspends."""

from utmost.accounting import events, filters, theorems
from utmost.accounting.account import Account
from utmost.accounting.checks import LedgerCheck
from utmost.accounting.composition import Composition, compose
from utmost.accounting.declared import Schedule
from utmost.accounting.entries import Entry
from utmost.accounting.fitting import how_many, largest_epsilon
from utmost.accounting.hypotheses import composed_levels, region_between_sets, region_of
from utmost.accounting.ledger import Ledger
from utmost.accounting.pricing import Price, cheapest
from utmost.accounting.privacy_losses import Loss, loss_between, loss_of
from utmost.accounting.regions import Region, region, region_between, simulating_channel
from utmost.accounting.subsampling import PoissonSampled

__all__ = [
    "Account",
    "Composition",
    "Entry",
    "Ledger",
    "LedgerCheck",
    "Loss",
    "PoissonSampled",
    "Price",
    "Region",
    "Schedule",
    "cheapest",
    "compose",
    "composed_levels",
    "events",
    "filters",
    "how_many",
    "largest_epsilon",
    "loss_between",
    "loss_of",
    "region",
    "region_between",
    "region_between_sets",
    "region_of",
    "simulating_channel",
    "theorems",
]
