"""The command as people use it: exit codes, words, JSON, files."""

import hashlib
import io
import json
import time
from unittest import mock

import pytest
from oracles.command import release_command, utmost

import utmost as um
from utmost.cli import output
from utmost.cli.demo import run_demo
from utmost.exact.saved import canonical
from utmost.privacy.level_text import read_level

MAJORITY = """
[space]
family = "counts"
people = 11
[truth]
at_least = 6
[privacy]
epsilon = 1.0
"""
PATH = """
design = "extend"
outputs = ["red", "blue"]
[space]
edges = [["v1", "v2"], ["v2", "v3"], ["v3", "v4"]]
[truth.values]
v1 = "red"
v2 = "blue"
v3 = "blue"
v4 = "red"
[privacy]
ratio = 2
[known]
v1 = {first}
v4 = {last}
"""


def write(folder, text):
    path = folder / "problem.toml"
    path.write_text(text)
    return path


def test_design_show_and_draw(tmp_path):
    """Solve a file, save it, show it again: the same proof; what a file says in words stands apart from it."""
    saved, picture = tmp_path / "s.json", tmp_path / "s.png"
    designed = utmost("design", write(tmp_path, MAJORITY), "--out", saved, "--picture", picture, "--json")
    assert designed.returncode == 0, designed.stderr
    before, after = (json.loads(text) for text in (designed.stdout, utmost("show", saved, "--json").stdout))
    assert after["verified"] is True
    words = after.pop("unchecked_words_of_the_file")
    assert (before.pop("quantity"), before["optimal"]["reason"]) == (words["quantity"], words["reason"])
    assert after.pop("optimal")["reason"] == after["relies_on"]  # the checker's own words, not the file's
    assert before.pop("optimal")["bound"] is None
    assert before == after
    assert picture.read_bytes().startswith(b"\x89PNG")
    text = utmost("show", saved)
    assert "verified: private" in text.stdout
    assert "Pr[True]" in text.stdout


def test_extend_from_a_file(tmp_path):
    """Known values, labels and a rational level in TOML give BIN Example 3."""
    result = utmost("design", write(tmp_path, PATH.format(first=0.3, last=0.1)), "--json")
    matrix = json.loads(result.stdout)["mechanism"]["matrix"]
    assert [row[1] for row in matrix] == pytest.approx([0.3, 0.4, 0.2, 0.1])
    assert "Pr[blue]" in utmost("design", tmp_path / "problem.toml").stdout


SUM = """
design = "{design}"
[space]
family = "sums"
people = {people}
largest = 5
[privacy]
epsilon = {epsilon}
"""


def test_finite_designs_from_a_file(tmp_path):
    """The optimum for a loss, drawn as a heat map; tight constraints, also where no matrix is made; no: exit code 1."""
    picture, saved = tmp_path / "s.png", tmp_path / "s.json"
    optimal = 'loss = "absolute"\n' + SUM.format(design="optimal", people=3, epsilon=0.8)
    result = utmost("design", write(tmp_path, optimal), "--json", "--picture", picture)
    assert json.loads(result.stdout)["value"] == um.finite.optimal(um.sums(3, 5), 0.8, loss="absolute").value
    assert picture.read_bytes().startswith(b"\x89PNG")
    large = write(tmp_path, SUM.format(design="tight_constraints", people=600, epsilon=1))
    assert json.loads(utmost("design", large, "--json", "--out", saved).stdout)["mechanism"]["points"] == 3001
    assert "..." in utmost("show", saved).stdout
    assert utmost("verify", saved).returncode == 0
    none = utmost("design", write(tmp_path, SUM.format(design="tight_constraints", people=10, epsilon=0.5)))
    assert none.returncode == 1
    assert "It exists from epsilon" in none.stderr


