"""Links that point into this repository lead to files that exist, and its address stands in one
place.
"""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
URL = CONFIG["repository"]["url"].rstrip("/")
SLUG = URL.removeprefix("https://github.com/")
BRANCH = CONFIG["repository"]["branch"]

# what a link to a file of a GitHub repository looks like; group 1: owner and name, group 2: branch,
# group 3: path
FORMS = [
    re.compile(
        r"https://github\.com/([\w.-]+/[\w.-]+)/(?:blob|tree|raw|edit)/([\w.-]+)/([^\s\"'()<>\\#?]+)"
    ),
    re.compile(
        r"https://raw\.githubusercontent\.com/([\w.-]+/[\w.-]+)/([\w.-]+)/([^\s\"'()<>\\#?]+)"
    ),
    re.compile(
        r"https://colab\.research\.google\.com/github/([\w.-]+/[\w.-]+)/blob/([\w.-]+)/([^\s\"'()<>\\#?]+)"
    ),
    re.compile(
        r"https://mybinder\.org/v2/gh/([\w.-]+/[\w.-]+)/([\w.-]+)\?(?:[^\s\"'()<>\\]*?)"
        r"(?:urlpath=(?:lab/|%2F)*tree/|urlpath=lab%2Ftree%2F|urlpath=tree%2F|(?:lab|file)path=)([^\s\"'()<>\\&#]+)"
    ),
]
PLACEHOLDER = re.compile(
    r"(?:github\.com|mybinder\.org/v2/gh|usercontent\.com|google\.com/github)/(OWNER/[\w.-]+)"
)
MARKDOWN_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
TEXTS = {".md", ".ipynb", ".yml", ".yaml", ".cff", ".toml", ".py", ".html", ".bib", ".cfg", ""}
SKIPPED = {
    ".git",
    ".venv",
    "_build",
    ".pytest_cache",
    ".ruff_cache",
    "__pycache__",
    ".ipynb_checkpoints",
    "mathjax",
}


def texts():
    """The repository's text files."""
    for path in sorted(ROOT.rglob("*")):
        inside = path.relative_to(ROOT)
        if not SKIPPED.intersection(inside.parts) and path.suffix in TEXTS and path.is_file():
            yield path


def repository_links(text):
    """(owner/name, branch, path) of every link into a repository, as it is written in `text`."""
    text = text.replace("&amp;", "&")
    for form in FORMS:
        for slug, branch, path in form.findall(text):
            yield slug, branch, unquote(path).rstrip(".,;")


def broken(text):
    """One line for each link into this repository that does not lead to a file of its tree on its
    branch.
    """
    for slug, branch, path in repository_links(text):
        if slug == SLUG and (branch != BRANCH or not (ROOT / path).exists()):
            yield f"{slug} {branch} {path}"


def test_the_address_is_one_of_github():
    assert re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+", URL)


def test_every_other_mention_of_the_repository_agrees_with_the_configuration():
    wrong = [
        f"{path.relative_to(ROOT)}: {slug}"
        for path in texts()
        if path.name != "test_links.py"
        for slug in PLACEHOLDER.findall(path.read_text(encoding="utf-8", errors="ignore"))
        if slug != SLUG and slug != f"{SLUG}.git"
    ]
    assert not wrong
    for name in ("README.md", "CITATION.cff"):
        assert SLUG in (ROOT / name).read_text(encoding="utf-8"), f"{name} does not name {SLUG}"


def test_links_into_the_repository_lead_somewhere():
    wrong = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in texts()
        if path.name != "test_links.py"
        for line in broken(path.read_text(encoding="utf-8", errors="ignore"))
    ]
    assert not wrong


def test_launch_buttons_of_the_built_pages_lead_somewhere():
    pages = sorted((ROOT / "_build" / "html").rglob("*.html"))
    pages = [page for page in pages if "_static" not in page.parts]
    if not pages:
        pytest.skip("no page is built yet: make book")
    found = 0
    for page in pages:
        text = page.read_text(encoding="utf-8", errors="ignore")
        found += sum(slug == SLUG for slug, _, _ in repository_links(text))
        assert not list(broken(text)), page.name
    assert found, "no page has a launch button"


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_relative_links_lead_somewhere(name):
    links = MARKDOWN_LINK.findall((ROOT / name).read_text(encoding="utf-8"))
    wrong = [
        link for link in links if "://" not in link and not (ROOT / link.split("#")[0]).exists()
    ]
    assert not wrong


def test_every_chapter_is_on_the_course_map():
    toc = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    pages = re.findall(r"(?:file|root): *(\S+)", toc)
    missing = [
        page for page in pages if not page.endswith("bibliography") and f"({page}." not in readme
    ]
    assert not missing


def test_a_link_that_leads_nowhere_is_found():
    there = "scripts/run.py"
    assert not list(broken(f"{URL}/blob/{BRANCH}/{there}"))
    assert list(broken(f"{URL}/blob/{BRANCH}/scripts/nothing.py"))
    assert list(broken(f"{URL}/blob/another/{there}"))
    assert not list(broken(f"https://mybinder.org/v2/gh/{SLUG}/{BRANCH}?urlpath=lab/tree/{there}"))
    assert not list(
        broken(f"https://mybinder.org/v2/gh/{SLUG}/{BRANCH}?urlpath=lab%2Ftree%2Fscripts%2Frun.py")
    )
    assert list(
        broken(f"https://mybinder.org/v2/gh/{SLUG}/{BRANCH}?urlpath=lab%2Ftree%2Fgone.ipynb")
    )
    assert list(broken(f"https://colab.research.google.com/github/{SLUG}/blob/{BRANCH}/gone.ipynb"))
