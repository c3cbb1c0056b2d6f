"""The reference of Python as pages in Markdown, from the names in `__all__`, their docstrings and annotations. Nothing is imported or built.

`scripts/docs.py` calls it; the directives in the pages are Sphinx's (MyST). A docstring is Markdown: names in backticks, indented blocks of code. Where a
sentence begins with the name of a parameter and a colon, it becomes an entry of a list.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import griffe

ROOT = Path(__file__).resolve().parent.parent

# Pages by what a reader looks for: the names of `dovetail` on each. The modules `mpi` and `rma` have pages of their own.
PAGES = {
    "tasks": ("Tasks", ["task", "io", "constraint", "Task", "Stream", "Limit", "shared", "cancelled", "in_task"]),
    "directions": (
        "Directions of parameters",
        [
            "IN",
            "OUT",
            "INOUT",
            "COMMUTATIVE",
            "FILE_IN",
            "FILE_OUT",
            "FILE_INOUT",
            "FILE_COMMUTATIVE",
            "UNORDERED",
            "Direction",
            "Space",
        ],
    ),
    "futures": (
        "Futures and waiting",
        [
            "Future",
            "wait",
            "gather",
            "as_completed",
            "map",
            "wait_for_any",
            "barrier",
            "group",
            "Group",
            "Executor",
            "register_joblib",
        ],
    ),
    "files": (
        "Files and descriptors",
        ["open", "OpenFile", "File", "read_file", "prefetch", "empty", "wait_readable", "wait_writable"],
    ),
    "synchronization": (
        "Synchronization and events",
        ["Lock", "Semaphore", "Latch", "Barrier", "select", "EventSource", "Operation"],
    ),
    "runtime": ("Runtime and cluster", ["Runtime", "Cluster"]),
    "errors": ("Exceptions", ["TaskFailed", "TaskCancelled", "TimeLimitExceeded", "Stuck"]),
}
MODULES = {"mpi": "Messages of MPI", "rma": "One-sided communication"}
# Called by Dovetail itself, in other modules.
INTERNAL = {"dovetail.Task.signature_elsewhere", "dovetail.Task.of_several", "dovetail.Cluster.signature_of"}
# Classes whose objects a program gets and does not make.
NOT_MADE = {"dovetail.Future", "dovetail.Stream"}
# Has the public names of the package.
INTERFACE = "dovetail.interface"
# A protocol says to type checkers what these functions take. Each of its options is one of `Task`.
MAKERS = {"dovetail.task", "dovetail.io"}


@dataclass
class Reference:
    """`pages`: their texts by path. `faults`: what is public and has no docstring, or stands on no page."""

    pages: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


class Package:
    """What can be read from the sources of `dovetail`, without importing them."""

    def __init__(self, sources: Path) -> None:
        self.loader = griffe.GriffeLoader(search_paths=[sources])
        self.sources = sources
        self.loader.load("dovetail")
        self.loader.resolve_aliases()

    def module(self, path: str) -> griffe.Module:
        return self.loader.modules_collection[path]

    def exported(self, module: griffe.Module, name: str) -> griffe.Object:
        """The object behind a public name. A module's import says where it is: a submodule may have the same name."""
        found = self.loader.modules_collection[module.imports[name]] if name in module.imports else module[name]
        return found.final_target if found.is_alias else found

    def place(self, found: griffe.Object) -> str:
        path = found.filepath if isinstance(found.filepath, Path) else found.filepath[0]
        return f"{path.relative_to(self.sources.parent)}:{found.lineno}"

    def signatures(self, name: str, found: griffe.Function) -> list[str]:
        """In all forms save those that only let a type checker accept futures in the places of arguments."""
        if name in MAKERS:
            forms = self.loader.modules_collection["dovetail.tasks.Maker"].overloads["__call__"]
            without = [re.sub(r" -> \w+$", "", form) for form in map(signature, [forms[1], *reversed(forms[4:])])]
            return list(dict.fromkeys(without))
        return [form for form in map(signature, found.overloads or [found]) if "Promised" not in form]

    def parameters(self, name: str, found: griffe.Function) -> set[str]:
        names = {each.name for form in found.overloads or [found] for each in form.parameters}
        if name in MAKERS:
            names |= {each.name for each in self.loader.modules_collection["dovetail.tasks.Task.__init__"].parameters}
        return names


