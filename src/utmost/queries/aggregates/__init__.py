"""Aggregates: what is computed from the rows of a group (count, sum, mean, ...), one file each.

An aggregate defines what a row contributes, the sensitivity of the released integers, the estimate from them with its
interval, and the words for all of it. It then works with every grouping: the whole table, public keys, and keys found
privately (`questions/aggregates.py`).
"""

from utmost.queries.aggregates.aggregate import Aggregate
from utmost.queries.aggregates.clamped import Clamped
from utmost.queries.aggregates.count import Count
from utmost.queries.aggregates.covariance import Covariance
from utmost.queries.aggregates.left_out import LeftOut
from utmost.queries.aggregates.mean import Mean
from utmost.queries.aggregates.sum import Sum
from utmost.queries.aggregates.variance import Variance

__all__ = ["AGGREGATES", "Aggregate", "Clamped", "Count", "Covariance", "LeftOut", "Mean", "Sum", "Variance"]

AGGREGATES: dict[str, type[Aggregate]] = {
    aggregate.name: aggregate for aggregate in (Count, Sum, Mean, Variance, Covariance, Clamped, LeftOut)
}
"""Every aggregate by its name."""
