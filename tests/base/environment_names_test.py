"""Every variable of the environment that the tree asks for is in the list of src/base/environment.cpp, and none is there in vain."""

import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["DOVETAIL_SOURCE_DIR"])
LIST = SOURCE / "src/base/environment.cpp"
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
    print("\n".join(problems) or f"{len(asked)} variables are asked for, all of them known")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
