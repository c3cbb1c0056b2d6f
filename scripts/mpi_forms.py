"""Writes the collectives of MPI as calls of tasks, in C and in Fortran, and the messages of Fortran.

The table below has the parameters of each, in MPI's order, without the communicator, which is the last. From it come
include/dovetail/detail/mpi_collectives.h and mpi_forms.f90.
"""

import argparse
import sys
from pathlib import Path

DETAIL = Path(__file__).resolve().parent.parent / "include" / "dovetail" / "detail"
MARK = "Written by scripts/mpi_forms.py"

ONE_TO_ALL = "sent:const-buffer sent_count:int sent_type:type received:buffer received_count:int received_type:type"
OF_EACH = "received:buffer counts:ints places:ints received_type:type"
BETWEEN_ALL = "sent:const-buffer sent_counts:ints sent_places:ints sent_type:type received:buffer received_counts:ints received_places:ints received_type:type"
REDUCTION = "sent:const-buffer received:buffer count:int type:type operation:operation"
GATHERED = f"sent:const-buffer sent_count:int sent_type:type {OF_EACH}"
COLLECTIVES = {
    "barrier": "",
    "bcast": "data:buffer count:int type:type root:int",
    "gather": f"{ONE_TO_ALL} root:int",
    "gatherv": f"{GATHERED} root:int",
    "scatter": f"{ONE_TO_ALL} root:int",
    "scatterv": "sent:const-buffer counts:ints places:ints sent_type:type received:buffer received_count:int received_type:type root:int",
    "allgather": ONE_TO_ALL,
    "allgatherv": GATHERED,
    "alltoall": ONE_TO_ALL,
    "alltoallv": BETWEEN_ALL,
    "alltoallw": BETWEEN_ALL.replace("_type:type", "_types:types"),
    "reduce": f"{REDUCTION} root:int",
    "allreduce": REDUCTION,
    "reduce_scatter": "sent:const-buffer received:buffer counts:ints type:type operation:operation",
    "reduce_scatter_block": REDUCTION,
    "scan": REDUCTION,
    "exscan": REDUCTION,
    "neighbor_allgather": ONE_TO_ALL,
    "neighbor_allgatherv": GATHERED,
    "neighbor_alltoall": ONE_TO_ALL,
    "neighbor_alltoallv": BETWEEN_ALL,
    "neighbor_alltoallw": BETWEEN_ALL.replace("_type:type", "_types:types").replace(
        "_places:ints", "_places:addresses"
    ),
}
# Of a message: the rank and the tag are those of the other side.
MESSAGES = {
    name: "data:const-buffer count:int type:type rank:int tag:int" for name in ("send", "ssend", "bsend", "rsend")
} | {"recv": "data:buffer count:int type:type rank:int tag:int"}

C_TYPES = {
    "const-buffer": "const void* {}",
    "buffer": "void* {}",
    "int": "int {}",
    "ints": "const int* {}",
    "addresses": "const MPI_Aint* {}",
    "type": "MPI_Datatype {}",
    "types": "const MPI_Datatype* {}",
    "operation": "MPI_Op {}",
    "communicator": "MPI_Comm {}",
}
POINTERS = ("const-buffer", "buffer", "ints", "addresses", "types")
F08 = {"type": "type(MPI_Datatype)", "operation": "type(MPI_Op)", "communicator": "type(MPI_Comm)"}