def test_the_answer_no_is_exit_code_1(tmp_path):
    """Contradicting values end with 1, the two points named, and nothing written."""
    result = utmost("design", write(tmp_path, PATH.format(first=0.1, last=0.9)), "--out", tmp_path / "s.json")
    assert result.returncode == 1
    assert "'v1' and 'v4'" in result.stderr
    assert not (tmp_path / "s.json").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (MAJORITY.replace("epsilon", "epsilom"), "privacy.epsilom"),
        (MAJORITY.replace("1.0", "-1.0"), "-1.0"),
        (MAJORITY.replace("counts", "count"), "not a family"),
        (MAJORITY.replace("people", "persons"), "does not take"),
        (MAJORITY.replace("at_least = 6", ""), "exactly one of at_least"),
        (MAJORITY.replace("epsilon = 1.0", "epsilon = 1.0\nrho = 0.5"), "exactly one of epsilon, ratio, rho and mu"),
        (MAJORITY.replace("epsilon = 1.0", "rho = 0.5\ndelta = 1e-6"), "a level by rho has none"),
        (MAJORITY.replace("epsilon = 1.0", "rho = 0.5"), "give GaussianDP(1)"),
        (MAJORITY + "[known]\n5 = 0.1\n", "known belongs to design = extend"),
        ('design = "extend"\n' + MAJORITY, "needs known"),
        ('design = "optimal"\n' + MAJORITY, "truth belongs to"),
        (MAJORITY.replace("[space]", "[space"), "not TOML"),
        ('design = "magic"\n' + MAJORITY, "'design'"),
    ],
)
def test_wrong_files_are_exit_code_2(text, words, tmp_path):
    """Each mistake is named on standard error."""
    result = utmost("design", write(tmp_path, text))
    assert result.returncode == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr


def test_wrong_use_is_exit_code_2(tmp_path):
    """A missing file, an unknown command, an unknown option."""
    assert utmost("design", tmp_path / "nothing.toml").returncode == 2
    assert utmost("show", tmp_path / "nothing.json").returncode == 2
    assert utmost("conjure").returncode == 2
    assert utmost("demo", "--loud").returncode == 2


def test_levels_per_edge_and_lists_of_known_values(tmp_path):
    """The rest of the file format: edges with their own level, points that are not text, a prior."""
    text = """
design = "best_boundary"
prior = [0.5, 0.25, 0.25, 0.0]
criterion = "average"
[space]
family = "hamming"
people = 2
values = 2
[truth]
yes_at = [[1, 1]]
[privacy]
epsilon = 1.0
[[privacy.edges]]
between = [[0, 1], [1, 1]]
mu = 0.5
"""
    result = utmost("design", write(tmp_path, text), "--json")
    assert result.returncode == 0, result.stderr
    assert "0.5-Gaussian" in json.loads(result.stdout)["privacy"]
    known = (
        MAJORITY.replace("at_least = 6", "at_least = 2").replace("11", "2") + "[[known]]\npoint = 1\nvalue = '1/3'\n"
    )
    result = utmost("design", write(tmp_path, 'design = "extend"\n' + known), "--json")
    assert json.loads(result.stdout)["mechanism"]["matrix"][1][1] == pytest.approx(1 / 3)


def test_demo(tmp_path):
    """It ends well, and leaves a page that defends five answers about a table; it can be run again, and says what it
    is at while a terminal waits."""
    result = utmost("demo", "--out", tmp_path / "demo", "--json")
    assert result.returncode == 0, result.stderr
    content = json.loads(result.stdout)
    assert content["verified"] is True
    assert len(content["answers"]) == 5
    assert "<svg" in (tmp_path / "demo" / "report.html").read_text()
    said = []
    with mock.patch("utmost.cli.demo.working", side_effect=output.working) as told:
        run_demo(tmp_path / "demo", said.append)
    assert str(tmp_path / "demo" / "report.html") in said[-1]
    steps = [f"asking question {i} of 5" for i in range(1, 6)]
    assert [call.args[0] for call in told.call_args_list] == [
        *("making a survey", "planning", *steps, "writing the report", "verifying")
    ]


def test_demo_in_a_folder_whose_name_reads_like_markup(tmp_path):
    """What is printed is text, whatever brackets it holds; that no table is opened there is said in words."""
    result = utmost("demo", "--out", tmp_path / "x[" / "bold]")
    assert str(tmp_path / "x[" / "bold]" / "survey.csv") in result.stdout
    assert result.returncode == 2
    assert "wildcard" in result.stderr


def table(folder, text):
    path = folder / "matrix.csv"
    path.write_text(text)
    return path


