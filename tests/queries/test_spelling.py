"""Arguments are spelled as they are where somebody asks: with flags, in a file, on a page; never as in Python there."""

import ast
import copy
import inspect
import json
import pickle
import re
import shlex
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from oracles.command import release_command, utmost

import utmost as um
from utmost import errors
from utmost.errors import BudgetSpent, InvalidInput, UtmostError
from utmost.messages import Argument, Call, Code, Name, Words, joined, spelled_as
from utmost.queries.keys import read_keys
from utmost.queries.questions import QUESTIONS
from utmost.queries.session import Session
from utmost.queries.spelling import COMMAND, FILE, PAGE, Entries, Flags, errors_spelled
from utmost.serve.problems import problem_response
from utmost.serve.wire import parameters_of

SOURCE = Path(um.__file__).parent


def rendered(words, spelling):
    with spelled_as(spelling):
        return str(words)


@pytest.mark.parametrize(
    ("part", "python", "command", "file", "page"),
    [
        (Argument("unbiased", True), "unbiased=True", "--unbiased", "unbiased = true", '"unbiased"'),
        (Argument("lower", 0), "lower=0", "--lower 0", "lower = 0", "lower 0"),
        (Argument("expected_rows", 9), "expected_rows=9", "--expected-rows 9", "expected_rows = 9", "expected rows 9"),
        (Argument("where"), "where=", "--where", "where", "where"),
        (Argument("at_least"), "at_least=", "--at-least", "at_least", '"at least"'),
        (Name("at_least"), "at_least", "--at-least", "at_least", '"at least"'),
        (Name("at_most"), "at_most", "--rows-at-most or --people-at-most", "at_most", '"at most"'),
        (Argument("at_most", 9), "at_most=9", "--rows-at-most 9", "at_most = 9", "at most 9"),
        (Name("candidates"), "candidates", "--categories", "candidates", "candidates"),
        (Name("the value"), "the value", "the value", "the value", "the value"),
        (Argument("types", {"age": Code("float")}), "types={'age': float}", "--type age=float",
         'types = { age = "float" }', None),
        (Argument("types", {"age": ...}), "types={'age': ...}", "--type age=...", None, None),
        (Argument("where", Code("...")), "where=...", "--where ...", None, "where ..."),
        (Argument("edges", [20, 40]), "edges=[20, 40]", "--edges 20,40", "edges = [20, 40]", "edges 20,40"),
        (Argument("x_range", (0, 9)), "x_range=(0, 9)", "--x-range 0,9", "x_range = [0, 9]", "x range 0,9"),
        (Call("um.rows", at_most=Code("20_000", 20_000)), "um.rows(at_most=20_000)", "--rows-at-most 20000",
         '"rows, at most 20000"', "um.rows(at_most=20_000)"),
        (Argument("unit", Call("um.people", ...)), "unit=um.people(...)", "--people-by ID --rows-each N",
         "unit = \"people by 'ID', N rows each\"", None),
        (Call("um.people", Code('"p"', "p"), rows_each=9, at_most=50, groups_each=5, rows_each_group=2),
         'um.people("p", rows_each=9, at_most=50, groups_each=5, rows_each_group=2)',
         "--people-by p --people-at-most 50 --rows-each 9 --groups-each 5 --rows-each-group 2",
         "\"people by 'p', 9 rows each, at most 5 groups each, at most 50\"", None),
        (Call("um.bins", 0, 100, 5), "um.bins(0, 100, 5)", "'bins(0, 100, 5)'", "{ bins = [0, 5, 10, ...] }", None),
        (Call("um.bins", [0, 9]), "um.bins([0, 9])", "'bins([0, 9])'", "{ bins = [0, 9] }", "bins([0, 9])"),
        (Argument("by", Call("um.discover", Code('"dest"', "dest"))), 'by=um.discover("dest")', "--by 'discover(dest)'",
         'by = { discover = ["dest"] }', "by discover(dest)"),
        (Name("um.discover"), "um.discover", "discover", "discover", "discover"),
        (Argument("by", Call("um.keys", town=["Ash", "Briar"])), "by=um.keys(town=['Ash', 'Briar'])",
         "--by town=Ash,Briar", 'by = { town = ["Ash", "Briar"] }', "by town=Ash,Briar"),
        (Argument("by", Call("um.keys", ...)), "by=um.keys(...)", "--by COLUMN=VALUE,VALUE", "by = { ... }", None),
        (Call("s.share", "a > 1", among=9, of="people"), "s.share('a > 1', among=9, of='people')",
         "--share 'a > 1' --among 9 --of people", None, None),
        (Call("s.counts", [...]), "s.counts([...])", "--counts", 'question = "counts"', "counts"),
        (Argument("tiers", {"c = 'b'": (0.1, 20)}), """tiers={"c = 'b'": (0.1, 20)}""", "--tier \"0.1, 20: c = 'b'\"",
         None, None),
        (Call("um.ApproxDP", 1, Code("1e-6", 1e-6)), "um.ApproxDP(1, 1e-6)", "1,1e-06", '"1,1e-06"', "1,1e-06"),
        (Argument("privacy", Call("um.GaussianDP", 0.5)), "privacy=um.GaussianDP(0.5)", "--privacy mu=0.5",
         'privacy = "mu=0.5"', "privacy mu=0.5"),
    ],
)  # fmt: skip
def test_one_part_in_every_spelling(part, python, command, file, page):
    words = Words("such as ", part, ".")
    assert words == str(words) == f"such as {python}."
    for spelling, text in ((COMMAND, command), (FILE, file), (PAGE, page)):
        if text is not None:
            assert rendered(words, spelling) == f"such as {text}."


