"""Solutions are saved without loss, and what is wrong with one is found: by its checksum, or by the proof."""

import hashlib
import json
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from flint import arb, ctx

import utmost as um
from utmost.errors import BadFile, CannotCertify, InvalidInput
from utmost.exact import as_fmpq
from utmost.exact.saved import canonical
from utmost.solution import Solution
from utmost.solution.solution import MOST_CHECKED
from utmost.solution.solution_file import _within_reason
from utmost.space.edge_levels import on_edges
from utmost.theory.binary.verify import dual_bound
from utmost.theory.verify_dual_bounds import mechanism_bound
from utmost.theory.verify_evidence import check_bound

PATH = um.Space.from_edges([("a", "b"), ("b", "c"), ("c", (1, "d"))])


def solutions():
    """One of each kind: labels of all sorts, levels of all sorts."""
    levels = {("a", "b"): um.GaussianDP(1), ("b", "c"): um.ApproxDP.from_ratio("5/2", "1/7"), ("c", (1, "d")): 0.5}
    yield um.binary.extend(
        PATH, [False, True, True, True], {"a": Fraction(1, 3), (1, "d"): 0.6}, um.per_edge(PATH, levels)
    )
    yield um.binary.balanced(um.counts(9), lambda yes: yes > 4, 1.0)
    space = um.grid((2, 3))
    yield um.binary.balanced(space, lambda p: p[1] > 0, um.per_edge(space, epsilon=np.linspace(0, 2, 11)))
    yield um.binary.best_boundary(
        um.hamming(2, "xy"), lambda v: v == ("x", "y"), um.ApproxDP(1, 0.01), criterion="worst"
    )
    yield um.binary.best_boundary(um.counts(4), lambda yes: yes > 1, um.SuitablePair([(0, 0.1), ("9/10", 1), (1, 1)]))


@pytest.mark.parametrize("number", range(5))
def test_save_and_load_lose_nothing(number, tmp_path):
    """A loaded solution has the same mechanism, value and proof, and is saved to the same bytes."""
    solution = list(solutions())[number]
    first = solution.save(tmp_path / "first.json")
    again = Solution.load(first)
    assert again.mechanism == solution.mechanism
    assert again.value == solution.value
    assert again.problem.space == solution.problem.space
    assert str(again.verify()) == str(solution.verify())
    assert again.verify()
    assert again.save(tmp_path / "second.json").read_bytes() == first.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["first.json", "second.json"]


def forge(path, change):
    """Change a saved file and recompute its checksum, as someone who wants to deceive would."""
    content = json.loads(path.read_bytes())
    content.pop("sha256")
    change(content)
    content["sha256"] = hashlib.sha256(canonical(content)).hexdigest()
    path.write_bytes(canonical(content))
    return Solution.load(path)


def set_entry(row, probability):
    def change(content):
        content["mechanism"]["matrix"][row] = [1 - probability, probability]

    return change


@pytest.mark.parametrize(
    ("change", "failing"),
    [
        (set_entry(9, 0.99999), "privacy"),
        (set_entry(7, 0.9), "free values"),
        (set_entry(5, 0.6), "free values"),
        (lambda content: content.update(value=0.99), "value"),
        (lambda content: content["certificate"].update(bound=0.999), "claim"),
        (lambda content: content["certificate"].update(bound=content["value"], gap=0.01), "gap"),
        (lambda content: content["problem"]["data"]["truth"].update(array=[0] * 3 + [1] * 7), "free values"),
    ],
)
def test_the_proof_catches_a_forged_file(change, failing, tmp_path):
    """With its checksum recomputed, a file that claims too much fails the check that it breaks."""
    path = um.binary.balanced(um.counts(9), lambda yes: yes > 4, 1.0).save(tmp_path / "s.json")
    verification = forge(path, change).verify()
    assert not verification
    assert failing in {check.name for check in verification.checks if not check.passed}