def docstring(found: griffe.Object) -> str:
    """Its own, or that of what it overrides. A function with overloads has it at any of them."""
    for candidate in [found, *(found.overloads or [] if isinstance(found, griffe.Function) else [])]:
        if candidate.docstring is not None:
            return candidate.docstring.value
    if isinstance(found.parent, griffe.Class):
        for base in found.parent.resolved_bases:
            if found.name in base.all_members:
                return docstring(base.all_members[found.name])
    return ""


def signature(function: griffe.Function) -> str:
    """Parameters and result, as in Python."""
    parts: list[str] = []
    kinds = griffe.ParameterKind
    keyword_only = False
    parameters = [each for each in function.parameters if each.name != "self" or function.parent is None]
    for position, each in enumerate(parameters):
        if each.kind is kinds.keyword_only and not keyword_only:
            keyword_only = True
            parts.append("*")
        star = {kinds.var_positional: "*", kinds.var_keyword: "**"}.get(each.kind, "")
        keyword_only = keyword_only or star == "*"
        text = star + each.name
        if each.annotation is not None:
            text += f": {each.annotation}"
        if each.default is not None and not star:
            text += f" = {each.default}" if each.annotation is not None else f"={each.default}"
        parts.append(text)
        last = position + 1 == len(parameters)
        if each.kind is kinds.positional_only and (last or parameters[position + 1].kind is not kinds.positional_only):
            parts.append("/")
    result = "" if function.returns is None or function.name == "__init__" else f" -> {function.returns}"
    return f"({', '.join(parts)}){result}".replace("_core.", "")


def markdown(text: str, parameters: set[str]) -> str:
    """A docstring as it stands on a page: blocks of code named as Python, parameters as a list."""
    paragraphs = re.split(r"\n\n(?! {4})", text)
    return "\n\n".join(part for paragraph in paragraphs for part in _paragraph(paragraph, parameters))


def _paragraph(text: str, parameters: set[str]) -> Iterator[str]:
    words, *code = re.split(r"\n\n(?= {4})", text, maxsplit=1)
    if words.startswith("    "):
        words, code = "", [text]
    if words:
        if parameters:
            names = "|".join(map(re.escape, parameters))
            words = re.sub(rf"(?:^|(?<=[.)`;])\s+)({names}): ", r"\n- **\1**: ", words, flags=re.MULTILINE)
        yield words.strip("\n")
    for block in code:
        yield "```python\n" + re.sub(r"^ {4}", "", block, flags=re.MULTILINE) + "\n```"


def is_shown(member: griffe.Object) -> bool:
    if member.name.startswith("__") and member.name.endswith("__"):
        return member.name not in ("__init__", "__new__") and bool(docstring(member))
    if member.name.startswith("_") or isinstance(member, griffe.Class | griffe.Module):
        return False
    # Those that only `__init__` assigns are shown if they have words.
    return (
        not isinstance(member, griffe.Attribute)
        or bool(docstring(member))
        or bool(member.labels & {"property", "class-attribute"})
    )


def members(cls: griffe.Class) -> Iterator[griffe.Object]:
    """Those of bases that have no public name, as it overrides them, and its own."""
    bases = [base for base in cls.resolved_bases if base.module.name == "_core"]
    names = dict.fromkeys(name for each in [*bases, cls] for name in each.members)
    for name in names:
        member = next(each.members[name] for each in [cls, *bases] if name in each.members)
        if not member.is_alias and is_shown(member):
            yield member