def test_what_somebody_gave_stays_as_it_is():
    """A text is a text, whatever it looks like; and what the command has no flag for stays as in Python."""
    words = Words("where is 'by=1 and um.keys(x)'; give ", Argument("by", Call("um.keys", ...)), "")
    assert rendered(words, COMMAND) == "where is 'by=1 and um.keys(x)'; give --by COLUMN=VALUE,VALUE"
    assert rendered(words, Flags(lambda name: False)) == words
    assert rendered(Words(Name("rows_each"), " is 0"), Flags({"by"}.__contains__)) == "rows_each is 0"


def test_words_are_text_in_python_spelling():
    """Sums, joins, copies and pickles keep the parts; JSON has the spelling of Python, whatever is shown meanwhile."""
    words = Words("give ", Argument("by"))
    sums = [
        "please " + words + ", now",
        joined(" or ", [words, Name("x")]),
        *(f(words) for f in (copy.copy, copy.deepcopy)),
    ]
    sums += [pickle.loads(pickle.dumps(words)), Words(words)]
    spelled = ["please give --by, now", "give --by or --x", *["give --by"] * 4]
    assert [rendered(words, COMMAND) for words in sums] == spelled
    with spelled_as(COMMAND):
        assert (str(words), f"{words}") == ("give --by", "give --by")
        assert json.loads(json.dumps({"note": words}, indent=2)) == {"note": "give by="}
        assert (words, repr(words)) == ("give by=", "'give by='")
        with spelled_as(PAGE):
            assert str(words) == "give by"
        assert str(words) == "give --by"
    assert str(words) == "give by="


