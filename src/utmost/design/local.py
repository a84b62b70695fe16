"""Local privacy: every person randomises an answer before anyone sees it (LIM chapter 3), and the optimal survey.

`for_testing` and `for_information` compute the best mechanism for hypothesis testing and for mutual information;
`linear_program` takes any sublinear utility of few letters; `survey` collects answers and estimates frequencies. The
simple mechanisms are here, too, with the ranges of epsilon in which each is optimal and the cost of privacy in people.
"""

from utmost.theory.local.design.converse import (
    Price,
    divergence_at_high_privacy,
    divergence_at_low_privacy,
    information_at_high_privacy,
    information_at_low_privacy,
    price_in_people,
    total_variation_limit,
)
from utmost.theory.local.design.dual_prices import (
    DualPrices,
    dual_for_divergence,
    dual_for_information,
    dual_for_total_variation,
    staircase_patterns,
)
from utmost.theory.local.design.estimation import Estimate
from utmost.theory.local.design.information import for_information, information
from utmost.theory.local.design.pattern_program import linear_program
from utmost.theory.local.design.records import for_hypotheses, for_records
from utmost.theory.local.design.responses import Responses
from utmost.theory.local.design.shuffle import Shuffled, shuffled
from utmost.theory.local.design.simple import (
    binary,
    binary_for_information,
    geometric,
    quaternary,
    randomized_response,
    subset,
)
from utmost.theory.local.design.simple_ranges import (
    Thresholds,
    thresholds_for_information,
    thresholds_for_testing,
    universal_epsilon,
)
from utmost.theory.local.design.survey import Survey, survey
from utmost.theory.local.design.testing import divergence_of, for_testing, for_worst_testing
from utmost.theory.local.design.two_hypotheses import Decision, NeymanPearson, decide, neyman_pearson, people_needed

__all__ = [
    "Decision",
    "DualPrices",
    "Estimate",
    "NeymanPearson",
    "Price",
    "Responses",
    "Shuffled",
    "Survey",
    "Thresholds",
    "binary",
    "binary_for_information",
    "decide",
    "divergence_at_high_privacy",
    "divergence_at_low_privacy",
    "divergence_of",
    "dual_for_divergence",
    "dual_for_information",
    "dual_for_total_variation",
    "for_hypotheses",
    "for_information",
    "for_records",
    "for_testing",
    "for_worst_testing",
    "geometric",
    "information",
    "information_at_high_privacy",
    "information_at_low_privacy",
    "linear_program",
    "neyman_pearson",
    "people_needed",
    "price_in_people",
    "quaternary",
    "randomized_response",
    "shuffled",
    "staircase_patterns",
    "subset",
    "survey",
    "thresholds_for_information",
    "thresholds_for_testing",
    "total_variation_limit",
    "universal_epsilon",
]
