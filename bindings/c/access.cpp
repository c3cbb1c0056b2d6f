// Accesses: regions of memory, of files and of spaces of the program's own.
#include "dovetail/access.hpp"

#include <cstdint>

#include "argument.hpp"
#include "error.hpp"

namespace dovetail::c {
namespace {

// An access is returned by value, so that lists of them can be written in place. One that cannot be made carries its
// error to the spawn, which is where the program looks at results.
template <class Make>
dovetail_access made(const char* function, Make&& make) {
  dovetail_access access{};
  access.mode = guarded(function, [&]() -> int32_t { return make(access); });
  return access;
}

dovetail_access region(std::uint64_t space, std::uint64_t begin, std::uint64_t length) {
  return {static_cast<int64_t>(space), static_cast<int64_t>(begin), static_cast<int64_t>(length), 0, 0};
}

}  // namespace
}  // namespace dovetail::c

using namespace dovetail::c;

extern "C" {

dovetail_access dovetail_access_memory(int32_t mode, const void* address, size_t length) {
  return made(__func__, [&](dovetail_access& access) {
    access = region(0, reinterpret_cast<std::uint64_t>(address), length);
    return choice(mode, DOVETAIL_ACCESS_COMMUTATIVE, "mode");
  });
}

dovetail_access dovetail_access_file(int32_t mode, const dovetail_file* file, int64_t offset, int64_t length) {
  return made(__func__, [&](dovetail_access& access) {
    access = region(given(file, "file").file.space(), natural(offset, "offset"), natural(length, "length"));
    return choice(mode, DOVETAIL_ACCESS_COMMUTATIVE, "mode");
  });
}

dovetail_access dovetail_access_descriptor(int32_t mode, int32_t descriptor, int64_t offset, int64_t length) {
  return made(__func__, [&](dovetail_access& access) {
    const dovetail::File file = dovetail::File::from_descriptor(descriptor);
    access = region(file.space(), natural(offset, "offset"), natural(length, "length"));
    return choice(mode, DOVETAIL_ACCESS_COMMUTATIVE, "mode");
  });
}

dovetail_access dovetail_access_space(int32_t mode, const dovetail_space* space, int64_t offset, int64_t length) {
  return made(__func__, [&](dovetail_access& access) {
    access = region(given(space, "space").space.number(), natural(offset, "offset"), natural(length, "length"));
    return choice(mode, DOVETAIL_ACCESS_COMMUTATIVE, "mode");
  });
}

int32_t dovetail_space_create(const char* name, dovetail_space** space) {
  return guarded(__func__, [&]() -> int32_t {
    given(space, "space");
    *space = new dovetail_space{dovetail::Space::make(&given(name, "name"))};
    return 0;
  });
}

int64_t dovetail_space_number(const dovetail_space* space) {
  return space != nullptr ? static_cast<int64_t>(space->space.number()) : 0;
}

void dovetail_space_release(dovetail_space* space) { delete space; }

}  // extern "C"