def test_a_bound_cannot_be_forged(tmp_path):
    """Whatever dual prices and slopes a file holds, the bound recomputed from them is never below the best value."""
    for level in (um.ApproxDP(1, 0.01), um.GaussianDP(1)):
        honest = um.binary.best_boundary(um.counts(5), lambda yes: yes > 2, level)
        problem, evidence = honest.problem, dict(honest.certificate.evidence)
        rng = np.random.default_rng(0)
        bounds = []
        for _ in range(200):
            spread = rng.uniform(0, 0.3)
            duals = evidence["duals"] * np.exp(spread * rng.normal(size=len(evidence["duals"])))
            slopes = evidence["slopes"] * np.exp(spread * rng.normal(size=len(duals)))
            forged = {**evidence, "duals": duals, "slopes": slopes}
            bounds.append(dual_bound(problem.privacy, problem.data["truth"], problem.data["prior"], forged))
        assert min(bounds) >= honest.value
        assert min(bounds) < honest.value + 0.05  # some come close: the bound is not merely vacuous


def test_a_better_bound_cannot_be_claimed(tmp_path):
    """A file that states a bound other than the one its evidence gives is not verified."""
    path = um.binary.best_boundary(um.counts(5), lambda yes: yes > 2, 1.0).save(tmp_path / "s.json")
    assert Solution.load(path).verify()
    assert not forge(path, lambda content: content["certificate"].update(bound=0.5)).verify()


@pytest.mark.parametrize("factor", [0.9, 0.999, 1.001, 1.1])
def test_a_bound_is_the_one_that_the_evidence_gives(factor, tmp_path):
    """A stated bound that is off, with a gap that fits it, is not verified: neither too good nor too bad a one."""
    rankings = lambda i: ("a", "b") if i < 3 else ("b", "a")  # noqa: E731
    for number, solution in enumerate(
        (
            um.binary.best_boundary(um.counts(5), lambda yes: yes > 2, 1.0),
            um.rainbow.best_boundary(um.path(6), rankings, 1.0),
            um.finite.optimal(um.cycle(5), 1.0, [0.4, 0.3, 0.1, 0.1, 0.1], method="linear-program"),
        )
    ):

        def restate(content):
            bound = content["certificate"]["bound"] * factor
            content["certificate"].update(bound=bound, gap=abs(bound - content["value"]))

        path = solution.save(tmp_path / f"{number}.json")
        assert Solution.load(path).verify()
        verification = forge(path, restate).verify()
        assert [check.name for check in verification.checks if not check.passed] == ["bound"]


def test_a_verification_states_the_gap_it_found():
    """What is left between value and bound, whichever of them is the larger, and what the integers move."""
    for solution in (
        um.binary.best_boundary(um.counts(5), lambda yes: yes > 2, 1.0),
        um.finite.optimal(um.cycle(5), 1.0, [0.4, 0.3, 0.1, 0.1, 0.1], method="linear-program"),
    ):
        apart = abs(solution.value - solution.certificate.bound)
        assert apart <= solution.verify().gap <= apart + 2 * solution.certified.moved + 1e-12


def test_nothing_at_all_is_verified():
    """A space without points: no probability to be wrong about."""
    nowhere = um.Space.from_edges([], points=[])
    assert um.finite.tight_constraints(nowhere, 1.0).verify()
    assert um.binary.balanced(nowhere, [], 1.0).verify()


def test_a_value_above_its_bound_is_no_proof():
    """A bound below the value, or an infinite one, proves nothing, whatever the certificate states."""
    for bound, value, stated, fine in (
        (0.8, 0.7, 0.8, True),
        (0.8, 0.8, 0.8, True),
        (0.7, 0.7 + 1e-15, 0.7, False),
        (0.7, 0.8, 0.7, False),
        (np.inf, 0.7, np.inf, False),
        (0.8, 0.7, None, False),
        (0.8, 0.7, 0.8 + 1e-8, False),
    ):
        solved = SimpleNamespace(certificate=SimpleNamespace(bound=stated))
        assert check_bound(solved, value, bound, "").passed is fine


@pytest.mark.parametrize("delta", ["0", "1/8"])
@pytest.mark.parametrize("ratio", ["3", "3/2"])
def test_bounds_count_their_own_rounding(ratio, delta):
    """Whatever the prices, the bound in floats is at least the sum that it stands for, in rationals."""
    edges = [(i, i + 1) for i in range(39)] + [(0, i) for i in range(2, 40, 3)]
    space = um.Space.from_edges(edges, points=range(40))
    levels = on_edges(space, um.ApproxDP.from_ratio(ratio, delta))
    growth, share, k = Fraction(ratio), Fraction(delta), 3
    nearest = []
    for seed in range(40):  # with few prices, or small ones, only the sums are rounded
        rng = np.random.default_rng(seed)
        size = (0.0, 1e-12, 1e-3, 1.0)[seed % 4]
        gains, duals = rng.normal(size=(40, k)), size * np.maximum(rng.normal(size=(2, len(space.edges), k)), 0)
        left = [[Fraction(x) for x in row] for row in gains.tolist()]
        total = Fraction(0)
        for e, (a, b) in enumerate(space.edge_indices.tolist()):
            for tail, head, w in ((a, b, duals[0, e]), (b, a, duals[1, e])):
                prices = [Fraction(x) for x in w.tolist()]
                for o, price in enumerate(prices):
                    left[tail][o] -= price
                    left[head][o] += growth * price
                total += share * max(prices)
        total += sum(max(row) for row in left)
        found = mechanism_bound(levels, gains, duals)
        assert Fraction(found) >= total
        nearest.append(float(Fraction(found) - total))
    assert max(nearest) < 1e-10  # and no more than rounding above it


