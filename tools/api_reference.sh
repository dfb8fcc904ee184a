#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes the API reference to FOLDER/html and its names to FOLDER/starling.tag, with doxygen.
#   tools/api_reference.sh FOLDER
# Fails if doxygen has a warning. `tools/deps.sh docs` installs what it needs.
set -euo pipefail
folder=$(realpath -m "$1")
cd "$(dirname "$0")/.."
python=.venv/bin/python3
[[ -x $python ]] || python=python3
style=$($python -c 'import doxygen_awesome_css as d, pathlib; print(pathlib.Path(d.__file__).parent)')

rm -rf "$folder"
mkdir -p "$folder"
settings() {
  cat docs/Doxyfile
  echo "OUTPUT_DIRECTORY = $folder"
  echo "GENERATE_TAGFILE = $folder/starling.tag"
  echo "HTML_EXTRA_STYLESHEET = $style/doxygen-awesome.css $style/doxygen-awesome-sidebar-only.css"
  # The style requires light colours of doxygen 1.9.5 and later; older ones have no such setting.
  if doxygen -s -g - | grep -q '^HTML_COLORSTYLE '; then echo 'HTML_COLORSTYLE = LIGHT'; fi
}
if ! settings | doxygen - 2>"$folder/warnings.txt" || [[ -s $folder/warnings.txt ]]; then
  cat "$folder/warnings.txt" >&2
  echo "docs: doxygen has failed or warned (see above); its warnings are errors" >&2
  exit 1
fi

# Doxygen links to some anchors that it does not write: lists of nested classes that are all private
# (1.9.4), letters of short lists and names that begin with ~ (1.10 and later).
$python - "$folder/html" <<'PYTHON'
import pathlib
import re
import sys

for page in pathlib.Path(sys.argv[1]).glob("*.html"):
    text = page.read_text()
    anchors = set(re.findall(r' id="([^"]*)"', text))
    fixed = re.sub(r'<a (?:class="qindex" )?href="#(nested-classes|index_[^"]*)">',
                   lambda link: link[0] if link[1] in anchors else "<a>", text.replace('#index_~"', '#index__7E"'))
    if fixed != text:
        page.write_text(fixed)
PYTHON
echo "docs: $folder/html/index.html"
