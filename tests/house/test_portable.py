"""The environments of other processors change what the libraries report, and a run that they do not
change is stopped.
"""

import platform
import sys
from pathlib import Path

import nbformat
import pytest

from mia_lib import machine

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import portable  # noqa: E402  (the folder of scripts is not a package)

x86 = pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64"), reason="the variables are those of x86"
)


@pytest.fixture(scope="module")
def here():
    return machine.report()


def known_to_few(blas):
    """{"BLAS"} where its own choice is the kernel of AVX2: a release of OpenBLAS that is older than
    the processor does not know it, and takes that kernel although the processor has AVX-512.
    """
    kernels = {one.split()[-1] for one in blas.split("openblas ") if one.strip()}
    return {"BLAS"} if kernels == {"Haswell"} else set()


def test_a_kernel_of_avx2_is_what_an_old_release_takes():
    for blas, expected in (
        ("openblas Haswell", {"BLAS"}),
        ("openblas SkylakeX", set()),
        ("openblas Haswell openblas SkylakeX", set()),
        ("openblas Cooperlake", set()),
        ("mkl unknown", set()),
    ):
        assert known_to_few(blas) == expected


@x86
@pytest.mark.parametrize("name", portable.ENVIRONMENTS)
def test_an_environment_changes_what_is_reported(name, here):
    there = machine.report(portable.environment(name, here["numpy"].split()))
    assert there["processor"] == here["processor"]
    changes = set(portable.unchanged(there, here)) < set(portable.REPORTS)
    assert changes or name not in portable.fewer(here)
    want = {"avx2": ("AVX2", "Haswell"), "sse": ("DEFAULT", "")}[name]
    assert there["torch"] == want[0] and want[1] in there["BLAS"]
    if "AVX512" in here["torch"]:  # a processor on which the libraries have something to leave out
        same = set(portable.unchanged(there, here))
        assert same <= (set() if name == "sse" else known_to_few(here["BLAS"]))
        assert "512" not in " ".join(there[library] for library in portable.REPORTS)
    assert there["numpy"] != here["numpy"] or not any(
        feature.startswith(portable.NUMPY_BEYOND[name]) for feature in here["numpy"].split()
    )


def test_the_two_environments_set_the_same_variables():
    first, second = portable.ENVIRONMENTS.values()
    assert first.keys() == second.keys()
    assert all(first[name] != second[name] for name in first)


def test_numpys_features_are_switched_off_by_the_names_that_it_has_here():
    modern, older = ["X86_V3", "X86_V4", "AVX512_ICL"], ["FMA3", "AVX2", "AVX512F", "AVX512_SKX"]
    variable = "NPY_DISABLE_CPU_FEATURES"
    assert portable.environment("avx2", modern)[variable] == "X86_V4 AVX512_ICL"
    assert portable.environment("avx2", older)[variable] == "AVX512F AVX512_SKX"
    assert portable.environment("sse", modern)[variable] == " ".join(modern)
    assert variable not in portable.environment("avx2", ["X86_V3"])


def test_a_commit_has_one_of_them_and_both_have_commits():
    names = list(portable.ENVIRONMENTS)
    found = {portable.chosen(f"{n:040x}", names) for n in range(10)}
    assert found == set(portable.ENVIRONMENTS)
    assert portable.chosen("ab" * 20, names) == portable.chosen("ab" * 20, names[::-1])
    assert {portable.chosen(f"{n:040x}", ["sse"]) for n in range(10)} == {"sse"}


def test_commits_take_turns_with_the_notebooks():
    names, notebooks = list(portable.ENVIRONMENTS), list("abcdefgh")
    met = {}
    for n in range(40):
        commit = f"{n:040x}"
        part = portable.shared(commit, notebooks, 3, len(names))
        assert part == sorted(part) and len(part) in (2, 3)
        for one in part:
            met.setdefault(portable.chosen(commit, names), set()).add(one)
    assert met == {name: set(notebooks) for name in names}
    assert portable.shared("7", notebooks, 1, 2) == notebooks
    assert portable.shared("7", ["a"], 3, 2) == ["a"]


@pytest.mark.parametrize("options", [["--share", "2"], ["--one", "--share", "0"]])
def test_a_share_is_one_of_a_commit(options):
    with pytest.raises(SystemExit, match="--share: given ., expected 1 or more, and with --one"):
        portable.main(options)


@pytest.mark.parametrize(
    "level, names",
    [("AVX512", ["avx2", "sse"]), ("AVX2", ["sse"]), ("DEFAULT", []), ("AVX10", ["avx2", "sse"])],
)
def test_only_fewer_instructions_than_the_processors_are_run(level, names):
    assert portable.fewer({"torch": level}) == names


@x86
@pytest.mark.parametrize("options", [[], ["--one"], ["--only", "avx2"]])
def test_a_processor_without_more_says_so(options, here, notebook, monkeypatch, capfd):
    monkeypatch.setattr(machine, "report", lambda *_: here | {"torch": "AVX2"})
    monkeypatch.setattr(portable, "run", lambda name, *_: print("ran", name) or 0)
    assert portable.main([*options, str(notebook)]) == 0
    out = capfd.readouterr().out
    assert "avx2: " in out and "no more by itself" in out
    assert ("ran sse" in out) == ("avx2" not in options) and "ran avx2" not in out


@pytest.fixture
def notebook(tmp_path):
    """A notebook that stores what AVX2 and an empty home give, so that it passes with nothing
    else.
    """
    source = (
        "import os\n"
        "print(os.environ['ATEN_CPU_CAPABILITY'], 'MIA_DATA' in os.environ)\n"
        "print(*(os.listdir(os.environ[name]) for name in ('MIA_RUNS', 'XDG_CACHE_HOME')))"
    )
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    made = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
    output = nbformat.v4.new_output("stream", name="stdout", text="avx2 False\n[] []\n")
    made.cells = [nbformat.v4.new_code_cell(source, outputs=[output], execution_count=1)]
    nbformat.write(made, tmp_path / "small.ipynb")
    return tmp_path / "small.ipynb"


def test_a_run_has_its_environment_and_an_empty_home(notebook, here, monkeypatch, capfd):
    monkeypatch.setenv("MIA_DATA", str(notebook.parent))
    monkeypatch.setattr(machine, "report", lambda variables: here | {"torch": "another"})
    assert portable.run("avx2", [notebook], ["-p", "no:cacheprovider"], here) == 0
    said = capfd.readouterr().out
    assert "1 passed" in said and "torch:     another" in said
    assert portable.run("sse", [notebook], ["-p", "no:cacheprovider"], here) == 1
    assert "1 failed" in capfd.readouterr().out


def test_a_run_that_nothing_changes_is_stopped(notebook, here, monkeypatch, capfd):
    monkeypatch.setattr(machine, "report", lambda variables: here)
    assert portable.run("sse", [notebook], [], here) == 1
    out, err = capfd.readouterr()
    assert "sse changes nothing" in err and "passed" not in out
