"""Formulas of the documentation: exponents are raised and indices lowered, and code and names stay as they are."""

import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).parent.parent / "tools" / "formulas.py"
spec = importlib.util.spec_from_file_location("formulas", FILE)
formulas = importlib.util.module_from_spec(spec)
spec.loader.exec_module(formulas)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("(e^ε + δ)/(e^ε + 1)", "(e<sup>ε</sup> + δ)/(e<sup>ε</sup> + 1)"),
        ("e^{−ε d(i,k)}", "e<sup>−ε d(i,k)</sup>"),
        ("e^(-2 eps/3)/2^(1/3)", "e<sup>-2 eps/3</sup>/2<sup>1/3</sup>"),
        ("e^{ε_i}", "e<sup>ε<sub>i</sub></sup>"),
        ("2^−1022", "2<sup>−1022</sup>"),
        ("Σ_{j≠f(x)} E^{−d_j(x)}", "Σ<sub>j≠f(x)</sub> E<sup>−d<sub>j</sub>(x)</sup>"),
        ("max_k X_ik", "max<sub>k</sub> X<sub>ik</sub>"),
        ("Pr_θ₀", "Pr<sub>θ₀</sub>"),
    ],
)
def test_exponents_and_indices(written, shown):
    assert formulas.typeset(written) == shown


@pytest.mark.parametrize("name", ["read_lists", "best_yes_or_no", "row_at", "tests/test_house.py", "TRY_CAST", "a ^ b"])
def test_names_stay(name):
    assert formulas.typeset(name) == name


def test_code_and_headings_stay():
    page = '<h4 id="a_b">x_i</h4><p>2^k <code>2^k</code> <a href="x_i">P_j</a></p><pre>e^x</pre>'
    found = formulas.on_page_content(page, page=None)
    assert found == (
        '<h4 id="a_b">x_i</h4><p>2<sup>k</sup> <code>2^k</code> <a href="x_i">P<sub>j</sub></a></p><pre>e^x</pre>'
    )
