"""Sphinx's configuration of the site of documents. `make docs` calls it (scripts/docs.py), with the pages and what was generated in build/docs/source."""

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.domains import c, cpp
from sphinx.util import logging

ROOT = Path(__file__).resolve().parent.parent
logger = logging.getLogger(__name__)

project = "Dovetail"
project_copyright = "the developers of Dovetail"
html_title = "Dovetail"
extensions = ["breathe", "myst_parser"]
root_doc = "README"
source_suffix = {".md": "markdown"}
# As code hosts number headings for links.
myst_heading_anchors = 4
highlight_language = "none"
html_theme = "furo"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_use_index = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
add_module_names = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"


def pages(folder: str) -> list[str]:
    return sorted(f"docs/{folder}/{page.stem}" for page in (ROOT / "docs" / folder).glob("*.md"))


breathe_projects = {"headers": str(ROOT / "build" / "docs" / "xml")}
breathe_default_project = "headers"
breathe_domain_by_extension = {"hpp": "cpp", "h": "c"}
breathe_show_include = False
# Each header opens the namespace again, and in C a structure and its typedef have one name.
suppress_warnings = ["duplicate_declaration.cpp", "duplicate_declaration.c"]

# The navigation. A page that stands nowhere in it is a warning of Sphinx, and so is one that is missing.
NAVIGATION = {
    "Start": [
        "docs/quickstart",
        "docs/choosing",
        "docs/coming_from",
        "docs/cookbook",
        "docs/troubleshooting",
        "All pages <docs/index>",
    ],
    "How to": [
        "Tasks in Python <docs/python>",
        "docs/python_futures",
        "Tasks in C++ <docs/cpp>",
        "Tasks in C and Fortran <docs/c-api>",
        "Bandwidth of devices <docs/admission>",
        "docs/messages",
        "docs/one_sided",
        "Clusters <docs/cluster>",
        "docs/report",
        "docs/tiom",
    ],
    "Programs as they are": [
        "Reads fetched ahead <docs/prefetch>",
        "Writes staged <docs/staging>",
        "HDF5 <docs/hdf5>",
        "PyCOMPSs <docs/pycompss>",
    ],
    "Examples": ["docs/applications", "docs/heat", "docs/refinement", "docs/scaling"],
    "Reference": ["reference/python/index", "reference/cpp", "reference/c", "docs/environment", "CHANGELOG"],
    "Design": ["docs/architecture", "docs/papers", *pages("design")],
    "Development": ["CONTRIBUTING", "SECURITY", "bench/README", "bench/devices/README"],
    "Notes": pages("notes"),
}