def test_certify_your_own_mechanism(tmp_path):
    """A private table is certified and saved; the saved file verifies and answers; no error repeats a private point."""
    coin = table(tmp_path, "3/4,1/4\n1/4,3/4\n")
    saved = tmp_path / "coin.json"
    result = utmost("certify", coin, "--space", "path", "--epsilon", "1.0987", "--out", saved)
    assert result.returncode == 0, result.stderr
    assert "proved in exact arithmetic" in result.stdout
    checked = json.loads(utmost("verify", saved, "--json").stdout)
    assert checked["verified"] is True
    assert checked["optimal"]["claim"] == "unproved"
    answers = utmost("sample", saved, "--size", 5, given="1\n")
    assert set(answers.stdout.split()) <= {"0", "1"}
    assert len(answers.stdout.split()) == 5
    wrong = utmost("sample", saved, given="secret\n")
    assert wrong.returncode == 2
    assert "secret" not in wrong.stderr


def test_points_that_read_alike_are_refused(tmp_path):
    """A mechanism on 1 and "1" cannot be sampled from by text, which would pick one of them."""
    space = um.Space.from_edges([(1, "1")])
    saved = um.binary.balanced(space, [True, False], 1.0).save(tmp_path / "s.json")
    result = utmost("sample", saved, given="1\n")
    assert result.returncode == 2
    assert "read alike" in result.stderr


def test_certify_names_the_edge_that_breaks_it(tmp_path):
    """Exit code 1, the two points, the output and the epsilon it would need; nothing is saved."""
    named = table(tmp_path, "point,no,yes\n0,0.75,0.25\n1,0.5,0.5\n2,0.1,0.9\n")
    result = utmost("certify", named, "--space", "path", "--epsilon", "1", "--out", tmp_path / "s.json")
    assert result.returncode == 1
    assert "between 1 and 2" in result.stderr
    assert "'no'" in result.stderr
    assert "epsilon = 1.60944" in result.stderr
    assert not (tmp_path / "s.json").exists()


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("0.5,0.4\n0.5,0.5\n", (), "adds up to"),
        ("no,yes\n0.75,0.35\n0.5,0.5\n", (), "the row for 0 adds up to 1.1"),
        ("0.5,0.5\n0.5\n", (), "has 1 entries"),
        ("0.5,x\n0.5,0.5\n", (), "'x'"),
        ("", (), "is empty"),
        ("0.5,0.5\n0.5,0.5\n", ("--space", "sums:people=3,largest=2"), "not those of"),
        ("0.5,0.5\n0.5,0.5\n", ("--space", "moebius"), "not a family"),
    ],
)
def test_wrong_tables_are_exit_code_2(text, options, words, tmp_path):
    """Each mistake in a table or its space is named."""
    result = utmost("certify", table(tmp_path, text), "--epsilon", "1", *options)
    assert result.returncode == 2
    assert words in result.stderr