def test_errors_are_spelled_where_they_are_shown():
    """An error renders when it is shown, survives a pickle, and stays the same error."""
    error = InvalidInput("say ", Argument("privacy", 0.5))
    for same in (error, pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (str(same), repr(same)) == ("say privacy=0.5", "InvalidInput('say privacy=0.5')")
        assert rendered(same, COMMAND) == "say --privacy 0.5"
    with pytest.raises(BudgetSpent, match=r"^say --privacy 0\.5$") as caught, errors_spelled(COMMAND):
        raise BudgetSpent(Words("say ", Argument("privacy", 0.5)), left=3)
    assert caught.value.left == 3
    shown = Entries({"share": "where"})
    assert rendered(Words(Call("s.share", "a > 1", among=9)), shown) == 'question = "share", where = "a > 1", among = 9'


def test_the_command_reads_what_it_is_told_to_write():
    """Keys in an error, pasted into a shell, are the keys of Python's example."""
    example = Words(Argument("by", Call("um.keys", carrier=["AA", "UA"], origin=["EWR", "JFK"])))
    words = shlex.split(rendered(example, COMMAND))
    assert words[0] == "--by"
    keys = eval(example.removeprefix("by="), {"um": um})
    assert read_keys(words[1]).public == keys.public
    assert tomllib.loads(rendered(example, FILE)) == {"by": {"carrier": ["AA", "UA"], "origin": ["EWR", "JFK"]}}


# ---- every message in the source ----


def _arguments():
    functions = [Session, um.rows, um.people, um.keys, um.discover, um.engine]
    return {name for question in QUESTIONS for name in parameters_of(question)}.union(
        *(inspect.signature(function).parameters for function in functions)
    )


PYTHON = re.compile(rf"\bum\.\w|(?<![\w.'])s\.\w+\(|(?<![\w.'-])(?:{'|'.join(sorted(_arguments()))})=(?![ =\"])")
"""A call of ours, or an argument, as Python spells them."""
OF_PYTHON_ALONE = {
    "accounting/entries.py": "what reports and ledgers hold",
    "accounting/events.py": "um.accounting.events",
    "accounting/hypotheses.py": "um.compose",
    "cli/designs.py": "spaces, as text",
    "mechanism/certification.py": "um.certify",
    "mechanism/other_libraries.py": "um.certify",
    "plot/graphs.py": "um.plot",
    "plot/spaces.py": "um.plot",
    "queries/allotment.py": "s.allot and s.price",
    "queries/audits.py": "um.audit",
    "queries/found_keys.py": "keys to be found, as text",
    "queries/rows_suggestion.py": "s.suggest_rows_each",
    "queries/budgeted_queries.py": "s.batch and s.smallest_privacy",
    "theory/multiparty/design/talk.py": "um.multiparty.conversation",
    "theory/priors/design/optimum.py": "um.finite.regularity",
    "theory/rainbow/design/boundaries.py": "um.binary",
    "serve/client.py": "um.Client",
    "serve/explore.py": "code that the page shows",
    "serve/fields.py": "code that the page shows",
}
"""Modules with texts that only Python users see, or that everybody writes in this way: what they are about."""


def _strings(tree):
    """All texts of a module but docstrings, names of calls, and the code of values."""
    skipped = set()
    for node in ast.walk(tree):
        for statement in getattr(node, "body", None) or [] if not isinstance(node, ast.Lambda | ast.IfExp) else []:
            if isinstance(statement, ast.Expr):
                skipped.add(statement.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Call", "Name", "Code"):
            skipped.update(node.args[:1])
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped:
            yield node.value


MODULES = {file.relative_to(SOURCE).as_posix(): ast.parse(file.read_text("utf-8")) for file in SOURCE.rglob("*.py")}


def test_no_text_spells_arguments_itself():
    """No text in the source has an argument in it, in Python's spelling or in the command's: they are data."""
    python = {name for name, tree in MODULES.items() if any(map(PYTHON.search, _strings(tree)))}
    assert python == set(OF_PYTHON_ALONE)
    flags = re.compile(r"(?<![\w(-])--[a-z]+(?![\w-]*[:;)])")
    beyond_the_command = {name for name, tree in MODULES.items() if any(map(flags.search, _strings(tree)))}
    assert {name for name in beyond_the_command if not name.startswith("cli/")} == {
        "queries/report/proof.py",  # "as --json prints it": a file that the command wrote
        "queries/spelling.py",
        "serve/app.py",  # the port of `utmost studio`
    }


class Anything(str):
    """Stands for any value: a text, a number, a list."""

    def __new__(cls, *_):
        return super().__new__(cls, "it")

    def __getattr__(self, name):
        return self

    def __call__(self, *values, **named):
        return self

    def __getitem__(self, at):
        return self

    def __iter__(self):
        return iter(["it"])

    def __format__(self, how):
        return "it"

    def __lt__(self, other):
        return True

    __gt__ = __le__ = __ge__ = __lt__

    def __truediv__(self, other):
        return self

    __floordiv__ = __mul__ = __mod__ = __sub__ = __rsub__ = __pow__ = __neg__ = __rtruediv__ = __truediv__
    __radd__ = __rmul__ = __truediv__

    def __add__(self, other):
        return self

    def __int__(self):
        return 1

    __float__ = __index__ = __int__


class Known(dict):
    """The names of a module that are parts of messages; any other name is anything."""

    PARTS = (Name, Argument, Call, Code, Words)

    def __missing__(self, name):
        value = self["module"].get(name)
        return value if isinstance(value, self.PARTS) or value in (*self.PARTS, joined) else Anything()


def _messages():
    """Every message that is made of parts, in errors and in notes, with anything for what it is about."""
    kinds = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, UtmostError)}
    for name, tree in MODULES.items():
        for node in ast.walk(tree):
            made = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if made and (node.func.id == "Words" or (node.func.id in kinds and len(node.args) > 1)):
                module = vars(import_module(f"utmost.{name.removesuffix('.py').replace('/', '.')}"))
                call = ast.Call(ast.Name("Words", ast.Load()), node.args, [])
                tree_of_call = ast.fix_missing_locations(ast.Expression(call))
                known = Known(module=module, Words=Words, __builtins__={})
                yield name, eval(compile(tree_of_call, name, "eval"), known)


