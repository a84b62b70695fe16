"""The sentences of certificates, as templates: all of them are here.

A design states its certificate with these, and verification states it again from what was verified
(`solution.statements`). How sentences were worded by version 0.2 is in `solution.older_wordings`.

Figures that only the solver knows, such as the number of rounds or the largest change of a probability, are its own
account of its work: nothing that is proved depends on them. The only free text is the name of the file from which a
user's mechanism was read (`FROM_FILE`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from utmost.solution.phrases import Phrase, Template

SKETCH = "the proof was left out: for a search over levels"
NAMED = Template("{text}")
"""A mechanism by its own name, or words that follow from the problem alone."""

# ---- scope ----

THIS_NUMBER, THESE_INTEGERS = "this number", "these integers"
"""The statistics through which the mechanisms of a bound may see the table."""
SCOPED = Template("among mechanisms that see the table only through {text}, {text}")

# ---- quantities ----

AVERAGE = Template("average probability of the truth over the points")
FIRST = Template("average probability of the first preference over the points")
UNDER_PRIOR = Template("expected loss under the prior")
AT_WORST = Template("expected loss at the worst point")
TRUTH_AT_WORST = Template("probability of the truth at the worst point")
TRUTH_UNDER_PRIOR = Template("average probability of the truth under the prior")
FALSE_ALARMS = Template("false-alarm rate at theta")
WEIGHT = Template("expected weight of the output's position in the ranking")
TRUE_ANSWER = Template("probability of the true answer under the prior")
GUESS = Template("expected zero-one loss under the uniform prior: one minus the probability of a right guess")
REMAPPED = Template("expected zero-one loss under the uniform prior, after the best remap")
DIVERGENCE = Template("{text} divergence of the answers under the two hypotheses")
DIVERGENCE_IN_NATS = Template("{text} divergence of the answers under the two hypotheses, nats")
JOINT_DIVERGENCE = Template("{text} divergence of the answers under the two joint laws")
INFORMATION = Template("mutual information between letter and answer, nats")
UTILITIES = Template("sum of the utilities of all outputs")
LEAST_UTILITIES = Template("the least of {whole} sums of utilities of all outputs")
WRONG = Template("probability of a wrong answer under the prior")
BEHIND = Template("expected votes behind the winner under the prior")
LOSS_UNDER_PRIOR = Template("expected {text} loss under the prior")
LOSS_ANYWHERE = Template("expected {text} loss, the same at every point")
LOSS_OF_TIERS = Template("expected {text} loss under a uniform prior over the tiers' counts")
WRONG_OF_TIERS = Template("probability of a wrong answer under a uniform prior over the tiers' integers")
LOSS_OF_ONE = Template("expected {text} loss of one integer")
VARIANCE_OF_COUNT, VARIANCE_OF_RANGE = Template("mean variance of a count"), Template("mean variance of a range")
ERROR_OF_COUNT = Template("mean absolute error of a count")
VARIANCE = Template("variance of one number, averaged over all")
CONTRIBUTORS = Template("number of contributors that a key needs to be released, on average")
MISSED = Template("share of the k most frequent that is missed, on average over a sample of all tallies")
RANKS_SPREAD = Template("expected error of a quantile in rows, where rows are spread evenly around it")
RANKS = Template("expected error of a quantile in rows: of the rows at or below it, less its share of all")

# ---- reasons ----

BIN_2 = Template("BIN Theorem 2, HET Theorem 1")
BIN_COROLLARY = Template("BIN Corollary 2")
ON_DATASETS = Template("linear programming duality on the graph of datasets")
SHARE_TEST = Template(
    "Awan and Slavković 2020, Theorem 3.2: of all private tests of this size, the one with phi(x + 1) = upper(phi(x)) "
    "is the most powerful at every larger share"
)
RANKINGS = Template("BIN Theorem 2 on every prefix; RAIN Theorems 2 to 5")
EVEN_RANKINGS = Template("BIN Theorem 2 on every prefix, RAIN Theorem 3, from the even boundary (randomised response)")
ON_RAINBOW = Template("linear programming duality on the boundary rainbow graph")
BY_POSITIONS = Template("linear programming duality, for first preferences; then the most second ones, and so on")
DUALITY = Template("linear programming duality over all private mechanisms")
PAIRS = Template(
    "pairs of neighbours with different truths, and the points nearest to each, bound every private mechanism"
)
REG_3 = Template("REG Theorem 3")
REGULAR = Template("REG Theorem 3: tight constraints are optimal for every regular prior, and this one is")
COUNTED = Template("Ghosh, Roughgarden and Sundararajan 2012: on a count, geometric noise with its best remap")
CHAINS = Template("every threshold at its binary optimum, which add up to the expected loss (chains, docs/theory.md)")
BLOCKS = Template(
    "Ghazi 2026: for every f-divergence some optimal local mechanism is randomised response on contiguous blocks of "
    "the letters sorted by P0/P1"
)
LETTERS = Template("prices of letters bound every private mechanism, with any number of outputs")
LETTERS_INFORM = Template(
    "prices of letters bound every private mechanism (LIM Theorem 3.3.2 and linear programming duality)"
)
ON_RECORDS = Template("linear programming duality over all extreme columns of the graph of records")
ON_PATTERNS = Template("LIM Theorem 3.3.4 and linear programming duality over all patterns")
LEAST_OF_PATTERNS = Template(
    "the least utility is at most an average of them; LIM Theorem 3.3.4 and duality over all patterns"
)
UNPROVED_BORDER = Template("BIN Theorem 2: best at every point for its boundary; the best boundary is not proved")
PROVED_BORDER = Template(
    "no private mechanism has a lower error probability than the bound: pairs across the border, or duality"
)
ONE_TIER = Template(
    "no private mechanism has a lower expected loss than the bound: the optimum for one tier, if all others are known"
)
WINDOW = Template("no private mechanism has a lower error probability than the bound: duality on a window")
NUMBER = {
    "geometric": Template("Ghosh, Roughgarden, Sundararajan 2012: optimal for every prior and every monotone loss"),
    "chains": CHAINS,
    "canonical": Template(
        "Awan, Vadhan 2023: no private noise on the integers costs less, where neighbours are one apart"
    ),
    "staircase": Template(
        "Geng, Viswanath 2016: no private noise on the integers costs less; by a dual flow in rationals"
    ),
    "flow": Template(
        "no private mechanism has a lower expected loss than the bound: a dual flow, checked in rationals"
    ),
    "pairs": Template(
        "no private mechanism has a lower expected loss than the bound: pairs of points around every threshold"
    ),
    "prices": Template("no private mechanism has a lower expected loss than the bound: linear programming duality"),
}
"""The reasons of optimality for a number on a line, by the kind of proof."""
UNBOUNDED = {
    "canonical": Template(
        "no private mechanism on the unbounded line has a lower worst-case expected loss, for any monotone loss: Awan "
        "and Vadhan 2023, extended from noise to all mechanisms by averaging over translations"
    ),
    "staircase": Template(
        "no private mechanism on the unbounded line has a lower worst-case expected loss: Geng and Viswanath 2016, "
        "extended from noise to all mechanisms by averaging over translations; dual certificate in exact rationals"
    ),
    "flow": Template(
        "no private mechanism on the unbounded line has a worst-case expected loss below the bound; dual certificate "
        "in exact rationals"
    ),
    "pairs": Template(
        "no private mechanism on the unbounded line has a worst-case expected loss below the bound: pairs of points "
        "around every threshold"
    ),
}
"""The reasons on the unbounded line, for the worst point: the loss of noise is the same everywhere."""
OPEN_ON_LINE = Template("whether a mechanism that is not noise does better on this line is open")
NOT_OF_MECHANISMS = (OPEN_ON_LINE, NUMBER["canonical"], NUMBER["staircase"])
"""The reasons that compare with noise alone, and need no scope."""
ALONE = Template(
    "no private mechanism has a lower expected loss than the bound, on one of the integers alone, with the whole level "
    "spent on it (the value is the same at every table; the bound holds on average over a line of tables, hence at the "
    "worst one)"
)
TOGETHER = Template(
    "no private mechanism has a lower expected loss than the bound, on average over all integers and tables: a flow "
    "between errors in a window, which is dual to all noise, taken to every mechanism on {text}"
)
SUMMED = Template(
    "no private mechanism whose answers add up to the number of rows has a lower expected loss than the bound, on "
    "average over all cells and tables: a flow between errors, dual to all noise, taken to every mechanism on {text}"
)
WITH_REST = Template(
    "no private mechanism has a lower expected loss than the bound, on average over all integers, the number of "
    "remaining rows, and tables: a flow between errors, dual to all noise, taken to every mechanism on {text}"
)
RANGE, LATTICE = "the range", "the unbounded lattice"
SUMMED_AWAY = Template(
    "no answer of a private mechanism that adds up to the number of rows, and is {distance} or more from the ends in "
    "every cell, has a lower expected loss than the bound, on average over the cells and the tables it may come from: "
    "a flow between errors"
)
WITH_REST_AWAY = Template(
    "no answer of a private mechanism that is {distance} or more from the ends in every integer, and in the number of "
    "remaining rows, has a lower expected loss than the bound, on average over all of these and the tables it may come "
    "from: a flow between errors"
)
NESTED = Template(
    "no private mechanism has a smaller mean absolute error of a count: a flow between the errors of all cells, dual "
    "to all noise"
)
FACTORISATION = Template(
    "no private mechanism has a smaller mean variance: the dual of the best factorisation, by averaging over shifts, "
    "and the least noise that hides one"
)
KEYS = Template(
    "Desfontaines, Voss, Gipson and Mandayam 2022: a key with n + 1 contributors is released with probability at most "
    "upper(p) if one with n is released with probability p, and one with none never"
)
KEYS_BOUND = Template(
    "no private mechanism releases a key with a higher probability than is possible if every privacy unit has one key "
    "at most and nothing else is released"
)
NO_BOUND = Template("no lower bound is known")
NOT_CLAIMED = Template("a mechanism of your own: its privacy is proved, nothing is claimed about its optimality")

CHOICE_BOUNDS = {
    "chains": "; chains of tallies between two winners bound every private choice (proof in docs/theory.md)",
    "triples": "; dual prices where three are close, and chains of tallies between two winners bound every private "
    "choice (proof in docs/theory.md)",
    "duality": "; linear programming duality over all private choices on the listed tallies",
    "": "",
}
"""The arguments that bound every private choice, by the kind of proof; none without a bound."""
COMPARED = {proof: Template(f"the least expected loss of {{names}}{bound}") for proof, bound in CHOICE_BOUNDS.items()}
UNCOMPARED = {proof: Template(f"no other mechanism was compared{bound}") for proof, bound in CHOICE_BOUNDS.items()}
"""The reasons of a choice: with which mechanisms it was compared, and what bounds all others."""
SOLVED_CHOICES = ("rainbow by winner", "linear program")
"""The choices for which tables must be solved: whether they were compared is the solver's account."""
CHOICES = (
    "geometric noisy max",
    "nearest",
    "three ranks",
    "permute and flip",
    "exponential mechanism",
    *SOLVED_CHOICES,
)
"""The mechanisms with which choices are compared, in the order of comparison."""

