#include "data_calls.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "agreement.hpp"
#include "data_type.hpp"
#include "draining.hpp"
#include "failures.hpp"
#include "format_library.hpp"
#include "functions.hpp"

namespace dovetail::interpose::mpiio {
namespace {

using staging::FileFailure;

// Of this rank alone, also within a collective call. Only a program that has given a count of that size itself needs more than an int.
int library_write_at(MPI_File file, MPI_Offset offset, const Memory& memory, MPI_Status* status) {
#if MPI_VERSION >= 4
  if (memory.count > INT_MAX) {
    return pmpi().File_write_at_c(file, offset, memory.address, memory.count, memory.type, status);
  }
#endif
  return pmpi().File_write_at(file, offset, memory.address, static_cast<int>(memory.count), memory.type, status);
}

int library_read_at(MPI_File file, MPI_Offset offset, const Memory& memory, MPI_Status* status) {
#if MPI_VERSION >= 4
  if (memory.count > INT_MAX) {
    return pmpi().File_read_at_c(file, offset, memory.address, memory.count, memory.type, status);
  }
#endif
  return pmpi().File_read_at(file, offset, memory.address, static_cast<int>(memory.count), memory.type, status);
}

std::uint64_t bytes_of(const MPI_Status& status) {
  MPI_Count bytes = 0;
  pmpi().Get_elements_x(&status, handles().byte, &bytes);
  return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

template <class Call>
Transferred library_call(MPI_File file, MPI_Offset offset, const Memory& memory, const Call& call) {
  MPI_Status status{};
  Transferred outcome{.code = call(file, offset, memory, &status), .bytes = 0};
  outcome.bytes = outcome.code == MPI_SUCCESS ? bytes_of(status) : 0;
  return outcome;
}

// The MPI library does it, behind what is staged.
template <class Call>
Transferred behind_drain(RankFile& staged, MPI_File file, MPI_Offset offset, const Memory& memory, const Call& call) {
  const int code = drain_own(staged, file);
  return code == MPI_SUCCESS ? library_call(file, offset, memory, call) : Transferred{.code = code, .bytes = 0};
}

// A call that can be followed here.
struct Prepared {
  FileView view;
  LayoutPointer layout;  // null: no data
  std::uint64_t skip = 0;
  std::vector<std::byte> packed{};  // the data themselves, where only the MPI library knows where they lie
};

// Empty: the library cannot.
std::vector<std::byte> packed(const Memory& memory) {
  MPI_Count each = 0;
  pmpi().Type_size_x(memory.type, &each);
  if (each <= 0 || memory.count > INT_MAX || each > INT_MAX / memory.count) {
    return {};
  }
  const int bytes = static_cast<int>(each * memory.count);
  std::vector<std::byte> data(static_cast<std::size_t>(bytes));
  int end = 0;
  const int code = pmpi().Pack(memory.address, static_cast<int>(memory.count), memory.type, data.data(), bytes, &end,
                               handles().self);
  return code == MPI_SUCCESS && end == bytes ? data : std::vector<std::byte>{};
}

// Without the layout. Nothing: the MPI library knows better, also what is wrong with it.
std::optional<Prepared> place(const RankFile& staged, MPI_Offset offset, const Memory& memory) {
  Prepared prepared{.view = staged.view(), .layout = nullptr};
  if (!prepared.view.is_known() || offset < 0 || memory.count < 0 || memory.type == handles().no_type) {
    return std::nullopt;
  }
  prepared.skip = static_cast<std::uint64_t>(offset) * prepared.view.unit_bytes;
  return prepared;
}

std::optional<Prepared> prepare(const RankFile& staged, MPI_Offset offset, const Memory& memory) {
  std::optional<Prepared> prepared = place(staged, offset, memory);
  const std::optional<TypeLayout> type = prepared ? layout_of(memory.type) : std::nullopt;
  const auto count = static_cast<std::uint64_t>(memory.count);
  if (!type || type->bytes * count % prepared->view.unit_bytes != 0) {
    return std::nullopt;
  }
  prepared->layout = type->times(count);
  return prepared;
}

// For a memory type that is not known here.
std::optional<Prepared> prepare_packed(const RankFile& staged, MPI_Offset offset, const Memory& memory) {
  std::optional<Prepared> prepared = place(staged, offset, memory);
  if (!prepared || memory.count == 0) {
    return std::nullopt;
  }
  prepared->packed = packed(memory);
  if (prepared->packed.empty() || prepared->packed.size() % prepared->view.unit_bytes != 0) {
    return std::nullopt;
  }
  prepared->layout = Layout::run(prepared->packed.size());
  return prepared;
}

// From the first byte of a write up to the last, of one rank or of all. Empty: nothing is written.
struct Reach {
  std::int64_t begin = INT64_MAX;
  std::int64_t end = 0;
};

// Displacements of a file type never decrease. Where it is not known, it may be the whole file.
Reach reach_of(const RankFile& staged, MPI_Offset offset, const Memory& memory) {
  if (memory.count == 0) {
    return {};
  }
  const std::optional<Prepared> prepared = prepare(staged, offset, memory);
  if (!prepared) {
    return {.begin = 0, .end = INT64_MAX};
  }
  Reach reach;
  const auto add = [&](std::int64_t at, std::uint64_t bytes) {
    reach.begin = std::min(reach.begin, at);
    reach.end = std::max(reach.end, at + static_cast<std::int64_t>(bytes));
    return true;
  };
  if (prepared->layout != nullptr) {
    prepared->view.visit(prepared->skip, 1, add);
    prepared->view.visit(prepared->skip + prepared->layout->bytes() - 1, 1, add);
  }
  return reach;
}

bool meets_staged(const RankFile& staged, const Reach& reach) {
  return reach.begin < reach.end && staged.has_staged({static_cast<std::uint64_t>(reach.begin),
                                                       static_cast<std::size_t>(reach.end - reach.begin)});
}

// The other ranks wait for this one: without memory to look, it may write anywhere.
Reach reach_of_any(const RankFile& staged, MPI_Offset offset, const Memory& memory) noexcept {
  try {
    return reach_of(staged, offset, memory);
  } catch (...) {
    return {.begin = 0, .end = INT64_MAX};
  }
}

// What ranks write collectively goes behind what any of them has staged there. Ranks that write parts of their own, each once, never drain for it.
int order_writes(RankFile& staged, MPI_File file, MPI_Offset offset, const Memory& memory) {
  const Reach own = reach_of_any(staged, offset, memory);
  std::array<std::int64_t, 2> all = {-own.begin, own.end};
  agree_on_largest(staged.communicator(), all);
  return any_failed(staged.communicator(), meets_staged(staged, {.begin = -all[0], .end = all[1]}))
             ? drain_all(staged, file)
             : MPI_SUCCESS;
}

// Those are one part of the file each.
bool may_be_metadata(const RankFile& staged, const Memory& memory) {
  if (!staged.view().is_plain()) {
    return false;
  }
  MPI_Count each = 0;
  pmpi().Type_size_x(memory.type, &each);
  return each <= 0 ||
         static_cast<std::uint64_t>(memory.count) <= most_metadata_bytes / static_cast<std::uint64_t>(each);
}

FileFailure write_prepared(RankFile& staged, const Prepared& prepared, const std::byte* data) {
  FileFailure failure = staged.write(prepared.view, prepared.skip, prepared.layout, data);
  if (!failure) {
    if (staged.is_tier_full() && staged.tells()) {
      tell("the tier has no space for " + staged.path() + ", in " + staged.folder() +
           ", or its budget is spent: it is written through; free space there, take a larger tier, or raise "
           "dovetail_tier_budget");
    }
    return failure;
  }
  if (staged.tells()) {
    tell(failure.text() + ". Until then " + staged.path() + " is written through");
  }
  return staged.write_final(prepared.view, prepared.skip, prepared.layout, data);
}

Transferred stage(RankFile& staged, MPI_File file, MPI_Offset offset, const Memory& memory) {
  if (staged.is_undrained()) {
    return library_call(file, offset, memory, library_write_at);  // which says that it is open for reading
  }
  if (memory.count == 0) {
    return {};
  }
  std::optional<Prepared> prepared = prepare(staged, offset, memory);
  if (!prepared) {
    prepared = prepare_packed(staged, offset, memory);
  }
  if (!prepared) {
    return behind_drain(staged, file, offset, memory, library_write_at);
  }
  if (prepared->layout == nullptr) {
    return {};
  }
  const std::byte* const data =
      prepared->packed.empty() ? static_cast<const std::byte*>(memory.address) : prepared->packed.data();
  if (const FileFailure failure = write_prepared(staged, *prepared, data)) {
    return {.code = fail(file, MPI_ERR_IO, failure.text()), .bytes = 0};
  }
  Transferred outcome{.code = MPI_SUCCESS, .bytes = prepared->layout->bytes()};
  const Hints hints = staged.hints();
  if (hints.cache == Cache::coherent) {
    outcome.code = drain_own(staged, file);
  } else if (hints.flush == Flush::immediate || staged.is_tier_nearly_full()) {
    staged.drain_in_background();
  }
  return outcome;
}

// The next rank that writes the same, or reads it, finds it in the final file.
Transferred write_metadata(RankFile& staged, MPI_File file, MPI_Offset offset, const Memory& memory) {
  return meets_staged(staged, reach_of(staged, offset, memory))
             ? behind_drain(staged, file, offset, memory, library_write_at)
             : library_call(file, offset, memory, library_write_at);
}

template <class Move>
Transferred at_pointer(RankFile& staged, MPI_File file, const Memory& memory, const Move& move) {
  const base::LockGuard lock(staged.pointer_mutex());
  MPI_Offset offset = 0;
  if (const int code = pmpi().File_get_position(file, &offset); code != MPI_SUCCESS) {
    return {.code = code, .bytes = 0};
  }
  const std::uint64_t unit_bytes = staged.view().unit_bytes;
  Transferred outcome = move(staged, file, offset, memory);
  if (outcome.code == MPI_SUCCESS && unit_bytes != 0) {
    outcome.code = pmpi().File_seek(file, static_cast<MPI_Offset>(outcome.bytes / unit_bytes), MPI_SEEK_CUR);
  }
  return outcome;
}

int query(void* state, MPI_Status* status) {
  pmpi().Status_set_elements_x(status, handles().byte, *static_cast<const MPI_Count*>(state));
  pmpi().Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int release(void* state) {
  delete static_cast<MPI_Count*>(state);
  return MPI_SUCCESS;
}

int cancel(void* /*state*/, int /*complete*/) { return MPI_SUCCESS; }

// A rank that fails alone in a collective call is not waited for: those that move staged data are not collective any more.
template <class Move>
Transferred without_exceptions_of(MPI_File file, const Move& move) noexcept {
  try {
    return move();
  } catch (...) {
    return {.code = fail_of_exception(file), .bytes = 0};
  }
}

Transferred write_staged(RankFile& staged, MPI_File file, MPI_Offset offset, const Memory& memory) {
  if (memory.count > 0 && staged.is_of_format_library() && may_be_metadata(staged, memory)) {
    return write_metadata(staged, file, offset, memory);
  }
  return stage(staged, file, offset, memory);
}

Transferred write_ordered(RankFile& staged, MPI_File file, MPI_Offset offset, const Memory& memory) {
  if (staged.is_of_format_library()) {
    if (const int code = order_writes(staged, file, offset, memory); code != MPI_SUCCESS) {
      return {.code = code, .bytes = 0};
    }
  }
  return stage(staged, file, offset, memory);
}

Transferred read_staged(RankFile& staged, MPI_File file, MPI_Offset offset, const Memory& memory) {
  if ((staged.mode() & MPI_MODE_WRONLY) != 0 || staged.staged_end() == 0) {
    return library_call(file, offset, memory, library_read_at);
  }
  const std::optional<Prepared> prepared = prepare(staged, offset, memory);
  if (!prepared) {
    return behind_drain(staged, file, offset, memory, library_read_at);
  }
  if (prepared->layout == nullptr) {
    return {};
  }
  const staging::FileRead read =
      staged.read(prepared->view, prepared->skip, prepared->layout, static_cast<std::byte*>(memory.address));
  return {.code = read.failure ? fail(file, MPI_ERR_IO, read.failure.text()) : MPI_SUCCESS, .bytes = read.bytes};
}

}  // namespace

Transferred write_at(RankFile& staged, MPI_File file, MPI_Offset offset, const Memory& memory) {
  return without_exceptions_of(file, [&] { return write_staged(staged, file, offset, memory); });
}

Transferred write_at_all(RankFile& staged, MPI_File file, MPI_Offset offset, const Memory& memory) {
  return without_exceptions_of(file, [&] { return write_ordered(staged, file, offset, memory); });
}

Transferred read_at(RankFile& staged, MPI_File file, MPI_Offset offset, const Memory& memory) {
  return without_exceptions_of(file, [&] { return read_staged(staged, file, offset, memory); });
}

Transferred write_at_pointer(RankFile& staged, MPI_File file, const Memory& memory) {
  return at_pointer(staged, file, memory, write_at);
}

Transferred write_all_at_pointer(RankFile& staged, MPI_File file, const Memory& memory) {
  return at_pointer(staged, file, memory, write_at_all);
}

Transferred read_at_pointer(RankFile& staged, MPI_File file, const Memory& memory) {
  return at_pointer(staged, file, memory, read_at);
}

int settle_before_read(RankFile& staged, MPI_File file, bool& is_staged) {
  is_staged = any_failed(staged.communicator(), staged.staged_end() != 0);
  if (!is_staged || !staged.is_of_format_library()) {
    return MPI_SUCCESS;
  }
  is_staged = false;
  return drain_all(staged, file);
}

int tell_status(const Transferred& outcome, MPI_Status* status) {
  if (outcome.code == MPI_SUCCESS && status != MPI_STATUS_IGNORE) {
    pmpi().Status_set_elements_x(status, handles().byte, static_cast<MPI_Count>(outcome.bytes));
    pmpi().Status_set_cancelled(status, 0);
  }
  return outcome.code;
}

int tell_request(const Transferred& outcome, MPI_Request* request) {
  if (outcome.code != MPI_SUCCESS) {
    return outcome.code;
  }
  auto* const bytes = new (std::nothrow) MPI_Count(static_cast<MPI_Count>(outcome.bytes));
  if (bytes == nullptr) {
    return MPI_ERR_NO_MEM;
  }
  const int code = pmpi().Grequest_start(query, release, cancel, bytes, request);
  return code == MPI_SUCCESS ? pmpi().Grequest_complete(*request) : code;
}

}  // namespace dovetail::interpose::mpiio
