# SPDX-License-Identifier: Apache-2.0
"""Tests of the tables that tools/results.py makes from reports, on the terminal and in pages."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import results  # noqa: E402

PAGE = """# How fast?

Text before.

<!-- results: {"title": "Two workers", "reports": "run_*.json", "heading": "ns", "where": {"workers": 2},
  "rows": ["spawn", ["a fork", "fib"]], "command": "make bench",
  "columns": {"ours": {"where": {"name": "ours"}}, "theirs": {"where": {"name": "theirs"}},
              "our least": {"where": {"name": "ours"}, "metric": "{row}_min_ns"}}} -->
<!-- end of results -->

Text behind.
"""


@pytest.fixture
def write(tmp_path):
    def write(file, name="ours", metrics=None, workers=2, machine="a machine", passed=True,
              commit="abc1234"):
        path = tmp_path / "run" / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({
            "name": name, "config": {"workers": workers}, "metrics": metrics or {"spawn_ns": 20},
            "checks": {"spawn": passed}, "commit": commit, "machine": machine}))
        return str(path)
    return write


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    return path


def pages(page):
    return results.main(["pages", str(page.parent / "run"), str(page)])


def rows_of(page):
    return [line for line in page.read_text().splitlines() if line.startswith("|")]


def test_a_page_gets_the_table_that_its_specification_asks_for(write, page):
    write("run_1.json", metrics={"spawn_ns": 20, "spawn_min_ns": 18, "fib_ns": 123.4})
    write("run_2.json", name="theirs", metrics={"spawn_ns": 70})
    pages(page)
    assert rows_of(page) == ["| ns | ours | theirs | our least |", "|---|---|---|---|",
                             "| spawn | 20.0 | 70.0 | 18.0 |", "| a fork | 123 | – | – |"]
    text = page.read_text()
    assert "\n\n## Two workers\n\n    make bench\n\nCommit abc1234. Machine: a machine.\n" in text
    assert text.startswith("# How fast?\n\nText before.") and text.endswith("Text behind.\n")


def test_a_table_that_is_made_again_replaces_the_one_before(write, page):
    write("run_1.json")
    pages(page)
    first = page.read_text()
    pages(page)
    assert page.read_text() == first
    write("run_1.json", metrics={"spawn_ns": 30})
    pages(page)
    assert page.read_text() == first.replace("| spawn | 20.0 |", "| spawn | 30.0 |")


def test_several_reports_give_their_median_and_the_smallest(write, page):
    for i, ns in enumerate([30, 10, 20]):
        write(f"run_{i}.json", metrics={"spawn_ns": ns})
    pages(page)
    assert "| spawn | 20.0 (10.0) | – | – |" in rows_of(page)


def test_reports_of_another_configuration_are_left_out(write, page):
    write("run_1.json", workers=1, metrics={"spawn_ns": 1})
    write("run_2.json", workers=2, metrics={"spawn_ns": 2})
    pages(page)
    assert "| spawn | 2.00 | – | – |" in rows_of(page)


def test_a_table_without_reports_stays(write, page):
    write("other.json")
    with pytest.raises(SystemExit, match="no reports of any table"):
        pages(page)
    assert page.read_text() == PAGE


def test_a_machine_is_named_without_its_kernel(write, page):
    write("run_1.json", machine="A processor, 16 CPUs, Linux 6.1.0-9, compiler 12.2.0")
    pages(page)
    assert "Machine: A processor, 16 CPUs, compiler 12.2.0." in page.read_text()


def test_a_commit_that_was_not_recorded_is_marked(write, page):
    write("run_1.json", commit="unknown")
    pages(page)
    assert "Commit not recorded." in page.read_text()


@pytest.mark.parametrize("second, refusal", [
    ({"machine": "another machine"}, "several machines"),
    ({"passed": False}, "failed check in .*run_2.json: spawn")])
def test_reports_that_cannot_stand_in_one_table_are_refused(write, page, second, refusal):
    write("run_1.json")
    write("run_2.json", **second)
    with pytest.raises(SystemExit, match=refusal):
        pages(page)
    assert page.read_text() == PAGE


def test_the_terminal_shows_ratios_to_the_floor(write, capsys):
    floor = write("floor.json", name="floor", metrics={"spawn_ns": 10})
    assert results.main(["table", floor, write("run_1.json")]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["spawn", "10.0", "(1.0×)", "20.0",
                                                               "(2.0×)"]


def test_the_terminal_table_fails_with_a_failed_check(write, capsys):
    assert results.main(["table", write("run_1.json", passed=False)]) == 1
    assert "failed check in" in capsys.readouterr().err


def test_a_file_that_is_no_report_is_named(tmp_path):
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(SystemExit, match="x.json: no 'name' in it"):
        results.main(["table", str(tmp_path / "x.json")])


def published():
    return sorted((ROOT / "benchmarks" / "results").glob("*.md"))


@pytest.mark.parametrize("published_page", published(), ids=lambda p: p.name)
def test_published_pages_have_tables_that_can_be_made(published_page, tmp_path):
    text = published_page.read_text()
    assert text.count("<!-- results:") == len(results.TABLE.findall(text))
    for _, spec, _ in results.TABLE.findall(text):
        wanted = json.loads(spec)
        assert wanted["command"] and wanted["rows"] and wanted["columns"] and wanted["reports"]


def documents():
    return [path for folder in (".", "apps", "benchmarks", "docs")
            for path in (ROOT / folder).glob("*.md" if folder == "." else "**/*.md")]


OTHER_PROJECTS = {"8a6b06f", "2fe0e7f3"}  # revisions of UCX and of AthenaK


def test_commits_that_documents_name_are_in_the_history():
    git = ["git", "-C", str(ROOT)]
    shallow = subprocess.run([*git, "rev-parse", "--is-shallow-repository"], capture_output=True,
                             text=True)
    if shallow.stdout.strip() != "false":
        pytest.skip("no history here: a source archive or a shallow clone")
    name = re.compile(r"(?<![\w.])(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7,12}(?![\w.])")
    named = {found for page in documents() for found in name.findall(page.read_text())}
    missing = [commit for commit in sorted(named - OTHER_PROJECTS)
               if subprocess.run([*git, "merge-base", "--is-ancestor", commit, "HEAD"],
                                 capture_output=True).returncode != 0]
    assert missing == []


def anchors_of(page):
    """Returns the anchors that GitHub makes of the headings."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", documents(), ids=lambda p: str(p.relative_to(ROOT)))
def test_links_of_documents_have_a_target(page):
    broken = []
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            broken.append(link)
    assert broken == []
