"""Solution = problem + mechanism + value + certificate, and its verification.

Every design returns one. `verify()` re-proves it from the problem and the mechanism alone: privacy on every edge,
optimality by the conditions of its theorem or by a bound recomputed from dual prices. `save` writes one canonical JSON
file (same solution, same bytes) with a checksum; `Solution.load` reads it back.
"""

from __future__ import annotations

import html
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, cast

import numpy as np

from utmost.errors import CannotCertify, InvalidInput, UtmostError
from utmost.exact.saved import NONSENSE, read_checked, write_checked
from utmost.mechanism import Rows
from utmost.mechanism.certification import (
    MOST_MOVED,
    CertifiedMechanism,
    CertifiedRecipe,
    Check,
    certify_on,
    moved_by,
    require_private,
)
from utmost.mechanism.decaying_columns import REASON, DecayingMechanism
from utmost.mechanism.exact_law import ExactMechanism
from utmost.mechanism.rounding import Weights
from utmost.mechanism.violations import promise_excess
from utmost.solution.binding import Binding, find_binding
from utmost.solution.card import card
from utmost.solution.sentences import SKETCH, differing, forms_of
from utmost.space import Space
from utmost.space.edge_levels import EdgeLevels
from utmost.theory.verifiers import BOUNDED, CHECKERS, ON_GRAPHS, bound_of, checker_of

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    AnyMechanism = TypeVar("AnyMechanism", covariant=True, default=Any)  # Solution alone is Solution[Any]
else:
    from typing import TypeVar

    AnyMechanism = TypeVar("AnyMechanism", covariant=True)

FORMAT, VERSION = "utmost-solution", 1
CLAIMS = ("theorem", "bound", "unproved")
MOST_CHECKED = 10_000
"""The largest epsilon, mu or rho at which mechanisms on integers are checked."""
SMALL_GAP = 1e-6
"""The largest gap, relative to the value, at which a solution is called optimal."""
USEFUL = 10
"""The largest ratio of value to bound at which the bound is shown to people."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A problem: a kind of question on a space, at privacy levels, with its parameters as plain arrays."""

    question: str
    space: Any
    """A `Space`, or the space of integers of a statistic: a `Line`, a `Lattice` or `Tallies`."""
    privacy: Any
    """`EdgeLevels` on a `Space`; one `Level` on integers."""
    data: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"{self.question} on {self.space!r} at {self.privacy}"


@dataclass(frozen=True, eq=False)
class Certificate:
    """The claim of optimality, with its evidence.

    Attributes
    ----------
    claim : "theorem", "bound" or "unproved"
        The kind of claim.
    reason : str
        The theorem with its paper, or the argument of the bound.
    quantity : str
        The quantity and unit of `value`.
    method : str
        How the mechanism was computed.
    bound, gap : float, optional
        The bound on every private mechanism, and the distance of the value from it.
    evidence : mapping
        Arrays that a checker needs, such as dual prices.
    notes : tuple of str
        Remarks for a careful reader.
    """

    claim: Literal["theorem", "bound", "unproved"]
    reason: str
    quantity: str
    method: str
    bound: float | None = None
    gap: float | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def proved_bound(problem: Problem, evidence: Mapping[str, Any]) -> float:
    """The bound on every private mechanism (upper, or lower for a loss), from evidence by the verifier's arithmetic.

    A solver provides evidence, such as dual prices, and states the bound that the verifier computes from it. So there
    is one rigorous computation of every bound, including its rounding, independent of how the evidence was found.

    Examples
    --------
    >>> import utmost as um
    >>> best = um.local.for_information([0.5, 0.3, 0.2], 1.0)
    >>> proved_bound(best.problem, best.certificate.evidence) == best.certificate.bound
    True
    >>> bool(proved_bound(best.problem, {"prices": best.certificate.evidence["prices"] * 2}) > best.certificate.bound)
    True
    """
    return bound_of(problem.question)(problem, evidence)


def certificate_of(
    problem: Problem,
    mechanism: Any,
    claim: Literal["theorem", "bound", "unproved"],
    bound: float | None = None,
    gap: float | None = None,
    evidence: Mapping[str, Any] | None = None,
    reason: str | None = None,
    method: str | None = None,
    notes: tuple[str, ...] | None = None,
) -> Certificate:
    """The certificate of a claim, in the words that verification derives from the same problem, mechanism and evidence.

    Parameters
    ----------
    problem : Problem
        The problem.
    mechanism : FiniteMechanism, DecayingMechanism or ExactMechanism
        Its mechanism.
    claim : "theorem", "bound" or "unproved"
        The kind of claim.
    bound, gap : float, optional
        The bound, and the distance of the value from it.
    evidence : mapping, optional
        Arrays that a checker needs.
    reason, method : str, optional
        The solver's account, where `sentences` has several forms or leaves places for its figures.
    notes : tuple of str, optional
        The same for notes.
    """
    evidence_or_none = {} if evidence is None else evidence
    forms = forms_of(problem, mechanism, claim, evidence_or_none)
    return Certificate(
        claim,
        forms.reason[0] if reason is None else reason,
        forms.quantity,
        forms.method[0] if method is None else method,
        bound,
        gap,
        evidence_or_none,
        forms.notes[0] if notes is None else notes,
    )