FORTRAN = """! A part of dovetail_mpi.f90, which says what holds: operations that are started and bound in one call. {mark}.
module dovetail_mpi_forms
  use, intrinsic :: iso_c_binding
  use :: mpi, only: MPI_ADDRESS_KIND, MPI_STATUS_SIZE, no_numbers => MPI_STATUS_IGNORE, &
                    other_in_place => MPI_IN_PLACE, other_bottom => MPI_BOTTOM
  use :: mpi_f08, only: MPI_Comm, MPI_Datatype, MPI_Op, MPI_Status, MPI_STATUS_IGNORE, MPI_PROC_NULL, MPI_ANY_SOURCE, &
                        MPI_ANY_TAG, MPI_IN_PLACE, MPI_BOTTOM
  implicit none
  private
{names}
  public :: place_of_status, place_of_numbers

{interfaces}

{types}
  integer(c_int32_t), parameter :: no_peer = -1, any_source = -2, no_tag = -1, any_tag = -2

  interface
    function begin_call(call, communicator, peer, tag, receives, start, arguments, size_of_arguments, status) &
          bind(c, name='dovetail_mpi_fortran_begin') result(answer)
      import
      type(c_ptr), value, intent(in) :: call
      integer(c_int32_t), value, intent(in) :: communicator, peer, tag, receives
      type(c_funptr), value, intent(in) :: start
      type(c_ptr), value, intent(in) :: arguments
      integer(c_size_t), value, intent(in) :: size_of_arguments
      type(c_ptr), value, intent(in) :: status
      integer(c_int32_t) :: answer
    end function

    subroutine put_request(number, request) bind(c, name='dovetail_mpi_fortran_request')
      import
      integer(c_int32_t), value, intent(in) :: number
      type(c_ptr), value, intent(in) :: request
    end subroutine

    ! The address of a buffer of whatever type and rank.
    function place_of(buffer) bind(c, name='dovetail_mpi_fortran_place') result(place)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buffer
!DIR$ IGNORE_TKR buffer
      type(*), dimension(*), asynchronous :: buffer
      type(c_ptr) :: place
    end function
  end interface

contains
  ! The operations are begun by the calls of mpif.h, whose MPI_IN_PLACE may lie elsewhere than that of mpi_f08.
  function common_place(place) result(common)
    type(c_ptr), intent(in) :: place
    type(c_ptr) :: common
    common = place
    if (c_associated(place, place_of(MPI_IN_PLACE))) common = place_of(other_in_place)
    if (c_associated(place, place_of(MPI_BOTTOM))) common = place_of(other_bottom)
  end function

  pure function destination_of(rank) result(peer)
    integer, intent(in) :: rank
    integer(c_int32_t) :: peer
    peer = merge(no_peer, rank, rank == MPI_PROC_NULL)
  end function

  pure function source_of(rank) result(peer)
    integer, intent(in) :: rank
    integer(c_int32_t) :: peer
    peer = merge(any_source, destination_of(rank), rank == MPI_ANY_SOURCE)
  end function

  pure function received_tag(tag) result(told)
    integer, intent(in) :: tag
    integer(c_int32_t) :: told
    told = merge(any_tag, tag, tag == MPI_ANY_TAG)
  end function

  ! Null where it is to be ignored.
  function place_of_status(status, ignored) result(place)
    type(MPI_Status), target, asynchronous :: status, ignored
    type(c_ptr) :: place
    place = c_loc(status)
    if (c_associated(place, c_loc(ignored))) place = c_null_ptr
  end function

  function place_of_numbers(status, ignored) result(place)
    integer, dimension(*), target, asynchronous :: status, ignored
    type(c_ptr) :: place
    place = c_loc(status)
    if (c_associated(place, c_loc(ignored))) place = c_null_ptr
  end function

{forms}
end module dovetail_mpi_forms
"""


def parameters(text: str) -> list[tuple[str, str]]:
    """Pairs of name and kind."""
    return [(name, kind) for name, kind in (one.split(":") for one in [*text.split(), "communicator:communicator"])]