def test_verify_fails_a_file_with_one_row_changed(tmp_path):
    """Units moved between two outputs of a row, checksum recomputed: exit code 1 by the proof."""
    saved = tmp_path / "s.json"
    utmost("design", write(tmp_path, MAJORITY), "--out", saved)
    assert utmost("verify", saved).returncode == 0
    content = json.loads(saved.read_bytes())
    content.pop("sha256")
    row = content["certified"]["weights"][6]
    row[:] = [str(int(row[0]) - 2**52), str(int(row[1]) + 2**52)]
    plain = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    content["sha256"] = hashlib.sha256(plain).hexdigest()
    saved.write_text(json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n")
    result = utmost("verify", saved)
    assert result.returncode == 1
    assert "FAIL privacy" in result.stdout


def test_survey_from_design_to_estimate(tmp_path):
    """Design, respond (the answer on standard input, kept and repeated), estimate; in words and in JSON."""
    survey, kept, lines = tmp_path / "s.json", tmp_path / "kept.json", tmp_path / "all.txt"
    made = utmost("survey", "design", "never", "often", "--epsilon", "2", "--question", "how often?", "--out", survey)
    assert made.returncode == 0, made.stderr
    assert "optimal: theorem" in made.stdout
    first = utmost("survey", "respond", survey, "--kept", kept, given="often\n")
    identity = um.local.Survey.load(survey).identity
    assert json.loads(first.stdout)["response"] in ("never", "often")
    assert identity.startswith(json.loads(first.stdout)["survey"])
    assert str(kept) in first.stderr
    for answer in ("never", "often", "nothing at all"):
        again = utmost("survey", "respond", survey, "--kept", kept, given=answer + "\n")
        assert again.stdout == first.stdout
    told = json.loads(utmost("survey", "respond", survey, "--kept", kept, "--json").stdout)
    assert told["repeated"] is True
    lines.write_text("\n".join(['"often"'] * 60 + ['{"response": "never"}'] * 40) + "\n")
    words = utmost("survey", "estimate", survey, lines, "--level", "0.9").stdout
    assert "100 responses" in words
    assert "90 % interval" in words
    found = json.loads(utmost("survey", "estimate", survey, lines, "--json").stdout)
    expected = um.local.Survey.load(survey).estimate(["often"] * 60 + ["never"] * 40)
    assert [row["frequency"] for row in found["estimates"]] == pytest.approx(expected.frequencies.tolist())
    assert found["people"] == 100


def test_respondents_see_what_they_are_promised(tmp_path):
    """The level and its meaning are shown first; a forged file that promises nothing gets no answer."""
    path, kept = tmp_path / "s.json", tmp_path / "kept.json"
    um.local.survey(["no", "yes"], 1.0, "Did you?").save(path)
    fine = utmost("survey", "respond", path, "--kept", kept, given="yes\n")
    assert fine.stderr.index("the promise to you: 1-DP: whoever") < fine.stderr.index("kept in")
    content = json.loads(path.read_text())
    content.pop("sha256")
    content["privacy"]["epsilon"] = "inf"
    path.write_bytes(canonical({**content, "sha256": hashlib.sha256(canonical(content)).hexdigest()}))
    kept.unlink()
    refused = utmost("survey", "respond", path, "--kept", kept, given="yes\n")
    assert refused.returncode == 2
    assert "promises nothing: your answer can be sent as it is" in refused.stderr
    assert "--accept" in refused.stderr
    assert (refused.stdout, kept.exists()) == ("", False)
    wanted = utmost("survey", "respond", path, "--kept", kept, "--accept", "--json", given="yes\n")
    assert "promises nothing" in json.loads(wanted.stdout)["promise"]


def test_verify_takes_surveys(tmp_path):
    """`utmost verify` of a survey proves its odds and says what they promise; other files are named."""
    path = um.local.survey(["no", "yes", "else"], 1.0).save(tmp_path / "s.json")
    found = utmost("verify", path)
    assert found.returncode == 0
    assert found.stdout.startswith("verified: private, optimality: asymptotic")
    assert um.local.Survey.load(path).promise in found.stdout
    assert found.stdout == utmost("survey", "verify", path).stdout
    told = json.loads(utmost("verify", path, "--json").stdout)
    assert (told["verified"], told["privacy"]) == (True, "1-DP")
    path.write_text(path.read_text().replace('"size":1', '"size":2'))
    assert utmost("verify", path).returncode == 2
    for text in ('{"format": "something"}', "[]", "nothing", '{"format": 7}'):
        path.write_text(text)
        refused = utmost("verify", path)
        assert refused.returncode == 2
        assert "s.json" in refused.stderr


def test_a_copy_of_a_survey_repeats_the_response(tmp_path, monkeypatch):
    """A response is kept by what the survey asks, not by the name of its file; another survey has its own."""
    monkeypatch.setenv("UTMOST_STATE", str(tmp_path / "state"))
    categories = [f"c{i}" for i in range(30)]
    for name, question in (("s", "one?"), ("other", "two?")):
        made = utmost(
            "survey", "design", *categories, "--epsilon", "1", "--question", question, "--out", tmp_path / name
        )
        assert made.returncode == 0
    first = utmost("survey", "respond", tmp_path / "s", given="c1\n")
    assert str(tmp_path / "state") in first.stderr
    (tmp_path / "copy.json").write_bytes((tmp_path / "s").read_bytes())
    again = utmost("survey", "respond", tmp_path / "copy.json", given="c2\n")
    assert again.stdout == first.stdout
    assert "repeated" in again.stderr
    fresh = utmost("survey", "respond", tmp_path / "other", given="c2\n")
    assert "repeated" not in fresh.stderr
    assert json.loads(fresh.stdout)["survey"] != json.loads(first.stdout)["survey"]
    assert len(list((tmp_path / "state" / "surveys").iterdir())) == 2
    both = tmp_path / "both.txt"
    both.write_text(first.stdout + fresh.stdout)
    refused = utmost("survey", "estimate", tmp_path / "s", both)
    assert refused.returncode == 2
    assert "response number 2" in refused.stderr
    assert json.loads(fresh.stdout)["survey"] in refused.stderr


def test_responses_in_json_can_be_estimated(tmp_path):
    """What `respond --json` prints, one after the other, beside bare responses."""
    survey, lines, printed = tmp_path / "s.json", tmp_path / "all.txt", ""
    utmost("survey", "design", "a", "b", "c", "d", "--epsilon", "0.1", "--question", "json?", "--out", survey)
    for i in range(5):
        printed += utmost("survey", "respond", survey, "--kept", tmp_path / f"{i}", "--json", given="a\n").stdout
    assert printed.count('"response": [') == 5
    lines.write_text(printed + '["a", "b"]\n')
    found = json.loads(utmost("survey", "estimate", survey, lines, "--json").stdout)
    assert found["people"] == 6


@pytest.mark.parametrize("given", ["", "\n"])
def test_no_answer_is_no_response(tmp_path, given):
    """An empty line or none: refused, also where everything else counts as other; unless "" is a category."""
    survey, kept = tmp_path / "s.json", tmp_path / "kept.json"
    utmost("survey", "design", "a", "b", "else", "--epsilon", "1", "--other", "else", "--out", survey)
    refused = utmost("survey", "respond", survey, "--kept", kept, given=given)
    assert refused.returncode == 2
    assert "no answer" in refused.stderr
    assert not kept.exists()
    utmost("survey", "design", "a", "", "--epsilon", "1", "--out", survey)
    assert utmost("survey", "respond", survey, "--kept", kept, given=given).returncode == 0


def test_survey_wrong_use(tmp_path):
    """Exit code 2 with a reason, and no answer repeated."""
    survey = tmp_path / "s.json"
    assert utmost("survey", "design", "a", "--epsilon", "1", "--out", survey).returncode == 2
    assert utmost("survey", "design", "a", "b", "--out", survey).returncode == 2
    assert not survey.exists()
    utmost("survey", "design", "a", "b", "c", "--ratio", "3/2", "--out", survey)
    wrong = utmost("survey", "respond", survey, given="secret\n")
    assert wrong.returncode == 2
    assert "secret" not in wrong.stderr
    assert list(tmp_path.iterdir()) == [survey]
    lines = tmp_path / "all.txt"
    for text, words in (
        ("often\n", "line 1"),
        ('"z"\n', "response number 1"),
        ("", "no responses"),
        ('{"tuple": 5}', "number 1"),
    ):
        lines.write_text(text)
        result = utmost("survey", "estimate", survey, lines)
        assert result.returncode == 2
        assert words in result.stderr
    assert utmost("survey", "estimate", tmp_path / "none.json", lines).returncode == 2


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (("release", "t.csv", "--histogram", "month", "--histogram", "origin"), "--histogram"),
        (("release", "t.csv", "--privacy=1", "--count", "x > 1", "--privacy", "2"), "--privacy"),
        (("release", "t.csv", "--count", "x > 1", "--fresh", "--fresh"), "--fresh"),
        (("compose", "1", "--delta", "0.1", "--delta", "0.2"), "--delta"),
        (("budget", "open", "b.db", "d", "--budget", "1", "--budget", "2"), "--budget"),
        (("party", "design", "--levels", "1,1", "--levels", "2,2"), "--levels"),
        (("survey", "design", "--privacy", "1", "--privacy", "2"), "--privacy"),
        (("survey", "design", "--privacy", "1", "--epsilon", "2"), "--privacy, or --epsilon"),
    ],
)
def test_an_option_given_twice_is_an_error(words, flag, tmp_path, monkeypatch):
    """Nothing is taken, ignored or spent; of every command."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("x\n1\n")
    result = utmost(*words)
    assert result.returncode == 2
    assert f"{flag} is given 2 times; give it once." in result.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["t.csv"]


def test_options_that_say_so_are_given_again(tmp_path):
    """Conditions and types are listed by repeating their option."""
    (tmp_path / "t.csv").write_text("x,y\n1,2\n")
    words = ("--counts", "x > 0", "--counts", "y > 0", "--type", "x=int", "--type", "y=int", "--privacy", "1")
    result = utmost(
        "release",
        tmp_path / "t.csv",
        *words,
        "--dataset",
        "d",
        "--rows-at-most",
        "9",
        "--neighbours",
        "replace",
        "--json",
    )
    assert result.returncode == 0, result.stderr
    assert list(json.loads(result.stdout)["value"]) == ["x > 0", "y > 0"]


@pytest.mark.parametrize("report", [".", "..", "/", "folder", "folder.html"])
def test_a_report_to_a_folder_is_refused_in_words(report, tmp_path, monkeypatch):
    """Exit code 2 and no traceback; nothing is read, and no account is opened."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.html").mkdir()
    result = release_command(tmp_path, "--count", "age >= 65", "--privacy", 1, "--report", report)
    assert result.returncode == 2
    assert result.stderr.startswith("InvalidInput: ")
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "b.db").exists()