@pytest.mark.parametrize("epsilon", ["1/2", "5", "40", "600"])
def test_binary_bounds_count_their_own_rounding(epsilon):
    """Whatever prices and slopes, at large epsilon too: the bound is at least its sum in a thousand bits."""
    space, level = um.Space.from_edges([(0, 1), (1, 2), (0, 2), (2, 3)], points=range(4)), um.PureDP(epsilon)
    levels, truth = on_edges(space, level), np.array([0, 1, 1, 0])
    for seed in range(100):
        rng = np.random.default_rng(seed)
        edges, forward = rng.integers(0, 4, 6), rng.random(6) < 0.5
        slopes = np.exp(level.log_growth * rng.choice([-1, -0.5, 0.5, 1], 6)) * rng.choice([1, 1, 0.9], 6)
        duals = np.maximum(rng.normal(size=6), 0) / np.maximum(slopes, 1)
        weights = rng.dirichlet(np.ones(4))
        found = dual_bound(
            levels, truth, weights, {"edges": edges, "forward": forward, "slopes": slopes, "duals": duals}
        )
        with ctx.workprec(1000):
            growth = arb(as_fmpq(level.exponent)).exp()
            left = [arb(w if t else -w) for w, t in zip(weights.tolist(), truth.tolist(), strict=True)]
            total = sum((arb(w) for w, t in zip(weights.tolist(), truth.tolist(), strict=True) if not t), arb(0))
            for e, ahead, slope, dual in zip(
                edges.tolist(), forward.tolist(), slopes.tolist(), duals.tolist(), strict=True
            ):
                tail, head = space.edge_indices[e].tolist()[:: 1 if ahead else -1]
                corner = 1 / (1 + growth)  # `upper` rises from 0 to (corner, 1 - corner) to (1, 1)
                total += dual * max(arb(0), 1 - corner - slope * corner, arb(1) - slope, key=lambda x: float(x.mid()))
                left[tail] -= dual
                left[head] += arb(dual) * slope
            total += sum((x for x in left if x > 0), arb(0))
            assert arb(found) >= total


def test_letters_that_are_not_all_neighbours_are_not_local(tmp_path):
    """On a path fewer promises are made than between all letters, and what bounds local mechanisms bounds nothing."""
    for number, solution in enumerate(
        (
            um.local.for_testing([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], 1.0),
            um.local.for_information([0.5, 0.3, 0.2], 1.0),
            um.local.linear_program(lambda column: column.max(axis=-1), 3, 1.0),
        )
    ):
        path = solution.save(tmp_path / f"{number}.json")

        def spread(content):
            content["problem"]["space"] = um.path(3).to_json()

        assert Solution.load(path).verify()
        verification = forge(path, spread).verify()
        assert verification.private
        assert not verification
        assert "one level for every two letters" in str(verification)


