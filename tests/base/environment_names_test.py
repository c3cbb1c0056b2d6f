"""Every variable of the environment that the tree asks for is in the list of src/base/environment.cpp, and none is there in vain.

The page docs/environment.md has a row for each, in the order of their names below each heading."""

import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["DOVETAIL_SOURCE_DIR"])
LIST = SOURCE / "src/base/environment.cpp"
PAGE = SOURCE / "docs/environment.md"
FOLDERS = ["src", "bindings", "interpose", "python", "tools", "bench", "examples", "tests", "scripts", "cmake"]
NAME = r"(DOVETAIL_[A-Z0-9_]+)"
# The forms in which the languages of the tree ask.
ASKED = [
    rf'getenv\("{NAME}"\)',
    rf'environ(?:\.get|\.pop|\.setdefault)?[\[(]"{NAME}"',
    rf'(?:number_from_environment|text_from_environment|environment|variable|choice|number)\((?:read, )?"{NAME}"',
    rf"\$ENV\{{{NAME}\}}",
    rf"\$\{{?{NAME}(?::-[^}}]*)?\}}?",
]
SUFFIXES = {
    ".cpp": ASKED[:3],
    ".hpp": ASKED[:3],
    ".c": ASKED[:3],
    ".py": ASKED[1:2],
    ".cmake": ASKED[3:4],
    ".sh": ASKED[4:],
}


def asked_for() -> dict[str, str]:
    """Names, each with a file that asks for it."""
    found: dict[str, str] = {}
    files = subprocess.run(["git", "ls-files", *FOLDERS], cwd=SOURCE, capture_output=True, text=True, check=False)
    paths = [SOURCE / name for name in files.stdout.split()] or [
        path for folder in FOLDERS for path in (SOURCE / folder).rglob("*")
    ]
    for path in paths:
        if (
            path.suffix in SUFFIXES
            and path.is_file()
            and path.name not in ("environment_test.cpp", "libraries_test.py")
        ):
            text = path.read_text(errors="replace")
            for form in SUFFIXES[path.suffix]:
                found.update(dict.fromkeys(re.findall(form, text), str(path.relative_to(SOURCE))))
    return found


def page_problems(names: set[str]) -> list[str]:
    """What the page says too little, too much or out of order."""
    sections = re.split(r"^## ", PAGE.read_text(), flags=re.M)[1:]
    rows = {
        section.splitlines()[0]: re.findall(rf"^\| `{NAME}` \| [^|]+ \| [^|]+ \|$", section, re.M)
        for section in sections
    }
    told = [name for section in rows.values() for name in section]
    problems = [f"{PAGE.name} has no row for {name}" for name in sorted(names - set(told))]
    problems += [f"{PAGE.name} has a row for {name}, which there is not" for name in sorted(set(told) - names)]
    problems += [
        f"{PAGE.name} has more than one row for {name}" for name in sorted({n for n in told if told.count(n) > 1})
    ]
    problems += [f"{PAGE.name}: '{title}' is not in order" for title, found in rows.items() if found != sorted(found)]
    return problems


def main() -> int:
    text = LIST.read_text()
    names = set(re.findall(rf'^    "{NAME}",$', text, re.M))
    beginnings = re.findall(r'"(DOVETAIL_[A-Z]+_)"', text)
    asked = asked_for()
    if len(names) < 15 or len(beginnings) < 2 or len(asked) < 15:
        print(f"not understood: {len(names)} names, {len(beginnings)} beginnings, {len(asked)} asked for")
        return 1
    problems = [
        f"{where} asks for {name}, which src/base/environment.cpp does not list"
        for name, where in sorted(asked.items())
        if name not in names and not any(name.startswith(beginning) for beginning in beginnings)
    ]
    problems += [f"nobody asks for {name}" for name in sorted(names - asked.keys())]
    problems += page_problems(names)
    print("\n".join(problems) or f"{len(asked)} variables are asked for, all of them known")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