def test_privacy_and_spend_are_numbers_beside_words(tmp_path):
    """Levels of every kind, in what --json writes."""
    for i, (level, numbers) in enumerate(
        [
            ("0.5", {"epsilon": 0.5, "delta": 0.0}),
            ("0.5,1e-6", {"epsilon": 0.5, "delta": 1e-6}),
            ("rho=0.125", {"rho": 0.125}),
            ("mu=0.5", {"mu": 0.5}),
        ]
    ):
        asked = ("--count", "age >= 65", "--privacy", level, "--budget", level, "--json")
        result = release_command(tmp_path, *asked, ledger=tmp_path / f"{i}.db")
        assert result.returncode == 0, result.stderr
        found = json.loads(result.stdout)
        assert found["privacy"]["words"] == str(read_level(level, "--privacy"))
        assert found["privacy"]["numbers"] == numbers
        for amount in found["ledger"]["amounts"].values():
            assert {name: type(value) for name, value in amount.items()} == {"spent": float, "limit": float}
            assert 0 < amount["spent"] == amount["limit"]


def test_help_is_helpful():
    """Every command explains itself."""
    assert "design" in utmost("--help").stdout
    for command in ("design", "show", "certify", "verify", "sample", "release", "demo"):
        assert "--json" in utmost(command, "--help").stdout
    assert utmost("--version").stdout.startswith("utmost 0.")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_long_work_says_so_on_a_terminal_and_nowhere_else():
    """After a while what is done, and for how long; then the line is cleared. Short work and pipes see nothing."""
    for screen, seconds, told in ((Terminal(), 0.2, True), (Terminal(), 0.0, False), (io.StringIO(), 0.2, False)):
        with mock.patch.object(output, "PATIENCE", 0.05), mock.patch("sys.stderr", screen), output.working("designing"):
            time.sleep(seconds)
        assert ("designing: " in screen.getvalue()) is told
        assert screen.getvalue().endswith("\r\033[K") is told


