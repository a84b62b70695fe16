"""Aggregates: what is computed of the rows of a group, one file each.

An aggregate says what a row contributes, how sensitive the released integers are to one row, what is wanted of them,
how they become an estimate with its interval, and how all of that is described. It then works with every grouping: of
the whole table, by public keys, and by keys found privately (`questions/aggregates.py`).
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
