# SPDX-License-Identifier: Apache-2.0
"""What MkDocs does not do by itself for the site: pages from all folders of the project, at their
paths there, so that relative links work in the site as in a viewer of the repository; links to
folders and source files; the API reference of Doxygen, with its names in the search."""

import fnmatch
import html
import json
import pathlib
import re
import shutil
import xml.etree.ElementTree as ElementTree

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File
from mkdocs.structure.nav import Link
from mkdocs.utils import get_relative_url

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["*.md", "docs/**/*.md", "apps/**/*.md", "benchmarks/**/*.md", "src/**/*.md"]
LINK = re.compile(r"(\]\()([^()\s:#]+)((?:#[^()\s]*)?\))")
FENCE = re.compile(r" *(```|~~~)")
SHIM = re.compile(r'https://[^"]*/iframe-worker/shim')
ITEM = re.compile(r"(?:[-*+]|\d+[.)]) ")


def pages():
    return sorted({path.relative_to(ROOT).as_posix() for pattern in PAGES for path in ROOT.glob(pattern)})


def expand(nav, paths):
    """Replaces the folders and patterns of a navigation by the pages that they stand for."""
    result = []
    for item in nav:
        title, value = next(iter(item.items())) if isinstance(item, dict) else (None, item)
        if isinstance(value, list):
            result.append({title: expand(value, paths)})
        elif value.endswith("/") or "*" in value:
            pattern = value + "*" if value.endswith("/") else value
            found = [path for path in paths if fnmatch.fnmatch(path, pattern)]
            if not found:
                raise PluginError(f"navigation: no page is below {value}")
            result += [{title: found}] if title else found
        else:
            result.append(item)
    return result


def linked_target(path, target):
    """The path, relative to the root, of the existing file or folder that page `path` links to."""
    found = (ROOT / path).parent.joinpath(target).resolve()
    if found.exists() and found.is_relative_to(ROOT):
        return found.relative_to(ROOT).as_posix()
    return None


def folder_index(folder):
    """A page for a folder without README.md: its pages and their titles."""
    lines = [f"# {folder}", ""]
    for path in sorted((ROOT / folder).glob("*.md")):
        title = path.read_text().splitlines()[0].lstrip("# ")
        lines.append(f"- [{title}]({path.name})")
    return "\n".join(lines) + "\n"


def on_files(files, config):
    paths = pages()
    config.nav = expand(config.nav, paths)
    for path in paths:
        files.append(File(path, str(ROOT), config.site_dir, config.use_directory_urls))
    for path in paths:
        for _, target, _ in LINK.findall((ROOT / path).read_text()):
            found = linked_target(path, target)
            if not found:
                continue  # MkDocs reports it
            if (ROOT / found).is_dir():
                index = found + "/README.md"
                if not files.get_file_from_path(index):
                    files.append(File.generated(config, index, content=folder_index(found)))
                    add_index(config.nav, found, index)
            elif not files.get_file_from_path(found):
                files.append(File(found, str(ROOT), config.site_dir, config.use_directory_urls))
    return files


def add_index(nav, folder, index):
    """Puts the index of a folder before its first page in the navigation."""
    for item in nav:
        value = next(iter(item.values())) if isinstance(item, dict) else item
        if isinstance(value, list):
            first = next((i for i, path in enumerate(value)
                          if isinstance(path, str) and path.startswith(folder + "/")), None)
            if first is not None:
                value.insert(first, index)
                return
            add_index(value, folder, index)


def outside_fences(markdown):
    """Yields each line, and whether it is text (not code in a fenced block)."""
    fence = None
    for line in markdown.splitlines():
        mark = FENCE.match(line)
        if mark and fence is None:
            fence = mark[1]
            yield line, False
        else:
            yield line, fence is None
            if mark and mark[1] == fence:
                fence = None


