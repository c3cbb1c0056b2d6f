"""The script that writes the Fortran modules from the C headers: what it makes of each form, and what it refuses."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["DOVETAIL_SOURCE_DIR"])
SCRIPT = SOURCE / "scripts/fortran_interface.py"

HEADER = """\
/// @file
/// A header. Wherever it occurs, `result` may be null.
#ifndef A_H
#define A_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct dovetail_thing dovetail_thing;  ///< Opaque.
typedef int32_t (*dovetail_body)(void* argument);

/// Constants.
enum {
  DOVETAIL_A = 0,  ///< First.
  DOVETAIL_B = 7   ///< Last.
};

/// A structure.
typedef struct dovetail_options {
  size_t size;                ///< Its size.
  const char* name;           ///< A name.
  dovetail_body body;         ///< A function.
  void (*destroy)(void* it);  ///< Another.
  double rate;                ///< A rate.
} dovetail_options;

/// Makes one. `options` is copied; `options` may be null.
int32_t dovetail_make(const char* path, const dovetail_options* options, dovetail_thing** thing);
/// `all` must not be null; a name in it may be null.
int64_t dovetail_sum(const dovetail_thing* thing, const dovetail_options* all, size_t count, int64_t* total);
/// The settings.
void dovetail_settings(const dovetail_thing* const* things, size_t count, dovetail_options* options, size_t* result);
/// Calls.
int32_t dovetail_call(void (*callback)(void* argument), void* argument, dovetail_body body);
/// Nothing.
const char* dovetail_name(void);

#ifdef __cplusplus
}
#endif
#endif
"""

MODULE = """\
! The interfaces of a.h, where each is described. Written by scripts/fortran_interface.py: change the header, then
! `make format`. Use the module `dovetail`, which has them all.
module a
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer(c_int32_t), parameter :: DOVETAIL_A = 0
  integer(c_int32_t), parameter :: DOVETAIL_B = 7

  type, bind(c) :: dovetail_options
    integer(c_size_t) :: size_of_this = 0
    type(c_ptr) :: name = c_null_ptr
    type(c_funptr) :: body = c_null_funptr
    type(c_funptr) :: destroy = c_null_funptr
    real(c_double) :: rate = 0
  end type

  interface
    function dovetail_make(path, options, thing) bind(c) result(answer)
      import
      character(kind=c_char), dimension(*), intent(in) :: path
      type(c_ptr), value, intent(in) :: options
      type(c_ptr), intent(out) :: thing
      integer(c_int32_t) :: answer
    end function

    function dovetail_sum(thing, all, count, total) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: thing
      type(dovetail_options), dimension(*), intent(in) :: all
      integer(c_size_t), value, intent(in) :: count
      integer(c_int64_t), intent(out) :: total
      integer(c_int64_t) :: answer
    end function

    subroutine dovetail_settings(things, count, options, result) bind(c)
      import
      type(c_ptr), dimension(*), intent(in) :: things
      integer(c_size_t), value, intent(in) :: count
      type(dovetail_options), intent(inout) :: options
      type(c_ptr), value, intent(in) :: result
    end subroutine

    function dovetail_call(callback, argument, body) bind(c) result(answer)
      import
      type(c_funptr), value, intent(in) :: callback
      type(c_ptr), value, intent(in) :: argument
      type(c_funptr), value, intent(in) :: body
      integer(c_int32_t) :: answer
    end function

    function dovetail_name() bind(c) result(answer)
      import
      type(c_ptr) :: answer
    end function
  end interface
end module a
"""

REFUSED = {
    "int32_t dovetail_f(int32_t first, ...);": "any number of arguments",
    "int32_t dovetail_f(long number);": "Fortran has no 'long'",
    "unsigned dovetail_f(void);": "Fortran has no 'unsigned'",
    "int32_t dovetail_f(char* text);": "no counterpart of 'text'",
    "int32_t dovetail_f(const int32_t* number);": "no counterpart of 'number'",
    "typedef union dovetail_u { int32_t a; } dovetail_u;": "neither a structure nor",
    "typedef struct dovetail_s { int32_t a[2]; } dovetail_s;": "only integers of fixed width",
    "int32_t dovetail_f(const char* const* names);": "with a count behind it",
    "enum { DOVETAIL_X };": "has no value of its own",
    "extern int32_t dovetail_variable;": "no counterpart",
}


def load():
    spec = importlib.util.spec_from_file_location("fortran_interface", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["fortran_interface"] = module
    spec.loader.exec_module(module)
    return module


def check_forms(script) -> list[str]:
    made = script.Module("a", HEADER).text("a.h")
    if made == MODULE:
        return []
    return [f"not as expected:\n{made}"]


def check_refused(script) -> list[str]:
    problems = []
    for line, expected in REFUSED.items():
        try:
            script.Module("a", f"/// Something.\n{line}\n")
        except script.Unsupported as refusal:
            if expected not in str(refusal):
                problems.append(f"{line}: '{refusal}' does not say '{expected}'")
        else:
            problems.append(f"{line}: not refused")
    return problems


def check_long_lines(script) -> list[str]:
    arguments = ", ".join(f"int64_t a_rather_long_name_{i}" for i in range(20))
    lines = script.Module("a", f"int32_t dovetail_f({arguments});\n").text("a.h").splitlines()
    problems = [f"too long: {line}" for line in lines if len(line) > 132]
    joined = " ".join(lines).replace("& ", "").replace("  ", " ")
    for i in range(20):
        if joined.count(f"a_rather_long_name_{i},") + joined.count(f"a_rather_long_name_{i})") == 0:
            problems.append(f"argument {i} is missing")
    return problems


def check_whole_script(script) -> list[str]:
    """Notices a module that is out of date, writes it, removes one whose header is gone, and leaves others alone."""
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        include = pathlib.Path(folder) / "include/dovetail"
        include.mkdir(parents=True)
        (pathlib.Path(folder) / "scripts").mkdir()
        copy = pathlib.Path(folder) / "scripts" / SCRIPT.name
        copy.write_bytes(SCRIPT.read_bytes())
        (include / "dovetail_a.h").write_text(HEADER)
        (include / "dovetail.f90").write_text("! By hand.\n")
        (include / "dovetail_gone.f90").write_text(f"! {script.MARK}\n")

        def run(*options: str) -> tuple[int, str]:
            result = subprocess.run([sys.executable, copy, *options], capture_output=True, text=True, check=False)
            return result.returncode, result.stdout

        status, said = run("--check")
        if status != 1 or "dovetail_a.f90, dovetail_gone.f90" not in said:
            problems.append(f"--check before: {status}, {said}")
        status, said = run()
        if status != 0 or sorted(path.name for path in include.glob("*.f90")) != ["dovetail.f90", "dovetail_a.f90"]:
            problems.append(f"writing: {status}, {said}")
        if run("--check") != (0, ""):
            problems.append("--check after writing complains")
        (include / "dovetail_a.h").write_text(HEADER.replace("= 7", "= 8"))
        if run("--check")[0] != 1:
            problems.append("a change of a constant is not noticed")
    return problems


def check_tree() -> list[str]:
    result = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False)
    return [] if result.returncode == 0 else [result.stdout]


def main() -> int:
    script = load()
    problems = (
        check_forms(script)
        + check_refused(script)
        + check_long_lines(script)
        + check_whole_script(script)
        + check_tree()
    )
    print("\n".join(problems) or "each form of the headers becomes what it should")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
