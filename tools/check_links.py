#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the links of a site: python3 tools/check_links.py FOLDER [--external]

Reads all HTML pages and SVG pictures below the folder. A link within the site must lead to a file
of the folder, and its fragment to an anchor of that page. Links to other hosts must have the form
of an address; with --external they must also answer. Prints each broken link as `page:line: link:
reason` and exits with status 1 if there is one."""

import argparse
import html.parser
import pathlib
import sys
import urllib.error
import urllib.parse
import urllib.request

# Elements whose attribute is a link.
LINKS = {"a": ("href", "xlink:href"), "area": ("href",), "link": ("href",), "img": ("src",), "iframe": ("src",),
         "script": ("src",), "source": ("src",), "image": ("href", "xlink:href"), "object": ("data",),
         "embed": ("src",), "video": ("src", "poster"), "audio": ("src",)}


class page(html.parser.HTMLParser):
    """The anchors of a page and its links with their lines."""

    def __init__(self, path):
        super().__init__()
        self.anchors = set()
        self.links = []
        self.feed(path.read_text(encoding="utf-8", errors="replace"))
        self.close()

    def handle_starttag(self, tag, attrs):
        for key, value in attrs:
            if value is None:
                continue
            if key == "id" or (tag == "a" and key == "name"):
                self.anchors.add(value)
            if key in LINKS.get(tag, ()):
                self.links.append((self.getpos()[0], value.strip()))


class checker:
    def __init__(self, folder, external=False):
        self.folder = pathlib.Path(folder).resolve()
        self.external = external
        self.pages = {path: page(path) for path in sorted(self.folder.rglob("*"))
                      if path.suffix in (".html", ".svg") and path.is_file()}
        self.answers = {}

    def broken(self):
        """Yields (page, line, link, reason)."""
        for path, content in self.pages.items():
            for line, link in content.links:
                reason = self.fault(path, link)
                if reason:
                    yield path.relative_to(self.folder).as_posix(), line, link, reason

    def fault(self, path, link):
        """The reason why a link of page `path` is broken, or None."""
        try:
            parts = urllib.parse.urlsplit(link)
        except ValueError as error:
            return str(error)
        if parts.scheme in ("http", "https") or parts.netloc:
            return self.fault_outside(link, parts)
        if parts.scheme in ("data", "javascript", "mailto"):
            return None if parts.path else "is empty"
        if parts.scheme:
            return f"unknown scheme {parts.scheme}"
        if parts.path.startswith("/"):
            return "is absolute: works at one address of the site only"
        target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
        if target.is_dir():
            target /= "index.html"
        if not target.is_relative_to(self.folder):
            return "leads out of the site"
        if not target.is_file():
            return "no such file"
        fragment = urllib.parse.unquote(parts.fragment)
        if fragment and target in self.pages and fragment not in self.pages[target].anchors:
            return "no such anchor"
        return None

    def fault_outside(self, link, parts):
        if not parts.hostname or any(letter.isspace() for letter in link):
            return "is no address"
        if parts.hostname != "localhost" and "." not in parts.hostname.strip("."):
            return "its host has no domain"
        if not self.external or parts.scheme == "":
            return None
        address = urllib.parse.urldefrag(link).url
        if address not in self.answers:
            self.answers[address] = ask(address)
        return self.answers[address]


def ask(address):
    """The reason why an address does not answer, or None."""
    request = urllib.request.Request(address, headers={"User-Agent": "check_links"})
    try:
        with urllib.request.urlopen(request, timeout=20):
            return None
    except (urllib.error.URLError, OSError, ValueError) as error:
        return f"does not answer: {error}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--external", action="store_true", help="links to other hosts must answer")
    options = parser.parse_args()
    check = checker(options.folder, options.external)
    if not check.pages:
        sys.exit(f"links: no page below {options.folder}")
    broken = list(check.broken())
    for path, line, link, reason in broken:
        print(f"{path}:{line}: {link}: {reason}")
    count = sum(len(content.links) for content in check.pages.values())
    print(f"links: {len(check.pages)} pages, {count} links, {len(broken)} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