def as_commonmark(lines):
    """Changes lists to what Python-Markdown reads as CommonMark does: a blank line before a list that
    follows a paragraph, and four blanks for the contents of an item where CommonMark needs two."""
    before, in_list, fence_indent = "", False, None
    for line, is_text in lines:
        indent = len(line) - len(line.lstrip())
        if is_text:
            fence_indent = None
        elif fence_indent is None:
            fence_indent = indent
        # Only the number 1 begins a list within a paragraph.
        interrupts = in_list or not before.strip() or line[0:2] in ("1.", "1)") or not line[0:1].isdigit()
        if is_text and ITEM.match(line) and interrupts:
            if before.strip() and not in_list:
                yield ""
            in_list = True
        elif line.strip() and indent == 0 and not before.strip():
            in_list = False
        if in_list and line.strip():
            line = " " * (indent if fence_indent is None else fence_indent) + line
        yield line
        before = line


def on_page_markdown(markdown, page, **_):
    """Links to folders lead to their index."""
    def point_to_index(match):
        found = linked_target(page.file.src_uri, match[2])
        is_folder = found is not None and (ROOT / found).is_dir()
        return match[1] + match[2].rstrip("/") + ("/README.md" if is_folder else "") + match[3]

    if page.is_homepage:
        page.meta["hide"] = ["navigation"]
    lines = ((LINK.sub(point_to_index, line) if is_text else line, is_text)
             for line, is_text in outside_fences(markdown))
    return "\n".join(as_commonmark(lines)) + "\n"


def on_nav(nav, **_):
    nav.items.append(Link("API", "api/index.html"))
    return nav


def on_post_page(output, page, **_):
    """Replaces the script of another host with which the theme searches in pages from disk."""
    return SHIM.sub(get_relative_url("search/from_disk.js", page.url), output)


def search_from_disk(site):
    """A script that starts the search worker of the theme from its text, because a page from disk may
    not start a worker from a file."""
    worker, = (site / "assets/javascripts/workers").glob("search.*.min.js")
    return f"""if (location.protocol === "file:") {{
  const text = {json.dumps(worker.read_text())};
  window.Worker = class extends Worker {{
    constructor() {{ super(URL.createObjectURL(new Blob([text], {{type: "text/javascript"}}))); }}
  }};
}}
"""


def on_post_build(config):
    """Adds the API reference to the site. Runs after the search plugin has written its index and
    before `offline` reads it."""
    site = pathlib.Path(config.site_dir)
    source = pathlib.Path(config.config_file_path).parent / config.extra["api"]
    shutil.copytree(source, site / "api")
    for page in (site / "api").glob("*.html"):
        text = page.read_text()
        page.write_text(re.sub(r'(<div id="projectbrief">).*?(</div>)',
                               r'\1<a href="../index.html">Guides, results, design</a>\2', text))
    index_path = site / "search" / "search_index.json"
    index = json.loads(index_path.read_text())
    entries = list(api_entries(source.parent / "starling.tag"))
    if not entries:
        raise PluginError("no name in starling.tag, which doxygen wrote")
    index["docs"] += entries
    index_path.write_text(json.dumps(index, ensure_ascii=False, separators=(",", ":")))
    (site / "search" / "from_disk.js").write_text(search_from_disk(site))
    # The page of a web server for addresses that do not exist: it needs the address of the site.
    (site / "404.html").unlink()


def api_entries(tag_file):
    """Entries of the search index for the namespaces, classes and members of the API reference."""
    def entry(location, title, text):
        return {"location": "api/" + location, "title": html.escape(title), "text": html.escape(text)}

    known = set()
    for compound in ElementTree.parse(tag_file).getroot().iter("compound"):
        kind, name, page = compound.get("kind"), compound.findtext("name"), compound.findtext("filename")
        if kind not in ("class", "struct", "union", "concept", "namespace") or page in known:
            continue
        known.add(page)
        page += "" if page.endswith(".html") else ".html"
        yield entry(page, name, f"API reference: {kind}")
        for member in compound.iter("member"):
            anchor = member.findtext("anchor")
            if member.findtext("anchorfile") == page and anchor and anchor not in known:
                known.add(anchor)
                name = member.findtext("name")
                yield entry(f"{page}#{anchor}", name, f"{name}{member.findtext('arglist') or ''}")
