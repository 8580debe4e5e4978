"""Sphinx configuration: `make docs` builds the site into build/site, and a warning, such as a broken link, fails it."""

import html
import json
import re
from pathlib import Path
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math import latex2mathml

project = "flexarm"
author = "flexarm maintainers"
copyright = "flexarm maintainers, Apache-2.0"
html_title = "flexarm"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
autodoc_typehints = "none"  # docstrings name units and shapes
myst_heading_anchors = 4  # links to headings as on the page of the repository
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_fence_as_directive = ["math"]  # equations are fences ```math and $...$, as on the page of the repository
html_math_renderer = "mathml"
exclude_patterns = ["README.md"]

html_theme = "furo"  # no fonts or scripts of other servers
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
pygments_style = "tango"
highlight_language = "none"  # blocks without a language are diagrams and commands

READ_TEXTS = """if (location.protocol === "file:")
  window.fetch = async (url) => ({ text: async () => PAGES[url.replace(/^[.][/]|#.*/g, "")] ?? "" });
"""

MATHML = "{http://www.w3.org/1998/Math/MathML}"
ACCENTS = set(latex2mathml.accents.values())
ElementTree.register_namespace("", MATHML[1:-1])


def written(math: str, block: bool) -> str:
    """TeX as MathML, which browsers draw by themselves: no script and no font of ours."""
    made = latex2mathml.tex2mathml(math, as_block=block)
    tree = ElementTree.fromstring(re.sub(r"&(?!amp|lt|gt)\w+;", lambda name: html.unescape(name[0]), made))
    for element in list(tree.iter(f"{MATHML}munderover")):
        letter, index, accent = element
        if accent.text in ACCENTS:  # docutils writes the index of a letter with an accent below the letter
            element.tag = f"{MATHML}msub"
            element[:] = [ElementTree.Element(f"{MATHML}mover", accent="true"), index]
            element[0].extend([letter, accent])
    return ElementTree.tostring(tree, encoding="unicode", short_empty_elements=False)


def visit_math(self, node) -> None:
    """An equation within a line."""
    self.body.append(written(node.astext(), block=False))
    raise nodes.SkipNode


def visit_math_block(self, node) -> None:
    """An equation on lines of its own; a narrow window scrolls it."""
    self.body.append(f'<div class="math">{written(node.astext(), block=True)}</div>\n')
    raise nodes.SkipNode


def write_texts(app, error) -> None:
    """The text of every page for the excerpts of the search: a page opened from a file may not read other files."""
    if error is None and app.builder.name == "html":
        pages = {}
        for name in app.env.found_docs:
            page = Path(app.outdir, f"{name}.html").read_text(encoding="utf-8")
            pages[f"{name}.html"] = page[page.index('<article role="main"') : page.index("</article>")]
        script = f"const PAGES = {json.dumps(pages)};\n{READ_TEXTS}"
        Path(app.outdir, "_static", "texts.js").write_text(script, encoding="utf-8")


def add_texts(app, pagename, templatename, context, doctree) -> None:
    """Only the page of the search reads the texts."""
    if pagename == "search":
        app.add_js_file("texts.js")


def setup(app) -> None:
    """Registers the drawing of equations, and the excerpts of the search."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    app.connect("html-page-context", add_texts)
    app.connect("build-finished", write_texts)
