#!/usr/bin/env bash
# tenon show --emit=html: one page without scripts and without a network, everything of the program escaped; in a browser, where there
# is one, dark and light, wide and narrow.
. "$(dirname "$0")/common.bash"
matmul=$TENON_SOURCE/examples/programs/matmul.te

# ---- what is in it: the loops, what made them, the innermost loop's instructions
run show "$matmul" -s 'tile(C, i, j, 8, 32); reorder(C, i.outer, j.outer, k, i.inner, j.inner); vectorize(C, j.inner); unroll(C, i.inner)
  parallel(C, i.outer); pragma(C, k, unroll_explicit, 1)' --emit=html -t 'cpu=haswell triple=x86_64-linux-gnu'
[ "$got" -eq 0 ] || complain "show --emit=html: $(cat err)"
mv out page.html
has() { grep -qF -- "$1" page.html || complain "the page lacks: $1"; }
has '<span class="parallel">parallel</span> <b>i.outer</b> <span class="rest">(64)</span>'
has 'split(C, i, 8); parallel(C, i.outer)'
has '<span class="vectorize">vectorize</span> <b>j.inner</b>'
has 'reorder(C, i.outer, j.outer, k, i.inner, j.inner)'
has 'i.outer &rsaquo; j.outer &rsaquo; k: '
has 'vfmadd'
grep -q '<b>k</b> .* reduce[^<]*</span> <a href="#code[0-9]*">code</a>' page.html || complain "no loop of the tree is tied to its code"
[ "$(stat -c %s page.html)" -lt 500000 ] || complain "the page is larger than 500 kB"
python3 - page.html <<'PYTHON' || complain "the page is not well-formed"
import html.parser, sys
class Check(html.parser.HTMLParser):
    stack, ids, links = [], [], []
    def handle_starttag(self, tag, attrs):
        assert tag not in ("script", "img", "link", "iframe"), tag
        attrs = dict(attrs)
        assert not any(name.startswith("on") for name in attrs), attrs
        self.ids.append(attrs.get("id"))
        if "href" in attrs: self.links.append(attrs["href"])
        if tag not in ("meta", "br"): self.stack.append(tag)
    def handle_endtag(self, tag):
        assert self.stack.pop() == tag, tag
check = Check()
text = open(sys.argv[1]).read()
check.feed(text)
assert not check.stack and check.links and all(link[0] == "#" and link[1:] in check.ids for link in check.links), check.links
assert "http:" not in text and "https:" not in text and "url(" not in text
PYTHON

# ---- other machines, programs without loops, very long ones
for triple in aarch64-linux-gnu riscv64-linux-gnu; do
  run show "$matmul" --emit=html -t "triple=$triple"
  [ "$got" -ne 0 ] || grep -q '&rsaquo; k: [1-9][0-9]* instructions' out || complain "$triple: no innermost loop"
done
shows 'The kernel has no loop' show 'C = A[0] + 1' --emit=html
long='param N = 4; T0[i<N] = A[i]'
for i in $(seq 300); do long="$long; T$i[i<N] = T$((i - 1))[i] + $i"; done
run show "$long" --emit=html
[ "$got" -eq 0 ] && [ "$(stat -c %s out)" -lt 500000 ] && grep -q 'left out' out || complain "a long program: $got $(stat -c %s out)"

# ---- what comes from outside stays text: comparisons and the target are all that a program can put there
run show 'P[i<8, j<8] = select(i < j && A[i,j] > 0, A[i,j], 1); C[i<6, j<6] = P[i+1, j]' -s 'set_store_predicate(P, i >= 1 && j < 7)' --emit=html
[ "$got" -eq 0 ] || complain "comparisons: $(cat err)"
grep -q 'i &lt; j &amp;&amp; A\[i, j\] &gt; 0' out || complain "comparisons are not escaped: $(grep select out)"
grep -q 'set_store_predicate(P, i &gt;= 1 &amp;&amp; j &lt; 7)' out || complain "a schedule is not escaped"
refuses 1 'axis "q" is not part of stage C' show "$matmul" -s 'split(C, q, 8)' --emit=html

# ---- in a browser: nothing is wider than the window; the colours follow the person's choice
if ! command -v chromium >/dev/null; then
  echo "no chromium: how the page looks is not checked"
  exit $status
fi
python3 - <<'PYTHON'
import html
page = html.escape(open("page.html").read(), quote=True)
for width in 400, 1600:
    open(f"frame{width}.html", "w").write(f"""<body><iframe style="width:{width}px; height:900px" srcdoc="{page}" onload="
      const d = this.contentDocument, c = this.contentWindow.getComputedStyle(d.body);
      document.body.dataset.seen = [d.documentElement.scrollWidth, c.backgroundColor, c.color].join(' ')"></iframe></body>""")
PYTHON
look() { # WIDTH SCHEME
  timeout 60 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$work/browser" --blink-settings=preferredColorScheme="$2" \
    --window-size=1700,1000 --dump-dom "file://$work/frame$1.html" 2>/dev/null | grep -o 'data-seen="[^"]*"'
}
for width in 400 1600; do
  dark=$(look $width 0) light=$(look $width 1)
  if [ -z "$dark$light" ]; then
    echo "chromium does not run here: how the page looks is not checked"
    break
  fi
  seen=${light#data-seen=\"}
  [ "${seen%% *}" -le $width ] || complain "at $width pixels the page is ${seen%% *} wide"
  [ "$dark" != "$light" ] || complain "dark and light look the same: $dark"
done
exit $status