def c_collective(name: str, text: str) -> str:
    given = parameters(text)
    # The larger ones first: so the longest of all fits what a call is handed over with.
    ordered = sorted(given, key=lambda one: one[1] == "int")
    fields = " ".join(f"{C_TYPES[kind].format(field)};" for field, kind in ordered)
    passed = ", ".join(f"with->{field}" for field, _ in given)
    listed = ", ".join(C_TYPES[kind].format(field) for field, kind in given)
    values = ", ".join(field for field, _ in ordered)
    lines = [
        f"typedef struct dovetail_mpi_{name}_arguments {{ {fields} }} dovetail_mpi_{name}_arguments;",
        f"static inline int dovetail_mpi_begin_i{name}(const void* given, void* request) {{",
        f"  const dovetail_mpi_{name}_arguments* with = (const dovetail_mpi_{name}_arguments*)given;",
        f"  return MPI_I{name}({passed}, (MPI_Request*)request);",
        "}",
    ]
    for form, call, suspends in ((f"i{name}", f"MPI_I{name}", 0), (name, f"MPI_{name.capitalize()}", 1)):
        lines += [
            f"static inline int32_t dovetail_mpi_{form}({listed}) {{",
            f"  const dovetail_mpi_{name}_arguments given = {{{values}}};",
            f'  return dovetail_mpi_collective("{call}", dovetail_mpi_begin_i{name}, &given, sizeof given, &communicator, {suspends});',
            "}",
        ]
    return "\n".join(lines)


def c_header() -> str:
    return f"""/// @file
/// Collectives in C: a part of <dovetail/dovetail_mpi.h>, which says what holds. {MARK}.
#ifndef DOVETAIL_DETAIL_MPI_COLLECTIVES_H
#define DOVETAIL_DETAIL_MPI_COLLECTIVES_H

#include "dovetail/detail/mpi_describe.h"

// clang-format off
{chr(10).join(c_collective(name, text) for name, text in COLLECTIVES.items())}
// clang-format on

#endif
"""


def wrapped(text: str, indent: int) -> str:
    """A statement of Fortran in lines that are short enough."""
    lines: list[str] = []
    line = " " * indent
    for word in text.split(" "):
        if len(line) + len(word) > 118:
            lines.append(line.rstrip() + " &")
            line = " " * (indent + 6)
        line += word + " "
    return "\n".join([*lines, line.rstrip()])


def fortran_declaration(name: str, kind: str, f08: bool) -> list[str]:
    if kind in ("const-buffer", "buffer"):
        return [
            f"!GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}",
            f"!DIR$ IGNORE_TKR {name}",
            f"    type(*), dimension(*), asynchronous :: {name}",
        ]
    if kind == "ints":
        return [f"    integer, dimension(*), target, intent(in) :: {name}"]
    if kind == "addresses":
        return [f"    integer(kind=MPI_ADDRESS_KIND), dimension(*), target, intent(in) :: {name}"]
    if kind == "types":
        return [f"    {F08['type'] if f08 else 'integer'}, dimension(*), target, intent(in) :: {name}"]
    return [f"    {F08.get(kind, 'integer') if f08 else 'integer'}, intent(in) :: {name}"]


def number_of(name: str, kind: str, f08: bool) -> str:
    if kind in ("const-buffer", "buffer"):
        return f"common_place(place_of({name}))" if f08 else f"place_of({name})"
    if kind in POINTERS:
        return f"c_loc({name})"
    return f"{name}%MPI_VAL" if f08 and kind in F08 else name