@pytest.mark.parametrize("seed", range(4))
def test_scrambled_files_never_raise_and_never_pass(seed, tmp_path):
    """Any entry of the problem or the evidence replaced by nonsense: refused on loading, or not verified."""
    nonsense = [
        [],
        [7] * 3,
        "text",
        None,
        -1,
        {"array": [1e9], "type": "f"},
        {"array": [[9, 9]], "type": "i"},
        [0.5] * 4,
    ]
    space, rankings = um.path(6), lambda i: ("a", "b") if i < 3 else ("b", "a")
    honest = [
        um.binary.best_boundary(um.counts(4), lambda yes: yes > 2, um.ApproxDP(1, 0.01)),
        um.binary.balanced(um.counts(4), lambda yes: yes > 2, 1.0),
        um.rainbow.best_boundary(space, rankings, 1.0),
        um.rainbow.extend(space, rankings, {("a", "b"): [0.6, 0.4], ("b", "a"): [0.6, 0.4]}, 1.0),
    ][seed]
    path = honest.save(tmp_path / "s.json")
    original = path.read_bytes()
    for part, key in [("problem", k) for k in honest.problem.data] + [
        ("certificate", k) for k in honest.certificate.evidence
    ]:
        for value in nonsense:
            path.write_bytes(original)

            def spoil(content, part=part, key=key, value=value):
                content[part]["data" if part == "problem" else "evidence"][key] = value

            try:
                spoiled = forge(path, spoil)
            except BadFile:
                continue
            assert not spoiled.verify(), (key, value)


def test_a_constant_mechanism_is_not_called_balanced(tmp_path):
    """A coin toss is private, but it is not the balanced optimum, whatever the file says is known."""
    path = um.binary.balanced(um.counts(5), lambda yes: yes > 2, 1.0).save(tmp_path / "s.json")

    def toss(content):
        content["mechanism"]["matrix"] = [[0.5, 0.5]] * 6
        content["certified"]["weights"] = [[str(2**61)] * 2] * 6
        content["value"] = 0.5

    verification = forge(path, toss).verify()
    assert verification.private
    assert not verification
    assert verification.optimal == "unproved"


def test_integers_far_from_the_design_do_not_certify_it(tmp_path):
    """Private integers next to a matrix that is not private prove nothing about it; nor are they sampled from."""
    path = um.binary.balanced(um.counts(5), lambda yes: yes > 2, 1.0).save(tmp_path / "s.json")

    def hide(content):
        content["certified"]["weights"] = [[str(2**61)] * 2] * 6

    forged = forge(path, hide)
    assert not forged.verify().private
    with pytest.raises(CannotCertify, match="differ from the design"):
        forged.certified.sample(0)


def test_negative_slopes_bound_nothing(tmp_path):
    """A line of negative slope needs a higher intercept than 1; with the wrong one a coin toss would look optimal."""
    path = um.binary.best_boundary(um.path(2), [False, True], um.GaussianDP(1)).save(tmp_path / "s.json")

    def tilt(content):
        evidence = content["certificate"]["evidence"]
        m = len(evidence["slopes"]["array"])
        evidence["slopes"]["array"], evidence["duals"]["array"] = [-5e5] * m, [1e-6] * m
        content["mechanism"]["matrix"], content["certified"]["weights"] = [[0.5, 0.5]] * 2, [[str(2**61)] * 2] * 2
        content["value"], content["certificate"]["bound"] = 0.5, 0.5

    assert not forge(path, tilt).verify()
    assert um.GaussianDP(1).intercept(np.array([-2.0])) >= 3
    assert um.PureDP(np.inf).intercept(np.array([-2.0])) >= 3


def test_both_columns_of_a_known_value_count(tmp_path):
    """A known 1 with 10^-9 left for the other output would allow far points what a true 1 forbids."""
    path = um.binary.extend(um.path(26), [True] + [False] * 25, {0: 1}, um.ApproxDP(1, 0)).save(tmp_path / "s.json")
    assert Solution.load(path).verify()

    def leave_some(content):
        content["mechanism"]["matrix"][0] = [9e-10, 1.0]
        content["certified"] = None

    assert not forge(path, leave_some).verify()


def test_outputs_cannot_be_swapped(tmp_path):
    """The mechanism's outputs are those of the question, in its order."""
    path = um.binary.balanced(um.counts(3), lambda yes: yes > 1, 1.0).save(tmp_path / "s.json")
    assert not forge(path, lambda content: content["mechanism"]["outputs"].reverse()).verify()


def test_pairs_that_are_not_concave_leave_no_room_for_slack(tmp_path):
    """A steep pair stretches a small slack along its chain: a value that is not quite attained is not proved."""
    steep = um.SuitablePair(
        [(0, 0), ("3/10", "3/10"), ("31/100", "69/100"), ("7/10", "7/10"), (1, 1)], binary_only=True
    )
    levels = um.per_edge(um.path(3), {(0, 1): um.PureDP.from_ratio(3), (1, 2): steep})
    solution = um.binary.extend(um.path(3), [True] * 3, {0: "1/10"}, levels)
    path = solution.save(tmp_path / "s.json")
    assert solution.verify()

    def lower(content):
        matrix = content["mechanism"]["matrix"]
        for row in (1, 2):
            matrix[row] = [1 - matrix[row][1] * (1 - 1e-10), matrix[row][1] * (1 - 1e-10)]
        content["value"] = float(np.mean([row[1] for row in matrix]))
        content["certified"] = None

    assert not forge(path, lower).verify()


