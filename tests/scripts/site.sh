#!/usr/bin/env bash
# The pages of docs/ and README.md: every link leads somewhere, to a file and to a heading in it, and every page is in the index. Where cmark-gfm is
# installed (`scripts/setup html`) the site of `make html` is written, too: its links, its names, nothing from a network.
. "$(dirname "$0")/common.bash"
python3 - "$TENON_SOURCE" <<'PYTHON' || status=1
import pathlib, re, sys

root = pathlib.Path(sys.argv[1])
pages = [root / "README.md", *sorted((root / "docs").glob("*.md")), root / "examples/apply_best/README.md"]
wrong = []


def without_code(text):
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return re.sub(r"^(    |\t).*$", "", text, flags=re.M)


def names(path):
    """The headings of a page, as GitHub names them."""
    seen, made = {}, set()
    for title in re.findall(r"^#{1,6} (.*)$", without_code(path.read_text()), re.M):
        title = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", title).replace("`", "")
        name = re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
        seen[name] = seen.get(name, -1) + 1
        made.add(name if seen[name] == 0 else f"{name}-{seen[name]}")
    return made


n = 0
for page in pages:
    text = re.sub(r"`[^`\n]*`", "", without_code(page.read_text()))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        n += 1
        path, _, anchor = target.partition("#")
        found = page if not path else page.parent / path
        if not found.exists():
            wrong.append(f"{page.name}: {target}: there is no such file")
        elif anchor and found.suffix == ".md" and anchor not in names(found):
            wrong.append(f"{page.name}: {target}: there is no such heading")
index = (root / "docs/index.md").read_text()
wrong += [f"{p.name} is not in docs/index.md" for p in (root / "docs").glob("*.md") if f"({p.name})" not in index and p.name != "index.md"]
recipes = re.findall(r"^## ", (root / "docs/recipes.md").read_text(), re.M)
if len(recipes) < 10:
    wrong.append(f"docs/recipes.md has {len(recipes)} recipes")
print("\n".join(f"FAILED: {w}" for w in wrong) or f"{n} links lead somewhere")
sys.exit(bool(wrong) or n < 60)
PYTHON

if ! command -v cmark-gfm >/dev/null; then
  echo "no cmark-gfm: the site is not written"
  exit $status
fi
"$TENON_SOURCE/scripts/site" site >out 2>err || complain "scripts/site: $(cat err)"
python3 - site <<'PYTHON' || status=1
import html.parser, pathlib, sys

site = pathlib.Path(sys.argv[1])


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.stack = set(), [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if "id" in attributes:
            assert attributes["id"] not in self.ids, f"two of {attributes['id']}"
            self.ids.add(attributes["id"])
        self.links += [attributes[k] for k in ("href", "src") if k in attributes]
        assert tag not in ("script", "iframe"), tag
        if tag not in ("meta", "link", "img", "br", "hr"):
            self.stack.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("meta", "link", "img", "br", "hr"):
            top = self.stack.pop()
            assert top == tag, f"{top} is closed by {tag} in line {self.getpos()[0]}"


pages = {p.name: Page(p) for p in site.glob("*.html")}
wrong, n = [], 0
for name, page in pages.items():
    for target in page.links:
        n += 1
        path, _, anchor = target.partition("#")
        if target.startswith(("http:", "https:")):
            continue
        if path and not (site / path).exists():
            wrong.append(f"{name}: {target}: there is no such page")
        elif anchor and (path or name) in pages and anchor not in pages[path or name].ids:
            wrong.append(f"{name}: {target}: there is no such place")
for function in ("tn_program_parse", "tn_split", "tn_build", "tn_tune", "tn_context_new", "tn_format"):
    if not any(function in page.ids for name, page in pages.items() if name.startswith("reference-")):
        wrong.append(f"the reference has no {function}")
print("\n".join(f"FAILED: {w}" for w in wrong[:20]) or f"{len(pages)} pages, {n} links")
sys.exit(bool(wrong) or len(pages) < 35)
PYTHON
exit $status
