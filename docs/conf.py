"""Sphinx configuration: `make docs` builds the site into build/site, and a warning, such as a broken link, fails it."""

project = "flexarm"
author = "flexarm maintainers"
copyright = "flexarm maintainers, Apache-2.0"
html_title = "flexarm"

extensions = ["myst_parser"]
myst_heading_anchors = 4  # links to headings as on the page of the repository
myst_enable_extensions = ["colon_fence"]
exclude_patterns = ["README.md"]

html_theme = "furo"  # no fonts or scripts of other servers
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
pygments_style = "tango"
highlight_language = "none"  # blocks without a language are equations and diagrams