def sketched(problem: Problem, mechanism: Any, value: float) -> Solution:
    """A solution without a proof, for a search over many levels: nothing is released from it."""
    return Solution(problem, mechanism, value, Certificate("unproved", SKETCH, "", ""))


def gap_in_words(gap: float, ratio: float | None) -> str:
    """A gap in words; for errors in some unit, which may be very small or large, as a share of the bound.

    Examples
    --------
    >>> gap_in_words(3.6e-06, None), gap_in_words(3.4e10, 1.035), gap_in_words(0.0, 1.0), gap_in_words(2.4e12, 8e5)
    ('3.6e-06', '3.5 % of the bound', '0', 'unknown: no useful bound')
    """
    if ratio is None or gap == 0:
        return f"{gap:.2g}"
    percent = 100 * (ratio - 1)
    return (
        "unknown: no useful bound"
        if ratio > USEFUL
        else f"{percent:{'.2g' if percent < 99.5 else '.0f'}} % of the bound"
    )


@dataclass(frozen=True)
class Verification:
    """The outcome of a verification; true if the mechanism is private and its claim of optimality holds.

    Attributes
    ----------
    private : bool
        Whether privacy holds on every edge.
    optimal : "theorem", "bound" or "unproved"
        What is proved about optimality.
    gap : float
        Upper bound on the distance of the value from the optimum.
    checks : tuple of Check
        All checks, each with its outcome in words.
    relies_on : str
        The theorem or argument that makes the checks a proof, in the checker's own words.
    ratio : float, optional
        For errors in some unit, the value divided by the bound; None for probabilities, and without a bound.
    """

    private: bool
    optimal: Literal["theorem", "bound", "unproved"]
    gap: float
    checks: tuple[Check, ...]
    relies_on: str = ""
    ratio: float | None = None

    def __bool__(self) -> bool:
        return self.private and all(check.passed for check in self.checks)

    def __str__(self) -> str:
        gap = f", gap {gap_in_words(self.gap, self.ratio)}" if math.isfinite(self.gap) else ""
        proved = f"{'private' if self.private else 'NOT private'}, optimality: {self.optimal}{gap}"
        failed = ", ".join(check.name for check in self.checks if not check.passed) or "privacy"
        lines = [f"verified: {proved}" if self else f"NOT verified: this check failed: {failed}"]
        lines = lines if self or self.private else [*lines, "  it is NOT proved private"]
        lines += [f"  {check}" for check in self.checks]
        return "\n".join([*lines, f"  relies on: {self.relies_on}"] if self and self.relies_on else lines)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