# ---- methods ----

BY_DISTANCE = Template("closed form in the distance to the boundary")
ONE_PASS, TWO_PASSES = Template("one shortest-path pass"), Template("two shortest-path passes")
RELAXATION = Template("relaxation with a level per edge")
IN_BALLS = Template("Dijkstra's algorithm in ball arithmetic")
CARRIED = (BY_DISTANCE, ONE_PASS, TWO_PASSES, RELAXATION, IN_BALLS)
ROUNDS = Template("linear program over all boundary values ({rounds}), then BIN Theorem 2 inside")
ORBIT = Template("the orbit of the level's upper function with this size")
HOMOGENEOUS = Template("linear program over homogeneous boundaries, then the closed form inside")
POSITIONS = Template("{whole} linear programs, one per position")
NEAREST = (
    Template("nearest"),
    Template("nearest, by one balanced binary mechanism an answer"),
    Template("linear program, since nearest is not private here"),
    Template("exponential on distances, since nearest is not private here"),
)
EQUATIONS = Template("the equations of tight constraints")
STRUCTURED = Template("the equations of tight constraints, by the structure of the space")
CHOSEN_TIGHT = Template("tight constraints, chosen because the prior is regular and the loss zero-one")
CHOSEN_GEOMETRIC = Template(
    "geometric noise with its best remap, chosen because this is a count and the loss grows with the distance"
)
CHOSEN_CHAIN = Template(
    "the best chain at every threshold, chosen because this is a count and the loss convex, least at the truth"
)
_SPARSE = "a sparse linear program over the edges"
_BY_SYMMETRY = ", with {whole} constraints for {whole}, since the others are alike by symmetry"
SPARSE = Template(_SPARSE)
VERTEX, INTERIOR = Template(f"{_SPARSE}, to a vertex"), Template(f"{_SPARSE}, by an interior point")
SYMMETRIC_VERTEX = Template(VERTEX.text + _BY_SYMMETRY)
SYMMETRIC_INTERIOR = Template(INTERIOR.text + _BY_SYMMETRY)
COLUMNS = Template("column generation ({whole} rounds), since there are {whole} results at pure levels")
PROGRAMS = (SPARSE, VERTEX, INTERIOR, SYMMETRIC_VERTEX, SYMMETRIC_INTERIOR, COLUMNS)
SORTED_BLOCKS = Template("letters sorted by P0/P1, {text} by Dinkelbach's iteration")
LIMITED_BLOCKS = Template("letters sorted by P0/P1, {text} by Dinkelbach's iteration, at most {whole} allowed")
TRIVIAL = Template("the same answer for every letter, or the letter itself")
CYCLIC = Template("cyclic sets of {whole} letters, for the prior is uniform")
ALL_PATTERNS = Template("all patterns, priced")
KNAPSACK = Template("columns priced by a knapsack")
INFORMATIVE = (TRIVIAL, CYCLIC, ALL_PATTERNS, KNAPSACK)
PATTERNS = Template("columns brought in from all {whole} patterns as their prices called for them")
ONE_PROGRAM = Template("one linear program over all {whole} patterns")
EXTREME_COLUMNS = Template("linear program over {whole} extreme columns")
BALANCED, BEST_BORDER = Template("balanced mechanism"), Template("mechanism with the best boundary")
NOISY_CDF = Template("a noisy CDF: {text}")
NOISE_ON_SUMS = Template("{text} noise on {text}")
CARRYING = Template("geometric noise on {text}, which carries")
FROM_FILE = Template("read from {file}")