class Writer:
    def __init__(self, package: Package, reference: Reference) -> None:
        self.package = package
        self.reference = reference

    def words(self, name: str, found: griffe.Object, parameters: set[str]) -> str:
        text = docstring(found)
        if not text:
            self.reference.faults.append(f"{self.package.place(found)}: {name} is public and has no docstring")
        return markdown(text, parameters)

    def directive(self, kind: str, heads: list[str], body: str, fence: str, options: tuple[str, ...] = ()) -> str:
        """One description below one signature, or several of them: the last one has the words."""
        parts = []
        for position, head in enumerate(heads):
            lines = [f"{fence}{{{kind}}} {head}", *options]
            lines += [":no-index:"] if position else []
            lines += ["", body] if position + 1 == len(heads) else []
            parts.append("\n".join([*lines, fence]))
        return "\n\n".join(parts)

    def function(self, module: str, name: str, found: griffe.Object, of: str = "") -> str:
        whole = f"{module}.{of}{name}"
        heads = [name + form for form in self.package.signatures(whole, found)]
        parameters = self.package.parameters(whole, found)
        options = (":staticmethod:",) if "staticmethod" in found.labels else ()
        kind, fence = ("py:method", "````") if of else ("py:function", "`````")
        return self.directive(kind, heads, self.words(whole, found, parameters), fence, options)

    def attribute(self, module: str, name: str, found: griffe.Attribute, of: str = "") -> str:
        options = [f":type: {found.annotation}"] if found.annotation is not None else []
        if "class-attribute" in found.labels or not of:
            options += [f":value: {found.value}"] if str(found.value) not in ("None", "...") else []
        kind = "py:property" if "property" in found.labels else "py:attribute" if of else "py:data"
        body = self.words(f"{module}.{of}{name}", found, set())
        return self.directive(kind, [name], body, "````", tuple(options))

    def cls(self, module: str, name: str, found: griffe.Class) -> str:
        whole = f"{module}.{name}"
        is_error = any(re.search(r"Error|TaskFailed", str(base)) for base in found.bases)
        make = found.members.get("__init__")
        head, parameters = name, set()
        if isinstance(make, griffe.Function) and not is_error and whole not in NOT_MADE:
            parameters = {each.name for each in make.parameters}
            head += signature(make)
        body = [self.words(whole, found, parameters)]
        for member in members(found):
            if f"{whole}.{member.name}" in INTERNAL:
                continue
            write = self.function if isinstance(member, griffe.Function) else self.attribute
            body.append(write(module, member.name, member, f"{name}."))
        return self.directive("py:exception" if is_error else "py:class", [head], "\n\n".join(body), "`````")

    def any(self, module: str, name: str, found: griffe.Object) -> str:
        if isinstance(found, griffe.Class):
            return self.cls(module, name, found)
        return (self.function if isinstance(found, griffe.Function) else self.attribute)(module, name, found)


def first_sentence(text: str) -> str:
    first = re.split(r"(?<=[.:])\s", " ".join(text.split("\n\n")[0].split()), maxsplit=1)[0]
    return first.rstrip(":").replace("|", "\\|")


def make(sources: Path) -> Reference:
    """The pages for the package below the folder `sources`."""
    package = Package(sources)
    reference = Reference()
    writer = Writer(package, reference)
    top = package.module(INTERFACE)
    index = ["# Python", "", "The public names of the package `dovetail`, which programs import as `dt`.", ""]
    public = set(map(str, top.exports or ()))
    placed = {name for _, names in PAGES.values() for name in names} | set(MODULES)
    for name in sorted(public - placed):
        reference.faults.append(f"scripts/python_reference.py: dovetail.{name} is public and stands on no page")
    for name in sorted(placed - public):
        reference.faults.append(f"scripts/python_reference.py: dovetail.{name} stands on a page and is not public")

    def page(path: str, title: str, module: str, names: list[str], words: str) -> None:
        texts = [
            f"# {title}",
            f"```{{py:{'module' if module != 'dovetail' else 'currentmodule'}}} {module}\n```",
            words,
        ]
        index.extend([f"## {title}", "", "| name | what it is |", "|---|---|"])
        for name in names:
            found = package.exported(package.module(INTERFACE if module == "dovetail" else module), name)
            texts.append(writer.any(module, name, found))
            index.append(f"| `{module}.{name}` | {first_sentence(docstring(found))} |")
        index.append("")
        reference.pages[f"{path}.md"] = "\n\n".join(texts) + "\n"

    for path, (title, names) in PAGES.items():
        page(path, title, "dovetail", [name for name in names if name in public], "")
    for name, title in MODULES.items():
        module = package.module(f"dovetail.{name}")
        names = [str(each) for each in module.exports or ()]
        page(
            name,
            title,
            f"dovetail.{name}",
            names,
            f"The module `dovetail.{name}`. " + markdown(docstring(module), set()),
        )
    paths = "\n".join([*PAGES, *MODULES])
    index += ["```{toctree}", ":hidden:", "", paths, "```"]
    reference.pages["index.md"] = "\n".join(index) + "\n"
    return reference