def fortran_form(name: str, text: str, is_message: bool) -> str:
    given = parameters(text)
    ordered = sorted(given, key=lambda one: one[1] not in POINTERS)
    pointers = [one for one in given if one[1] in POINTERS]
    receives = name == "recv"
    lines = [f"  recursive function begin_i{name}(given, request) bind(c) result(code)"]
    lines += [f"    type({name}_arguments), intent(in) :: given", "    type(c_ptr), value, intent(in) :: request"]
    lines += ["    integer(c_int32_t) :: code, number", f"    external :: MPI_I{name}"]
    for field, _ in pointers:
        lines.append(f"    integer, dimension(:), pointer, contiguous :: {field}")
    for field, _ in pointers:
        lines.append(f"    call c_f_pointer(given%{field}, {field}, [1])")
    passed = ", ".join(field if kind in POINTERS else f"given%{field}" for field, kind in given)
    lines.append(wrapped(f"call MPI_I{name}({passed}, number, code)", 4))
    lines += ["    if (code == 0) call put_request(number, request)", "  end function", ""]
    for f08 in (True, False):
        form = f"i{name}_{'handles' if f08 else 'numbers'}"
        listed = ", ".join(field for field, _ in given) + (", status" if receives else "")
        lines.append(wrapped(f"recursive function {form}({listed}) result(answer)", 2))
        for field, kind in given:
            lines += fortran_declaration(field, kind, f08)
        if receives:
            status = "type(MPI_Status)" if f08 else "integer, dimension(MPI_STATUS_SIZE)"
            lines.append(f"    {status}, optional, target, asynchronous :: status")
        lines += ["    integer(c_int32_t) :: answer", f"    type({name}_arguments), target :: given"]
        values = ", ".join(number_of(field, kind, f08) for field, kind in ordered)
        lines.append(wrapped(f"given = {name}_arguments({values})", 4))
        comm = number_of("communicator", "communicator", f08)
        sides = (
            ("source_of(rank), received_tag(tag), 1" if receives else "destination_of(rank), tag, 0")
            if is_message
            else "no_peer, no_tag, 0"
        )
        begin = f"begin_call(c_loc(name_of_i{name}), {comm}, {sides}, c_funloc(begin_i{name}), c_loc(given), c_sizeof(given), {{}})"
        if receives:
            ignored = "MPI_STATUS_IGNORE" if f08 else "no_numbers"
            place = f"place_of_{'status' if f08 else 'numbers'}(status, {ignored})"
            lines += [
                "    if (present(status)) then",
                wrapped("answer = " + begin.format(place), 6),
                "    else",
                wrapped("answer = " + begin.format("c_null_ptr"), 6),
                "    end if",
            ]
        else:
            lines.append(wrapped("answer = " + begin.format("c_null_ptr"), 4))
        lines += ["  end function", ""]
    return "\n".join(lines)


def fortran_types(name: str, text: str) -> str:
    ordered = sorted(parameters(text), key=lambda one: one[1] not in POINTERS)
    lines = [f"  type, bind(c) :: {name}_arguments"]
    for field, kind in ordered:
        lines.append(f"    {'type(c_ptr)' if kind in POINTERS else 'integer(c_int)'} :: {field}")
    lines += ["  end type", f"  character(kind=c_char, len=*), parameter :: i{name}_text = 'MPI_I{name}'//c_null_char"]
    lines += [
        f"  character(kind=c_char), dimension(len(i{name}_text)), target, save :: name_of_i{name} = &",
        f"    transfer(i{name}_text, [character(kind=c_char) :: ' '], len(i{name}_text))",
    ]
    return "\n".join(lines)


def fortran_module() -> str:
    forms = MESSAGES | COLLECTIVES
    names = [f"dovetail_mpi_i{name}" for name in forms]
    interfaces = "\n".join(
        f"  interface dovetail_mpi_i{name}\n    module procedure i{name}_handles, i{name}_numbers\n  end interface"
        for name in forms
    )
    types = "\n".join(fortran_types(name, text) for name, text in forms.items())
    written = "\n".join(fortran_form(name, text, name in MESSAGES) for name, text in forms.items()).rstrip()
    head = wrapped(f"public :: {', '.join(names)}", 2)
    return FORTRAN.format(mark=MARK, names=head, interfaces=interfaces, types=types, forms=written)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if a file is not as it would be written"
    )
    check = parser.parse_args().check
    is_old = False
    for path, text in ((DETAIL / "mpi_collectives.h", c_header()), (DETAIL / "mpi_forms.f90", fortran_module())):
        if not path.exists() or path.read_text() != text:
            is_old = True
            print(f"{path.name} is not what scripts/mpi_forms.py writes" if check else f"wrote {path}")
            if not check:
                path.write_text(text)
    return 1 if check and is_old else 0


if __name__ == "__main__":
    sys.exit(main())