def add_navigation(_app: Sphinx, page: str, content: list[str]) -> None:
    """The start page is README.md, which is to read well elsewhere, too: what only the site needs is added here."""
    if page != root_doc:
        return
    for caption, entries in NAVIGATION.items():
        lines = "\n".join(entries)
        content[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{lines}\n```\n"


def link_pages(app: Sphinx, tree: nodes.document) -> None:
    """Comments of sources name pages as docs/page.md; in the reference that is a link."""
    if not app.env.docname.startswith("reference/"):
        return
    for text in list(tree.findall(nodes.Text)):
        parts = re.split(r"\bdocs/([\w/-]+)\.md\b", text)
        if len(parts) == 1 or isinstance(text.parent, nodes.reference | nodes.literal):
            continue
        new: list[nodes.Node] = [nodes.Text(parts[0])]
        for page, rest in zip(parts[1::2], parts[2::2], strict=True):
            link = addnodes.pending_xref(
                "", refdomain="std", reftype="doc", reftarget=f"/docs/{page}", refexplicit=True, refwarn=True
            )
            link["refdoc"] = app.env.docname
            link += nodes.inline(text=f"docs/{page}.md")
            new += [link, nodes.Text(rest)]
        text.parent.replace(text, new)


def tidy_headers(_app: Sphinx, tree: nodes.document) -> None:
    """Takes away what Breathe shows on the page of each header: the namespace around everything, its groups that have no member of that header, and the
    typedefs of structures that are there."""
    for group in list(tree.findall(nodes.container)):
        if "breathe-sectiondef" in group["classes"] and next(group.findall(addnodes.desc), None) is None:
            group.parent.remove(group)
    for space in list(tree.findall(addnodes.desc)):
        if space["objtype"] == "type" and space[0].astext() == "namespace dovetail":
            space.parent.replace(space, [nodes.target("", "", ids=space[0]["ids"]), *space[1].children])
    structures = {
        f"typedef {each.astext()} {each.get('_toc_name')}": each for each in tree.findall(addnodes.desc_signature)
    }
    for each in list(tree.findall(addnodes.desc)):
        if each["objtype"] == "type" and each[0].astext() in structures:
            structures[each[0].astext()]["ids"] = each[0]["ids"]  # which have gone to the first of that name
            each.parent.remove(each)
    for signature in tree.findall(addnodes.desc_signature):
        name = signature.get("_toc_name", "")
        signature["_toc_name"] = "" if name.startswith("@") else name.split("::")[-1]


def in_table(node: nodes.Node) -> bool:
    while node.parent is not None:
        node = node.parent
        if isinstance(node, nodes.entry):
            return True
    return False


def leave_sources_unlinked(app: Sphinx, tree: nodes.document) -> None:
    """Links to files and folders of the project that are no pages become text: the site does not have them. Others stay, and Sphinx warns of them.

    In tables a link by the name of a page gets its title."""
    folder = (ROOT / app.env.docname).parent
    for link in list(tree.findall(addnodes.pending_xref)):
        if link["reftype"] == "myst" and link.astext().endswith(".md") and in_table(link):
            link["refexplicit"] = False
        if link["reftype"] == "myst" and link.get("refdomain") is None and (folder / link["reftarget"]).exists():
            link.replace_self(link.children)


def is_parameter(kind: str) -> bool:
    return kind.endswith(("Param", "ParamType"))


class CDomain(c.CDomain):
    """Parameters are objects as functions are, and would fill the results of a search."""

    def get_objects(self) -> Iterator[tuple[str, str, str, str, str, int]]:
        return (each for each in super().get_objects() if not is_parameter(each[2]))


class CppDomain(cpp.CPPDomain):
    """The same in C++."""

    def get_objects(self) -> Iterator[tuple[str, str, str, str, str, int]]:
        return (each for each in super().get_objects() if not is_parameter(each[2]))


@functools.cache
def public_names(app: Sphinx) -> dict[str, tuple[str, str]]:
    """Page and anchor of what the references describe, by its name in Python (`dovetail.wait`), C++ (`dovetail::File`, also `File::pread`) or C."""
    names: dict[str, tuple[str, str]] = {}
    for language in ("cpp", "c", "py"):
        for name, _, _, page, anchor, _ in app.env.get_domain(language).get_objects():
            if name != "dovetail":
                names[name] = (page, anchor)
                short = name.removeprefix("dovetail::")
                if "::" in short:
                    names.setdefault(short, (page, anchor))
    return names


def link_names(app: Sphinx, tree: nodes.document, page: str) -> None:
    """Names of the public interfaces that stand in a text as code lead to their references. One of `dt` that is not there is a fault."""
    names = public_names(app)
    for literal in list(tree.findall(nodes.literal)):
        above = literal.parent
        while above is not None and not isinstance(above, nodes.reference | nodes.title | addnodes.desc_signature):
            above = above.parent
        name = re.sub(r"^@?dt\.", "dovetail.", re.split(r"[^\w@.:]", literal.astext())[0]).rstrip(".")
        candidates = [name]
        if page.startswith("reference/python/") and name[:1].isupper():
            candidates += [f"dovetail.{page.split('/')[-1]}.{name}", f"dovetail.{name}"]
        found = next((names[each] for each in candidates if each in names), None)
        if above is None and found is not None:
            target = f"{app.builder.get_relative_uri(page, found[0])}#{found[1]}"
            link = nodes.reference("", "", internal=True, refuri=target)
            literal.replace_self(link)
            link += literal
        elif found is None and name.startswith("dovetail.") and literal.astext().lstrip("@").startswith("dt."):
            logger.warning("there is no public name '%s'", literal.astext(), location=literal)


@functools.cache
def titles(app: Sphinx) -> dict[str, nodes.bullet_list]:
    """What the navigation shows of each page: its title, and the pages below it."""
    short = {}
    for page, contents in app.env.tocs.items():
        short[page] = contents
        if next(contents.findall(addnodes.toctree), None) is None:
            short[page] = nodes.bullet_list("", nodes.list_item("", contents[0][0].deepcopy()))
    return short


def navigate_by_titles(
    app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: nodes.document | None
) -> None:
    """Saves a third of the time: for the navigation of each page, Sphinx copies the tables of contents of all pages, and only then leaves all but titles away."""
    make = context["toctree"]

    def navigation(**options: Any) -> str:
        whole, app.env.tocs = app.env.tocs, titles(app)
        try:
            return str(make(**options))
        finally:
            app.env.tocs = whole

    context["toctree"] = navigation


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_domain(CDomain, override=True)
    app.add_domain(CppDomain, override=True)
    app.connect("source-read", add_navigation)
    app.connect("doctree-read", link_pages)
    app.connect("doctree-read", tidy_headers, priority=100)  # before Sphinx collects what is on the page
    app.connect("doctree-read", leave_sources_unlinked)
    app.connect("doctree-resolved", link_names)
    app.connect("html-page-context", navigate_by_titles, priority=100)  # before the theme asks for it
    return {"parallel_read_safe": True, "parallel_write_safe": True}