@pytest.mark.parametrize("epsilon", ["1e100000000", "1e-100000000", "1000000000000"])
def test_absurd_numbers_in_a_file_end(epsilon, tmp_path):
    """Numbers with too many digits are refused; huge ones are no reason to compute for ever."""
    path = um.binary.balanced(um.counts(3), lambda yes: yes > 1, 1.0).save(tmp_path / "s.json")
    try:
        verification = forge(path, lambda content: content["problem"]["privacy"].update(epsilon=epsilon)).verify()
    except BadFile:
        return
    assert not verification


@pytest.mark.parametrize("kind", [um.PureDP, um.GaussianDP, um.ZCDP])
def test_levels_of_a_file_are_within_reason(kind):
    """Of every kind: one that protects nothing and has too many digits to prove is refused, none at all is not."""
    for size in (0, 1, MOST_CHECKED, float("inf")):
        assert _within_reason(kind(size)) == kind(size)
    with pytest.raises(BadFile, match="nothing is protected"):
        _within_reason(kind(2 * MOST_CHECKED))


def test_a_claim_cannot_be_raised(tmp_path):
    """A file that calls a mechanism optimal whose kind proves nothing of the sort is not verified."""
    known = {2: [0.5, 0.3, 0.2], 3: [0.2, 0.3, 0.5]}
    solution = um.rainbow.lexicographic(um.path(6), lambda i: ("a", "b", "c") if i < 3 else ("c", "b", "a"), known, 1.0)
    path = solution.save(tmp_path / "s.json")
    assert Solution.load(path).verify()
    verification = forge(path, lambda content: content["certificate"].update(claim="theorem")).verify()
    assert not verification
    assert verification.optimal == "unproved"


def test_not_private_and_not_optimal_never_raise(tmp_path):
    """`verify` answers no; it does not raise."""
    path = um.binary.balanced(um.counts(3), lambda yes: yes > 1, 1.0).save(tmp_path / "s.json")
    verification = forge(path, set_entry(3, 0.01)).verify()
    assert not verification.private
    assert verification.optimal == "unproved"
    assert "NOT verified" in str(verification)


@pytest.mark.parametrize(
    ("bits", "weight", "words"),
    [(0, None, "do not fit"), (None, str(2**62 + 1), "not between 0 and"), (None, "-1", "not between 0 and")],
)
def test_certified_weights_out_of_range_are_refused(bits, weight, words, tmp_path):
    """A file may ask for any number of bits and state any weights: those that no certified mechanism has are named."""
    solution = um.binary.balanced(um.counts(3), lambda yes: yes > 1, 1.0)
    assert solution.certified
    path = solution.save(tmp_path / "s.json")

    def change(content):
        assert content["certified"]["bits"] <= 62
        if bits is not None:
            content["certified"]["bits"] = bits
        if weight is not None:
            content["certified"]["weights"][0][0] = weight

    with pytest.raises(BadFile, match=words):
        forge(path, change)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda text: text[: len(text) // 2], "cut short"),
        (lambda text: text.replace('"value":0.', '"value":0.9'), "checksum"),
        (lambda text: text.replace('"version":1', '"version":99'), "version 99"),
        (lambda text: "[]", "not a solution"),
        (lambda text: "", "not JSON"),
    ],
)
def test_damaged_files_are_refused(damage, words, tmp_path):
    """Each kind of damage is named, and the file is left as it is."""
    path = um.binary.balanced(um.counts(3), lambda yes: yes > 1, 1.0).save(tmp_path / "s.json")
    path.write_text(damage(path.read_text()))
    before = path.read_bytes()
    with pytest.raises(BadFile, match=words):
        Solution.load(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"value":0.', '"value":NaN,"old":0.'),
        ('"value":0.', '"value":Infinity,"old":0.'),
        ('"value":0.', '"value":1e999,"old":0.'),
        ('"method":"', '"method":"\\ud800'),
        ('"value":0.', '"value":0.9,"value":0.'),
    ],
)
@pytest.mark.parametrize("sealed", [True, False])
def test_what_json_cannot_hold_is_refused(old, new, sealed, tmp_path):
    """NaN, half a surrogate pair, a name that stands twice: refused, with a checksum, with none, or with null."""
    path = um.binary.balanced(um.counts(3), lambda yes: yes > 1, 1.0).save(tmp_path / "s.json")
    text = path.read_text()
    assert old in text
    changed = text.replace(old, new, 1)
    seal = text[text.index('"sha256":') :].partition(",")[0] + ","
    for unsealed in (changed,) if sealed else (changed.replace(seal, ""), changed.replace(seal, '"sha256":null,')):
        path.write_text(unsealed)
        refused = r"not a number in JSON|never writes|names .value. twice|larger than any float|no checksum"
        with pytest.raises(BadFile, match=refused):
            Solution.load(path)
    if "NaN" in new or "Infinity" in new:
        with pytest.raises(BadFile, match="not a number in JSON"):
            Solution.load(path)