# ---- notes ----

MOVED = Template("no probability was moved by more than {small} to make the solver's answer private")
SIGNS = Template("the signs could not all be proved: they are non-negative up to rounding")
WITHOUT_BOUNDARY = Template(
    "{text} neither a boundary nor a known point: the truth is the answer there with probability 1 ({whole} points)."
)
WITHOUT_RANKED_BOUNDARY = Template("{whole} points lie in parts without a boundary: their first preference is given.")
REGULAR_BOUND = Template("REG's bound for this prior is {twelve}")
AVERAGED = Template("the value is {text}")
CUT_OFF = Template("the noise is too wide for a table of best guesses: what lies beyond an end becomes that end")
LEFT_OUT = Template("tier {whole} is left out: its middle stands for its count")


def compared(names: tuple[str, ...], proof: str) -> Phrase:
    """The reason of a choice: with which mechanisms it was compared, and what bounds all others.

    Parameters
    ----------
    names : tuple of str
        The mechanisms compared, itself among them.
    proof : str
        The kind of the proof, one of `CHOICE_BOUNDS`.
    """
    return COMPARED[proof](names) if len(names) > 1 else UNCOMPARED[proof]()


def proof_of_choice(claim: str, evidence: Mapping[str, Any]) -> str:
    """The kind of the proof that bounds every private choice, by the claim and the evidence."""
    if claim == "unproved":
        return ""
    return "triples" if "sides" in evidence else "duality" if evidence else "chains"
