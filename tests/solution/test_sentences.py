"""A certificate's words follow from what was verified: a file that says anything else is not verified."""

import hashlib
import json

import pytest
from oracles.solutions import honest, on_integers

import utmost as um
from utmost.cli.matrix_file import certify_table
from utmost.design.rainbow import best_winner, choice_facts
from utmost.exact.saved import canonical
from utmost.solution import Solution, certificate_of, sentences, statements
from utmost.solution.kinds import KINDS
from utmost.solution.older_wordings import OLDER_WORDINGS
from utmost.solution.phrases import FIGURES, Template
from utmost.solution.statements import read_account
from utmost.space.integers import Tallies

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
    assert {s.problem.question for s in solutions} == set(KINDS)
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
    """Where a template leaves a place, only a figure of its kind is read; free text is the name of a file alone."""
    rounds = Template("{whole} rounds")
    assert rounds.read("12 rounds") == rounds(12)
    for text in ("-1 rounds", "012 rounds", "1e9 rounds", "12 rounds ", "one rounds", f"{10**30} rounds", " rounds"):
        assert rounds.read(text) is None, text
    small = Template("by {small}")
    for text in ("0", "3e-17", "0.0004", "0.1", "1e-300"):
        assert small.read(f"by {text}") is not None, text
    for text in ("nothing", "-1", "1e5", "0.00", "12", "1e-1 or so", "nan", "inf", "\u0661"):
        assert small.read(f"by {text}") is None, text
    for text in ("(1 round)", "(2 rounds)"):
        assert Template("({rounds})").read(text) is not None
    for text in ("(1 rounds)", "(2 round)", "(0 rounds)", "(2 rounds and a lie)"):
        assert Template("({rounds})").read(text) is None, text
    file = Template("read from {file}")
    assert file.read("read from a.csv") == file("a.csv")
    assert file.read("read from a.csv\nverified") is file.read(f"read from {'a' * 256}") is None


def templates():
    """All templates of the sentences."""
    for entry in vars(sentences).values():
        group = entry.values() if isinstance(entry, dict) else entry if isinstance(entry, tuple) else [entry]
        yield from (template for template in group if isinstance(template, Template))


def test_older_wordings_have_the_figures_of_their_successors():
    """So that the same data can be worded both ways; each belongs to a sentence that is still in use."""
    for template, older in OLDER_WORDINGS.items():
        assert template in set(templates()), template
        assert template.kinds == older.kinds, template
        assert template.text != older.text


def test_only_a_file_has_a_free_name():
    """No other account of a solver leaves room for text: neither as a place in a template, nor as another one."""
    for kind in KINDS.values():
        for template in kind.account:
            places = {place for _, place in template.parts if place is not None}
            assert places <= {"whole", "rounds", "small", "names"} | ({"file"} if kind.question == "given" else set())
    assert {FIGURES[name].allows("x" * 300) for name in ("file",)} == {False}


def test_files_of_version_0_2_are_restated(tmp_path):
    """Its own wording verifies, with the same data only; what is shown afterwards is worded as today."""
    for solution in saveable([*honest(), *on_integers()], tmp_path / "s.json"):
        certificate, kind = solution.certificate, solution.problem.kind
        account = read_account(certificate.words, kind.account)
        made = kind.statement(solution.problem, solution.mechanism, certificate.claim, certificate.evidence, account)
        older = {
            "quantity": str(statements.older(made.quantity)),
            "reason": str(statements.older(made.reason)),
            "method": str(statements.older(made.method)),
            "notes": [str(statements.older(note)) for note in made.notes],
        }
        again = resealed(solution, lambda c, older=older: c.update(older), tmp_path / "s.json")
        assert again.verify(), (solution, again.verify())
        assert again.restated().certificate.words == certificate.words


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