def test_every_message_has_every_spelling():
    """Each message with arguments, as evaluated from the source: free of Python for the command and in a file."""
    messages = [(name, words) for name, words in _messages() if name not in ("errors.py", "messages.py")]
    assert len(messages) > 150
    for name, words in messages:
        assert not re.search(r"(?<!\w)--[a-z]", words), (name, words)
        for spelling in (COMMAND, FILE):
            text = rendered(words, spelling)
            assert name in OF_PYTHON_ALONE or not PYTHON.search(text), (name, text)
        named = [part for part in words.parts if isinstance(part, Name | Argument)]
        assert not named or rendered(words, COMMAND) != words or named[0].name in ("um.bins", "um.discover"), words
        for part in words.parts:
            if isinstance(part, Argument) and part.has_value:
                assert f"{part.name}=" not in rendered(words, PAGE) or part.name == "unit", (name, words)


def test_notes_of_the_command_name_its_flags(tmp_path):
    """In text; the report's reader asks nothing, and is told no syntax; JSON has the spelling of Python."""
    done = release_command(tmp_path, "--count", "age > 30", "--privacy", 1, "--report", tmp_path / "a.html")
    assert "--unbiased gives the noisy number" in done.stdout
    done = release_command(tmp_path, "--count", "age > 30", "--epsilon", 1, "--json")  # another name for --privacy
    notes = json.loads(done.stdout)["notes"]
    assert any("; unbiased=True gives the noisy number" in note for note in notes)
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "; &quot;unbiased&quot; gives the noisy number" in page
    assert "=True" not in page


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--share", "age > 30", "--among", 5, "--neighbours", "add-remove"), "--neighbours replace"),
        (("--mean", "age", "--lower", 9, "--upper", 1), "--lower 0, --upper 100"),
        (("--majority", "age > 3", "--by", "discover(town)"), "--by 'carrier=AA,UA;origin=EWR,JFK'"),
        (("--cdf", "age", "--edges", "5,3"), "--edges 20,40,60"),
        (("--count", "age > 3", "--by", "town"), "found privately by 'discover(carrier)'"),
        (
            ("--count", "age > 3", "--by", "discover(town)"),
            "such as 1,1e-06, or list the keys: --by COLUMN=VALUE,VALUE",
        ),
    ],
)
def test_errors_of_the_command_name_its_flags(tmp_path, asked, said):
    table = tmp_path / "t.csv"
    table.write_text("age,town\n70,x\n80,y\n20,x\n")
    rest = () if "--neighbours" in asked else ("--neighbours", "replace")
    done = utmost("release", table, *asked, "--privacy", 1, "--dataset", "d", "--rows-at-most", 10, *rest)
    assert done.returncode == 2
    assert said in done.stderr
    assert "um." not in done.stderr


def test_errors_of_a_problem_file_name_its_entries(tmp_path):
    """`outputs` of `utmost design FILE` is an entry of the file, and no flag."""
    problem = tmp_path / "problem.toml"
    problem.write_text(
        'design = "balanced"\n[space]\npoints = ["a", "b"]\nedges = [["a", "b"]]\n[truth]\n'
        'values = { a = "yes", b = "no" }\n[privacy]\nepsilon = 1\n'
    )
    done = utmost("design", problem)
    assert done.returncode == 2
    assert done.stderr.endswith("mend it, or pass outputs.\n")


def test_a_reply_has_the_title_of_its_error():
    """Every error has a title of one line, which does not depend on docstrings, and JSON the spelling of Python."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, UtmostError)]
    assert len({kind.title for kind in kinds}) == len(kinds)
    assert not any("\n" in kind.title or "  " in kind.title or "----" in kind.title for kind in kinds)
    reply = json.loads(problem_response(InvalidInput("give ", Argument("by"), ".")).body)
    assert (reply["title"], reply["detail"]) == (InvalidInput.title, "give by=.")
