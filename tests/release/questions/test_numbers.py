"""Numbers: what an unbiased answer is compared with."""

import math

import pyarrow
import pytest

import utmost as um


@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
def test_an_unbiased_count_is_compared_with_noise_that_is_not_cut_off(epsilon):
    """On a short range the ends matter: cut off there, geometric noise would seem better than the same noise."""
    session = um.Session(pyarrow.table({"age": [1]}), "few", um.rows(at_most=5), "add-remove", budget=1)
    plan = session.plan.count(None, epsilon, unbiased=True)
    by = plan.details["compared"]
    assert by["geometric"]["absolute"] == pytest.approx(
        1 / math.sinh(epsilon), rel=1e-9
    )  # 2b/(1 - b^2), b = e^-epsilon
    assert by["Utmost"]["absolute"] == pytest.approx(by["geometric"]["absolute"], rel=1e-9)
