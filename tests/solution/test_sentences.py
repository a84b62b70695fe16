"""A certificate's words follow from what was verified: a file that says anything else is not verified."""

import hashlib
import json

import pytest
from oracles.solutions import honest, on_integers

import utmost as um
from utmost.cli.matrix_file import certify_table
from utmost.design.rainbow import best_winner, choice_facts
from utmost.exact.saved import canonical
from utmost.solution import Solution, certificate_of
from utmost.solution.sentences import FIGURES, fits, forms_of
from utmost.space.integers import Tallies
from utmost.theory.verifiers import CHECKERS

LIE = "Theorem 9: nothing errs less, with or without privacy; approved by the data protection officer"
PURE = um.PureDP(1)


def of_a_file(folder):
    """A mechanism of the user's own, read from a file."""
    table = folder / "mine.csv"
    table.write_text("point,no,yes\n0,0.6,0.4\n1,0.4,0.6\n")
    return certify_table(table, "path", PURE)


def resealed(solution, change, path):
    """The solution as a forger's file brings it: words changed, and the checksum made anew."""
    content = json.loads(solution.save(path).read_bytes())
    content.pop("sha256")
    change(content["certificate"])
    content["sha256"] = hashlib.sha256(canonical(content)).hexdigest()
    path.write_bytes(canonical(content))
    return Solution.load(path)


def saveable(solutions, path):
    for solution in solutions:
        try:
            solution.save(path)
        except um.errors.InvalidInput:  # it depends on a function
            continue
        yield solution


def lies(words):
    """What a forger makes of the words, part by part: other words, more, fewer, none."""
    for name in ("quantity", "reason", "method"):
        for text in (LIE, f"{words[name]}; {LIE}", f"{LIE}: {words[name]}", "", words[name].upper()):
            if not text.startswith("read from "):  # the name of a file is free
                yield name, {name: text}
    yield "notes", {"notes": [*words["notes"], LIE]}
    for place in range(len(words["notes"])):
        yield "notes", {"notes": [LIE if i == place else note for i, note in enumerate(words["notes"])]}


def test_every_question_has_words(tmp_path):
    """Those of every design fit the forms, so that all of them verify: from a file too."""
    solutions = [*honest(), *on_integers(), of_a_file(tmp_path)]
    assert {s.problem.question for s in solutions} == set(CHECKERS)
    for solution in saveable(solutions, tmp_path / "s.json"):
        assert resealed(solution, lambda c: None, tmp_path / "s.json").verify(), solution


@pytest.mark.parametrize("family", ["graphs", "integers"])
def test_no_other_words_are_verified(family, tmp_path):
    """Each part of each certificate replaced by a lie: not verified, and the check names the part."""
    solutions = [*honest(), of_a_file(tmp_path)] if family == "graphs" else list(on_integers())
    for solution in saveable(solutions, tmp_path / "s.json"):
        words = vars(solution.certificate)
        for name, changed in lies(words):
            forged = resealed(solution, lambda c, changed=changed: c.update(changed), tmp_path / "s.json")
            found = forged.verify()
            failed = [check for check in found.checks if not check.passed]
            assert not found, (solution, changed)
            assert [check.name for check in failed] == ["words"], (solution, failed)
            assert failed[0].detail.startswith(name), (name, failed)


def test_no_notes_can_be_left_out(tmp_path):
    """A note that must be there is missed."""
    away = um.Space.from_edges([(0, 1), (2, 3)])
    solution = um.binary.balanced(away, [0, 1, 1, 1], 1.0)
    assert len(solution.certificate.notes) == 1
    assert not resealed(solution, lambda c: c.update(notes=[]), tmp_path / "s.json").verify()
    assert resealed(solution, lambda c: None, tmp_path / "s.json").verify()


def test_figures_of_the_solver_are_numbers():
    """Where a form leaves a place, only a number of its kind fits; free text is the name of a file alone."""
    assert fits("{whole} rounds", "12 rounds")
    for text in ("-1 rounds", "012 rounds", "1e9 rounds", "12 rounds ", "one rounds", f"{10**30} rounds", " rounds"):
        assert not fits("{whole} rounds", text), text
    for text in ("0", "3e-17", "0.0004", "0.1", "1e-300"):
        assert fits("by {small}", f"by {text}")
    for text in ("nothing", "-1", "1e5", "0.00", "12", "1e-1 or so"):
        assert not fits("by {small}", f"by {text}"), text
    assert not fits("read from {file}", "read from a.csv\nverified")
    assert set(FIGURES) == {"whole", "small", "file"}


def test_only_a_file_has_a_free_name(tmp_path):
    """No other question's words leave room for text."""
    for solution in (*honest(), *on_integers()):
        c = solution.certificate
        forms = forms_of(solution.problem, solution.mechanism, c.claim, c.evidence)
        everything = [forms.quantity, *forms.reason, *forms.method, *(note for notes in forms.notes for note in notes)]
        assert not any("{file}" in form for form in everything), solution


def test_a_choice_that_loses_more_than_another_is_not_verified(tmp_path):
    """ "The least expected loss of ..." is recomputed: the exponential mechanism is private, and not the best."""
    best = best_winner(Tallies(3, 20, "add-remove"), 1.0, programs=False)
    worse = choice_facts(best).laws["exponential mechanism"]
    value = choice_facts(best).compared[worse.name]["zero-one"].value
    c = certificate_of(best.problem, worse, "bound", best.certificate.bound, value - best.certificate.bound)
    forged = Solution(best.problem, worse, value, c)
    forged.save(tmp_path / "s.json")
    found = Solution.load(tmp_path / "s.json").verify()
    assert [check.name for check in found.checks if not check.passed] == ["compared"]
    named = best.certificate.reason.replace("permute and flip, ", "")
    assert not resealed(best, lambda c: c.update(reason=named), tmp_path / "s.json").verify()