@dataclass(frozen=True, eq=False)
class Solution(Generic[AnyMechanism]):
    """The best mechanism for a problem, its value, and its certificate.

    `Solution[FiniteMechanism]` says which mechanism it has.

    Examples
    --------
    >>> import utmost as um
    >>> solution = um.binary.balanced(um.counts(5), lambda yes: yes > 2, 1.0)
    >>> bool(solution.verify())
    True
    """

    problem: Problem
    mechanism: AnyMechanism
    """A `FiniteMechanism` or `DecayingMechanism`, certified in integers, or an `ExactMechanism` with an exact law."""
    value: float
    certificate: Certificate
    weights: tuple[Weights, int] | None = None
    """Integer weights and the bits of their total, from a file; otherwise `certified` computes them."""
    from_file: bool = False
    """Whether it was read from a file: then the words of its certificate are the file's own and unchecked."""

    @cached_property
    def certified(self) -> CertifiedMechanism | CertifiedRecipe:
        """The mechanism as integer weights, proved private in exact arithmetic; `CannotCertify` if that fails."""
        mechanism: Any = self.mechanism
        if isinstance(mechanism, DecayingMechanism):
            return CertifiedRecipe(mechanism, self.problem.privacy)
        if self.weights is None:
            return certify_on(mechanism, self.problem.privacy)
        weights, bits = self.weights
        change = moved_by(weights, bits, mechanism.matrix)
        if change > MOST_MOVED:
            raise CannotCertify(f"the integers differ from the design by {change:.2g}: they do not certify it.")
        return CertifiedMechanism(weights, bits, mechanism.outputs, self.problem.privacy, change)

    def sample(self, point: Any) -> Any:
        """One exact draw at a private point: from the exact law, or from the certified integers."""
        mechanism: Any = self.mechanism
        return mechanism.sample(point) if isinstance(mechanism, ExactMechanism) else self.certified.sample(point)

    def binding(self, point: Any) -> Binding | None:
        """The binding constraint at a point of `binary.extend` or `balanced`: a known point, and the path from it.

        A private mechanism cannot tell the truth more often at `point` than the values known elsewhere allow. The
        result names the known point whose limit is attained, the path that carries it, the limit at each step of the
        path, and the number of steps in which it grows before it saturates. None if there is no constraint: then the
        truth has probability 1.

        Parameters
        ----------
        point : hashable
            A point of the space.

        Examples
        --------
        BIN Example 3: v2 is not limited by v1, its neighbour, but by v4, two steps away.

        >>> import utmost as um
        >>> graph = um.Space.from_edges([("v1", "v2"), ("v2", "v3"), ("v3", "v4")])
        >>> colour = {"v1": "red", "v2": "blue", "v3": "blue", "v4": "red"}
        >>> level = um.PureDP.from_ratio(2)
        >>> best = um.binary.extend(graph, colour, {"v1": 0.3, "v4": 0.1}, level, outputs=("red", "blue"))
        >>> print(best.binding("v2"))
        Pr[blue] at 'v2' is at most 0.4, carried from 'v4': 'v4' (0.1) -> 'v3' (0.2) -> 'v2' (0.4); it grows for 2 of 2
        steps
        >>> majority = um.binary.balanced(um.counts(9), lambda yes: yes > 4, level).binding(7)
        >>> majority.path, majority.tau
        ((5, 6, 7), 0)
        """
        problem, mechanism = self.problem, cast(Any, self.mechanism)
        if not isinstance(problem.space, Space):
            raise InvalidInput(f"{problem.question} is not a yes/no question: no known point limits its values.")
        end = problem.space.index(point)
        return find_binding(problem.question, problem.data, problem.privacy, mechanism.matrix, end)

    def verify(self) -> Verification:
        """Re-prove privacy and optimality from the problem and the mechanism alone; never raises for "no"."""
        problem, claim = self.problem, self.certificate.claim
        privacy, value_loss = self._check_privacy()
        expected, checker = CHECKERS[problem.question][0], checker_of(problem.question)
        try:
            if problem.question in ON_GRAPHS:
                self._require_graph()
            optimality, gap = checker(problem, self)
        except UtmostError as reason:  # any other error would be a bug of ours, not a defect of the file
            optimality, gap = (Check("optimality", False, f"the evidence cannot be used: {reason}"),), float("inf")
        except (ArithmeticError, MemoryError) as reason:
            if not self.from_file:
                raise
            detail = f"a number of the file is too large, or too small, to be checked ({type(reason).__name__})"
            optimality, gap = (Check("optimality", False, detail),), float("inf")
        expected = claim if expected == "as stated" else expected  # the checker depends on the claim
        unchecked = expected == "theorem" and problem.question not in BOUNDED and self.certificate.bound is not None
        if claim != expected or claim not in CLAIMS or unchecked:
            optimality += (Check("claim", False, f"it claims {claim!r}, which its kind of certificate does not prove"),)
        optimality += self._check_gap()
        if privacy.passed and all(check.passed for check in optimality):  # words follow from passed checks only
            optimality += self._check_words()
        passed = all(check.passed for check in optimality)
        proved: Any = expected if passed else "unproved"
        relies_on = (checker.__doc__ or "").partition("\n")[0]
        ratio = self._times(self.value - gap) if proved == "bound" and math.isfinite(gap) else None
        return Verification(privacy.passed, proved, gap + value_loss, (privacy, *optimality), relies_on, ratio)

    def _require_graph(self) -> None:
        """Refuse a problem or mechanism of the wrong kind for a question on a graph, before it is checked."""
        problem, mechanism = self.problem, self.mechanism
        graph = isinstance(problem.space, Space) and isinstance(problem.privacy, EdgeLevels)
        if not graph or not isinstance(mechanism, Rows) or len(mechanism.points) != len(problem.space.points):
            raise InvalidInput(f"{self.problem.question} is about the points of a graph, and a mechanism on them.")

    def _is_closed(self) -> bool:
        """Whether the value is optimal up to a negligible gap."""
        c = self.certificate
        return c.bound is None or (c.gap or 0.0) <= max(SMALL_GAP * abs(self.value), 1e-12)

    def _times(self, bound: float) -> float | None:
        """The ratio of the value to a lower bound, for errors in some unit; None for others."""
        if not self.problem.question.startswith(("number.", "workload.")):
            return None
        return self.value / bound if bound > 0 else math.inf

    def _check_gap(self) -> tuple[Check, ...]:
        """Check that the stated bound and gap are consistent with the value."""
        c = self.certificate
        if c.bound is None:
            return ()
        distance = abs(self.value - c.bound)
        is_consistent = c.gap is not None and abs(c.gap - distance) <= 1e-9 * max(1.0, abs(self.value))
        return (
            ()
            if is_consistent
            else (Check("gap", False, f"it states a gap of {c.gap}; value and bound are {distance:.6g} apart"),)
        )

    def _check_words(self) -> tuple[Check, ...]:
        """Check that the words of the certificate follow from what was verified; a file may hold any."""
        c = self.certificate
        if (c.claim, c.reason, c.quantity, c.method, c.notes) == ("unproved", SKETCH, "", "", ()):
            return ()
        try:
            wrong = differing(c, forms_of(self.problem, self.mechanism, c.claim, c.evidence))
        except NONSENSE as reason:
            return (Check("words", False, f"no words follow from what is certified ({type(reason).__name__})"),)
        detail = f"{', '.join(wrong)}: not the words that follow from what was verified"
        return (Check("words", False, detail),) if wrong else ()

    def _check_privacy(self) -> tuple[Check, float]:
        """Check privacy in exact arithmetic; also the largest effect of the integers on the value."""
        levels, mechanism = self.problem.privacy, cast(Any, self.mechanism)
        if isinstance(mechanism, ExactMechanism):
            return mechanism.prove(self.problem.space, levels), 0.0
        if not all(level.certifiable for level in levels.kinds()):
            a, b = levels.space.edge_indices.T
            matrix = mechanism.matrix
            worst = max(promise_excess(matrix[i], matrix[j], levels).max(initial=0.0) for i, j in ((a, b), (b, a)))
            detail = f"{levels}: kept on all {len(levels)} edges in floating point only (for study, not for release)"
            return Check("privacy", bool(worst < 1e-9), detail), 0.0
        try:
            if isinstance(mechanism, DecayingMechanism):
                change = self.certified.moved
                detail = f"{levels} by Lemma 2 of docs/certification.md, no event moved by more than {change:.1g}"
                return Check("privacy", True, f"{detail}; {REASON}"), change
            sums = mechanism.matrix.sum(axis=1)
            if np.abs(sums - 1).max(initial=0.0) > 1e-12:
                return Check("privacy", False, "a row of the design does not add up to 1"), 0.0
            require_private(mechanism, levels)
            certified = self.certified
        except UtmostError as reason:
            return Check("privacy", False, str(reason)), 0.0
        edges = "the one edge" if len(levels) == 1 else f"all {len(levels)} edges"
        detail = (
            f"{levels} proved in exact arithmetic on {edges} "
            f"(integers over 2^{certified.bits}, no event moved by more than {certified.moved:.1g})"
        )
        return Check("privacy", True, detail), certified.moved

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the solution as one JSON file, atomically."""
        from utmost.solution.solution_file import solution_to_json

        return write_checked(path, solution_to_json(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Solution:
        """Read a solution written by `save`; `BadFile` if it was changed, truncated or is of another version."""
        from utmost.solution.solution_file import solution_from_json

        return solution_from_json(read_checked(path, FORMAT, VERSION, "solution"))

    def __str__(self) -> str:
        c = self.certificate
        bound = []
        if c.bound is not None:
            verb = (
                "loses less than"
                if self.problem.question.startswith(("finite.", "choice.", "number.", "keys."))
                else "exceeds"
            )
            gap = gap_in_words(c.gap or 0.0, self._times(c.bound))
            bound = [f"  bound: no private mechanism {verb} {c.bound + 0.0:.10g} (gap {gap})"]
        if self.from_file:  # the words are quoted, so that none of them reads like a line of ours
            words = {"the value is": c.quantity, "optimal": c.reason, "found by": c.method}
            quoted_lines = [f"    {name}: {text!r}" for name, text in words.items()] + [
                f"    note: {note!r}" for note in c.notes
            ]
            head = [f"{self.problem}", f"  value: {self.value:.10g}"]
            return "\n".join([*head, *bound, "  in the file's own words, which nobody checked:", *quoted_lines])
        lines = [
            f"{self.problem}",
            f"  value: {self.value:.10g} ({c.quantity})",
            f"  {'optimal' if self._is_closed() else 'best found'}: {c.reason}",
            f"  found by: {c.method}",
        ]
        return "\n".join(lines + bound + [f"  note: {note}" for note in c.notes])

    def __repr__(self) -> str:
        return f"Solution({self.problem!r}, value={self.value:.6g}, {self.certificate.claim})"

    def _repr_html_(self) -> str:
        return card(str(self), getattr(self.mechanism, "_repr_html_", lambda: "")())
