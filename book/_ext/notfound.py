"""A Sphinx extension for 404.html, which servers of static pages show where no page is.

It is shown at addresses of any depth, so it brings its style with it, and its links
begin at the root of the site: `html: baseurl` of the configuration, or, where that is
not set, what stands in the address before the folder of the pages.
"""

import html
import json
from pathlib import Path

PAGE = """<!DOCTYPE html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>No such page - {title}</title>
<link rel="icon" href="data:,">
<style>
html {{ color-scheme: light; --ink: #1a1a1a; --paper: #ffffff; --link: #0b57c2; }}
html[data-theme="dark"] {{
  color-scheme: dark; --ink: #e6e9ee; --paper: #14181d; --link: #7fb4ff;
}}
body {{
  font: 17px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 44rem; margin: 0 auto; padding: 1.5rem 1rem;
}}
a {{ color: var(--link); }}
#asked {{ overflow-wrap: anywhere; }}
input, button {{ font: inherit; padding: 0.25rem 0.5rem; }}
</style>
<script>
const chosen = localStorage.getItem("theme") || localStorage.getItem("mode") || "light";
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
document.documentElement.dataset.theme =
  chosen === "auto" ? (dark ? "dark" : "light") : chosen;
</script>
</head>
<body>
<main>
<h1>There is no such page</h1>
<p>Nothing is at <code id="asked">this address</code>. A page that was divided or
renamed may have taken it along.</p>
<p id="near" hidden>Did you look for <a href=""></a>?</p>
<form role="search" action="search.html">
<label for="q">Search the book</label>
<input id="q" name="q" type="search"> <button>Search</button>
</form>
<h2>The pages of the book</h2>
<ol>
{pages}
</ol>
</main>
<script>
const folders = {folders}, set = {base};
const parts = location.pathname.split("/").slice(0, -1);
const inside = parts.findIndex(part => folders.includes(part));
const found = inside < 0 ? parts : parts.slice(0, inside);
const root = set || found.join("/") + "/";
document.getElementById("asked").textContent = decodeURI(location.pathname);
for (const link of document.querySelectorAll("main ol a"))
  link.href = root + link.getAttribute("href");
document.querySelector("form").action = root + "search.html";
const words = text => new Set(text.toLowerCase().split(/[^a-z0-9]+/).filter(Boolean));
const wanted = words(location.pathname.split("/").pop().replace(/\\.\\w+$/, ""));
let best = null, most = 0;
for (const link of document.querySelectorAll("main ol a")) {{
  const name = words(link.pathname.split("/").pop().replace(/\\.\\w+$/, ""));
  const common = [...wanted].filter(word => name.has(word)).length;
  const share = common / Math.max(1, new Set([...wanted, ...name]).size);
  if (share > most) [best, most] = [link, share];
}}
if (best) {{
  const near = document.querySelector("#near a");
  near.href = best.href;
  near.textContent = best.textContent;
  near.parentElement.hidden = false;
}}
</script>
</body>
</html>
"""


def _write(app, exception):
    if exception or app.builder.name != "html":
        return
    env = app.env
    root = app.config.root_doc
    names, left = [], [root]
    while left:
        name = left.pop(0)
        names.append(name)
        left = list(env.toctree_includes.get(name, [])) + left
    pages = "\n".join(
        f'<li><a href="{html.escape(name)}.html">'
        f"{html.escape(env.titles[name].astext())}</a></li>"
        for name in names
    )
    text = PAGE.format(
        title=html.escape(app.config.project),
        pages=pages,
        folders=json.dumps(sorted({name.split("/")[0] for name in names})),
        base=json.dumps(app.config.html_baseurl),
    )
    (Path(app.outdir) / "404.html").write_text(text, encoding="utf-8")


def setup(app):
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