def test_a_file_without_a_checksum_is_refused(tmp_path):
    """A file that lacks its checksum, or has null for one, was not saved by Utmost."""
    path = um.binary.balanced(um.counts(3), lambda yes: yes > 1, 1.0).save(tmp_path / "s.json")
    content = json.loads(path.read_bytes())
    for seal in ({}, {"sha256": None}, {"sha256": 0}):
        path.write_bytes(canonical({k: v for k, v in content.items() if k != "sha256"} | seal))
        with pytest.raises(BadFile, match="no checksum"):
            Solution.load(path)


def test_words_of_a_file_are_marked_as_its_own(tmp_path):
    """What nobody checked is quoted under a heading that says so, and cannot pass for a line of ours."""
    solution = um.binary.best_boundary(um.counts(3), lambda yes: yes > 1, 1.0)
    path = solution.save(tmp_path / "s.json")

    def boast(content):
        content["certificate"].update(
            quantity="expected loss", reason="best\nverified: private", method="by magic", notes=["trust me\x1b[2J"]
        )

    boasting = forge(path, boast)
    checked, marked, unchecked = str(boasting).partition("in the file's own words, which nobody checked:")
    assert marked
    assert "no private mechanism exceeds" in checked  # the words do not turn a gain into a loss
    for word in ("loss", "verified", "magic", "trust"):
        assert word not in checked
        assert word in unchecked
    assert not any(line.startswith("verified") for line in str(boasting).splitlines())
    assert "\x1b" not in str(boasting)
    assert "file's own words" not in str(solution)


def test_empty_evidence_keeps_its_shape(tmp_path):
    """A graph without borders has no edges to price; its file is verified all the same."""
    solution = um.rainbow.best_boundary(um.path(4), lambda i: ("a", "b"), 1.0)
    assert solution.verify()
    again = Solution.load(solution.save(tmp_path / "s.json"))
    assert again.verify(), again.verify()
    assert again.save(tmp_path / "t.json").read_bytes() == (tmp_path / "s.json").read_bytes()


def test_impossible_contents_are_refused(tmp_path):
    """A negative probability is not loaded, whatever its checksum; a missing file is named."""
    path = um.binary.balanced(um.counts(3), lambda yes: yes > 1, 1.0).save(tmp_path / "s.json")
    with pytest.raises(BadFile, match="between 0 and 1"):
        forge(path, set_entry(1, -0.1))
    with pytest.raises(BadFile, match="lacks"):
        forge(path, lambda content: content.pop("problem"))
    with pytest.raises(BadFile, match="cannot be read"):
        Solution.load(tmp_path / "nowhere.json")


def test_nothing_half_written_is_left(tmp_path):
    """A solution whose names cannot be saved leaves no file behind."""
    space = um.Space.from_edges([(frozenset("a"), frozenset("b"))])
    solution = um.binary.balanced(space, [True, False], 1.0)
    with pytest.raises(InvalidInput, match="cannot be saved"):
        solution.save(tmp_path / "s.json")
    assert list(tmp_path.iterdir()) == []


def test_solutions_present_themselves():
    """Text and HTML name the problem, the value, the reason and the notes."""
    solution = um.binary.best_boundary(um.counts(3), lambda yes: yes > 1, 1.0)
    assert "no private mechanism exceeds" in str(solution)
    assert "counts(people=3)" in repr(solution)
    assert "<table>" in solution._repr_html_()
    assert "<pre>verified" in solution.verify()._repr_html_()
