# SPDX-License-Identifier: Apache-2.0
"""Tests of tools/check_links.py: which links of a site count as broken."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import check_links  # noqa: E402


@pytest.fixture
def site(tmp_path):
    """A site of two pages and a picture, without a broken link."""
    (tmp_path / "guide").mkdir()
    (tmp_path / "guide" / "index.html").write_text('<h2 id="Überblick">a</h2><a href="../index.html">b</a>')
    (tmp_path / "picture 1.svg").write_text('<svg id="all"><a xlink:href="guide/">c</a></svg>')
    write(tmp_path, '<a href="guide/#%C3%9Cberblick">d</a>\n<img src="picture%201.svg"><a href="#">e</a>'
                    '<a name="old"></a><a href="#old">f</a><a href="https://example.com/a#b">g</a>')
    return tmp_path


def write(folder, body):
    (folder / "index.html").write_text(f"<html><body>\n{body}\n</body></html>")


def run(folder):
    return subprocess.run([sys.executable, "-B", ROOT / "tools" / "check_links.py", folder], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def test_a_site_without_broken_links_passes(site):
    done = run(site)
    assert done.returncode == 0, done.stdout
    assert done.stdout == "links: 3 pages, 7 links, 0 broken\n"


def test_a_broken_link_fails_and_is_printed_with_its_line(site):
    write(site, '<p>\n<a href="guide/no.html">x</a>')
    done = run(site)
    assert done.returncode == 1
    assert "index.html:3: guide/no.html: no such file" in done.stdout
    assert "1 broken" in done.stdout


@pytest.mark.parametrize("element, reason", [
    ('<a href="guide/index.html#no">', "no such anchor"),
    ('<a href="#no">', "no such anchor"),
    ('<img src="no.png">', "no such file"),
    ('<script src="no.js"></script>', "no such file"),
    ('<link href="no.css">', "no such file"),
    ('<a href="/guide/index.html">', "is absolute: works at one address of the site only"),
    ('<a href="../outside.html">', "leads out of the site"),
    ('<a href="https://example">', "its host has no domain"),
    ('<a href="https:///page">', "is no address"),
    ('<a href="http://[::1">', "Invalid IPv6 URL"),
    ('<a href="file:line">', "unknown scheme file"),
])
def test_each_kind_of_broken_link_is_found(site, element, reason):
    write(site, element)
    assert [found[3] for found in check_links.checker(site).broken()] == [reason]


def test_links_of_pictures_are_checked(site):
    (site / "picture 1.svg").write_text('<svg><a xlink:href="no.html">c</a></svg>')
    assert [found[0] for found in check_links.checker(site).broken()] == ["picture 1.svg"]


def test_other_hosts_are_asked_only_on_request_and_once(site, monkeypatch):
    asked = []
    monkeypatch.setattr(check_links, "ask", lambda address: asked.append(address) or "does not answer")
    write(site, '<a href="https://example.com/a">x</a><a href="https://example.com/a#b">y</a>')
    assert not list(check_links.checker(site).broken())
    assert len(list(check_links.checker(site, external=True).broken())) == 2
    assert asked == ["https://example.com/a"]


def test_a_folder_without_pages_is_an_error(tmp_path):
    done = run(tmp_path)
    assert done.returncode == 1
    assert "no page" in done.stdout