def test_a_bar_of_spark_has_the_line_to_itself(monkeypatch):
    """Two that write to one line would write over each other."""
    from utmost.backends import spark_jobs

    screen = Terminal()
    monkeypatch.setattr(output, "PATIENCE", 0.02)
    monkeypatch.setattr("sys.stderr", screen)
    spark_jobs.SHOWN.set()
    try:
        with output.working("asking"):
            time.sleep(0.2)
    finally:
        spark_jobs.SHOWN.clear()
    assert "asking" not in screen.getvalue()


@pytest.mark.parametrize(
    ("text", "outputs"),
    [
        ("no,yes\n0.75,0.25\n0.25,0.75\n", ["no", "yes"]),
        (",no,yes\n0,0.75,0.25\n1,0.25,0.75\n", ["no", "yes"]),
        ("point,0,1\n0,3/4,1/4\n1,1/4,3/4\n", ["0", "1"]),
        ("0.75,0.25\n0.25,0.75\n", [0, 1]),
    ],
)
def test_a_matrix_may_have_names_of_outputs_alone(tmp_path, text, outputs):
    """A header without a column of points, with one, or neither: told apart by whether rows add up to one."""
    from utmost.cli.matrix_file import read_table

    file = tmp_path / "m.csv"
    file.write_text(text)
    assert list(read_table(file).outputs) == outputs
    assert utmost("certify", file, "--epsilon", "1.1").returncode == 0
    assert utmost("certify", file, "--epsilon", "1").returncode == 1


def test_what_json_prints_is_no_report_and_says_so(tmp_path):
    """It has no proof; a report with one is a flag away."""
    file = tmp_path / "answer.json"
    file.write_text(release_command(tmp_path, "--count", "age > 30", "--privacy", 1, "--json").stdout)
    done = utmost("verify", file)
    assert done.returncode == 2
    assert "ask again with --report page.html" in done.stderr
    release_command(tmp_path, "--count", "age > 30", "--privacy", 1, "--report", tmp_path / "page.html")
    assert utmost("verify", tmp_path / "page.json").returncode == 0
