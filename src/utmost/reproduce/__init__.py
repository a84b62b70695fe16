"""Every figure, table, example and checkable theorem of the five papers, with a verdict.

`run()` computes each claim of `claims.toml` with the public functions of Utmost and compares; `write` makes the HTML
index, `reproduce.json` and the pictures. The modules `bin`, `het`, `rain`, `reg*`, `lim_*` and `beyond` hold one short
function per claim: the call that makes each figure.
"""

from utmost.reproduce import (
    beyond,
    bin,
    het,
    lim_composition,
    lim_information,
    lim_noise,
    lim_parties,
    lim_testing,
    rain,
    reg,
    reg_leakage,
    reg_queries,
)
from utmost.reproduce.entry import COMPUTATIONS, PAPERS, Claim, Entry, Finding, Judgement, claims, judge, reproduces
from utmost.reproduce.index import write
from utmost.reproduce.run import choose, run

__all__ = [
    "COMPUTATIONS",
    "PAPERS",
    "Claim",
    "Entry",
    "Finding",
    "Judgement",
    "beyond",
    "bin",
    "choose",
    "claims",
    "het",
    "judge",
    "lim_composition",
    "lim_information",
    "lim_noise",
    "lim_parties",
    "lim_testing",
    "rain",
    "reg",
    "reg_leakage",
    "reg_queries",
    "reproduces",
    "run",
    "write",
]
