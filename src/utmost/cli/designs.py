"""`utmost design`, `show`, `certify`, `verify`, `sample` and `demo`: solutions and their proofs.

The imports of a command are inside its function, so that its help does not wait for the mathematics.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from utmost.cli.output import Json, ask_private, checks_of, plain, print_json, working
from utmost.errors import CannotCertify, InvalidInput
from utmost.exact import is_digits
from utmost.exact.saved import format_of
from utmost.queries.spelling import FILE, errors_spelled

if TYPE_CHECKING:
    from rich.table import Table

    from utmost.solution import Solution, Verification

Picture = Annotated[Path | None, typer.Option(help="Also draw the mechanism to this file (.png, .svg or .pdf).")]


def design(
    file: Annotated[Path, typer.Argument(help="A problem in TOML; see docs/problem-files.md.")],
    out: Annotated[Path | None, typer.Option(help="Save the solution with its proof to this JSON file.")] = None,
    picture: Picture = None,
    as_json: Json = False,
) -> None:
    """Solve the problem in FILE: print the best mechanism, its value and its proof."""
    from utmost.cli.problem_file import solve_file

    with working("designing"), errors_spelled(FILE):
        solution = solve_file(file)
    _present(solution, out, picture, as_json)


def show(
    file: Annotated[Path, typer.Argument(help="A solution saved by `utmost design --out`.")],
    picture: Picture = None,
    as_json: Json = False,
) -> None:
    """Show a saved solution and verify it again."""
    from utmost.solution import Solution

    with working("loading"):
        solution = Solution.load(file)
    _present(solution, None, picture, as_json)


def certify(
    matrix: Annotated[Path, typer.Argument(help="A CSV file: a row per point, a column per output.")],
    space: Annotated[str, typer.Option(help="path, cycle, complete, or such as sums:people=30,largest=5.")] = "path",
    epsilon: Annotated[str | None, typer.Option(help="The epsilon promised on every edge.")] = None,
    delta: Annotated[str, typer.Option(help="The delta promised on every edge.")] = "0",
    mu: Annotated[str | None, typer.Option(help="Gaussian privacy instead of epsilon and delta.")] = None,
    out: Annotated[Path | None, typer.Option(help="Save the certified mechanism to this JSON file.")] = None,
    as_json: Json = False,
) -> None:
    """Certify a mechanism of your own in exact arithmetic, or name the edge that breaks it."""
    from utmost.cli.matrix_file import certify_table
    from utmost.cli.problem_file import LevelTable

    level = LevelTable(epsilon=epsilon, delta=delta, mu=mu).level()
    with working("certifying"):
        solution = certify_table(matrix, space, level)
    _present(solution, out, None, as_json)


def verify(
    file: Annotated[Path, typer.Argument(help="A saved solution, protocol, survey or form, or a report's JSON file.")],
    as_json: Json = False,
) -> None:
    """Re-prove a solution, protocol, survey, form or report without the solver; exit code 1 if it fails."""
    from utmost.cli import party, survey
    from utmost.queries.answers import FORMAT as ANSWER
    from utmost.solution import Solution
    from utmost.survey.form import FORMAT as FORM
    from utmost.theory.local.design.survey import FORMAT as SURVEY
    from utmost.theory.multiparty.design.protocol import FORMAT as PROTOCOL

    verifiers: dict[str, Callable[[Path, bool], None]] = {
        PROTOCOL: party.verify,
        SURVEY: survey.verify,
        FORM: survey.verify,
        ANSWER: _verify_report,
    }
    if file.suffix in (".html", ".htm"):
        raise InvalidInput(f"{file} is a page for people; verify the file beside it: {file.with_suffix('.json')}.")
    if check := verifiers.get(format_of(file) or ""):
        check(file, as_json)
        return
    solution = Solution.load(file)
    with working("verifying"):
        verification = solution.verify()
    if as_json:
        print_json(_proof(solution, verification))
    else:
        print(verification)
    if not verification:
        raise typer.Exit(1)


def _verify_report(file: Path, as_json: bool) -> None:
    """Verify every answer of a report: prove its mechanism and recompute its numbers."""
    from utmost.queries.report.proof import load_answers

    with working("verifying"):
        results = load_answers(file)
    if as_json:
        entries = [{"words": a.question.words, "verified": bool(v), "checks": checks_of(v.checks)} for a, v in results]
        print_json({"verified": all(v for _, v in results), "answers": entries})
    else:
        for answer, verification in results:
            print(f"the question, in the publisher's own words: {answer.question.words!r}\n{verification}")
        print(
            "Not proved here: that these integers were drawn, from this table, for this question. What the ledger says "
            "(entry, time, head) only the ledger can confirm: `utmost budget check LEDGER --report FILE`; what was "
            "spent by then it shows itself."
        )
    if not all(verification for _, verification in results):
        raise typer.Exit(1)


def sample(
    file: Annotated[Path, typer.Argument(help="A solution saved by `utmost design` or `utmost certify`.")],
    size: Annotated[int, typer.Option(min=1, help="How many answers; each one spends the privacy again.")] = 1,
    as_json: Json = False,
) -> None:
    """Draw private answers at a point, read from a prompt or standard input, never from the command line."""
    from utmost.mechanism.exact_law import ExactMechanism
    from utmost.solution import Solution

    solution = Solution.load(file)
    if isinstance(solution.mechanism, ExactMechanism):
        _sample_number(solution, size, as_json)
        return
    with working("certifying"):
        certified = solution.certified
    text = ask_private("point (not shown)")
    names = {str(point): point for point in certified.points}
    if len(names) < len(certified.points):
        raise InvalidInput("two points of this mechanism read alike; draw from it in Python instead.")
    if text not in names:
        raise InvalidInput("that is not a point of this mechanism; `utmost show` lists its points.")
    answers = certified.sample(names[text], size)
    if as_json:
        print_json({"answers": list(map(plain, answers)), "privacy": str(certified.levels), "draws": size})
    else:
        print("\n".join(map(str, answers)))


def _sample_number(solution: Solution, size: int, as_json: bool) -> None:
    """Draw private answers about a whole number, after proving the mechanism private."""
    from utmost.space.line import Line

    if not isinstance(solution.problem.space, Line):
        raise InvalidInput(f"{solution.problem.question} is not about one number; draw from it in Python instead.")
    with working("proving"):
        check = solution.mechanism.prove(solution.problem.space, solution.problem.privacy)
    if not check.passed:
        raise CannotCertify(f"the mechanism is not proved private ({check.detail}).")
    text = ask_private("number (not shown)")
    if not is_digits(text.strip().removeprefix("-")):
        raise InvalidInput("that is not a whole number.")
    answers = [int(solution.mechanism.sample(int(text))) for _ in range(size)]
    if as_json:
        print_json({"answers": answers, "privacy": str(solution.problem.privacy), "draws": size})
    else:
        print("\n".join(map(str, answers)))


def demo(
    out: Annotated[Path, typer.Option(help="Where the table, the ledger and the report go.")] = Path("demo"),
    as_json: Json = False,
) -> None:
    """Make a table of 20,000 people, five private answers about it, and their report."""
    from rich.console import Console

    from utmost.cli.demo import run_demo

    console = Console(quiet=as_json, soft_wrap=True, highlight=False, markup=False)
    result = run_demo(out, console.print)
    if as_json:
        print_json(result)
    if not result["verified"]:
        raise typer.Exit(1)


def _present(solution: Solution, out: Path | None, picture: Path | None, as_json: bool) -> None:
    with working("verifying"):
        verification = solution.verify()
    with working("saving"):
        if out:
            solution.save(out)
        if picture:
            from utmost import plot

            plot.save(plot.draw(solution), picture)
    if as_json:
        print_json(_summary(solution, verification))
    else:
        from rich.console import Console

        console = Console(soft_wrap=True, highlight=False)
        console.print(str(solution), markup=False)
        console.print(_table(solution))
        console.print(str(verification), markup=False)
        for name, path in (("saved", out), ("drawn", picture)):
            if path:
                console.print(f"{name}: {path}", markup=False)
    if not verification:
        raise typer.Exit(1)


def _table(solution: Solution, largest: int = 12) -> Table:
    """The mechanism as a table; the middle of a long one is omitted."""
    from rich.markup import escape
    from rich.table import Table

    from utmost.mechanism.exact_law import ExactMechanism
    from utmost.theory.scalar.line import LineMechanism

    mechanism = solution.mechanism
    if isinstance(mechanism, ExactMechanism):
        if not isinstance(mechanism, LineMechanism):
            return Table("released", mechanism.kind)
        return _law(mechanism, largest)
    outputs = _ends(len(mechanism.outputs), largest // 2)
    table = Table("point", *("..." if o is None else escape(f"Pr[{mechanism.outputs[o]}]") for o in outputs))
    for i in _ends(len(mechanism.points), largest):
        if i is None:
            table.add_row(*["..."] * (1 + len(outputs)))
            continue
        row = mechanism.row(mechanism.points[i])
        table.add_row(escape(str(mechanism.points[i])), *("..." if o is None else f"{row[o]:.6g}" for o in outputs))
    return table


def _law(mechanism: Any, most: int) -> Table:
    """The law of the released value at the middle of a line, for noise, which lists no points."""
    from rich.table import Table

    line = mechanism.line
    middle = (line.first + line.last) // 2
    released, chances = mechanism.law(middle)
    probabilities: dict[int, float] = {}
    for value, chance in zip(released.tolist(), chances.tolist(), strict=True):
        probabilities[value] = probabilities.get(value, 0.0) + chance
    table = Table("released", f"probability at {middle}")
    for value in sorted(sorted(probabilities, key=lambda value: abs(value - middle))[:most]):
        table.add_row(str(value), f"{probabilities[value]:.6g}")
    return table


def _ends(n: int, most: int) -> list[int | None]:
    """All positions of a short list; the first and last of a long one, with None between."""
    return list(range(n)) if n <= most else [*range(most // 2), None, *range(n - most // 2, n)]


def _summary(solution: Solution, verification: Verification) -> dict[str, Any]:
    from utmost.mechanism import FiniteMechanism
    from utmost.mechanism.exact_law import ExactMechanism
    from utmost.theory.scalar.line import LineMechanism

    mechanism = solution.mechanism
    if isinstance(mechanism, LineMechanism):
        return {**_proof(solution, verification), "mechanism": {"points": mechanism.line.points, "law": mechanism.name}}
    if isinstance(mechanism, ExactMechanism):
        return {**_proof(solution, verification), "mechanism": {"law": mechanism.kind}}
    description: dict[str, Any] = {"points": len(mechanism.points), "outputs": len(mechanism.outputs)}
    if isinstance(mechanism, FiniteMechanism):
        description = {
            "points": list(map(plain, mechanism.points)),
            "outputs": list(map(plain, mechanism.outputs)),
            "matrix": mechanism.matrix.tolist(),
        }
    return {**_proof(solution, verification), "mechanism": description}


def _proof(solution: Solution, verification: Verification) -> dict[str, Any]:
    """The verification as plain data; the words of a certificate from a file are kept apart, as they are unchecked."""
    c = solution.certificate
    gap = verification.gap if math.isfinite(verification.gap) else None
    words = {"quantity": c.quantity, "reason": c.reason, "method": c.method, "notes": list(c.notes)}
    if solution.from_file:
        claims: dict[str, Any] = {"unchecked_words_of_the_file": words}
        optimal: dict[str, Any] = {
            "claim": verification.optimal,
            "reason": verification.relies_on,
            "bound": c.bound,
            "gap": gap,
        }
    else:
        claims = {"quantity": c.quantity}
        optimal = {"claim": c.claim, "reason": c.reason, "bound": c.bound, "gap": gap, "notes": list(c.notes)}
    return {
        "question": solution.problem.question,
        "space": repr(solution.problem.space),
        "privacy": str(solution.problem.privacy),
        "value": solution.value,
        **claims,
        "optimal": optimal,
        "verified": bool(verification),
        "relies_on": verification.relies_on,
        "private": verification.private,
        "checks": checks_of(verification.checks),
    }
