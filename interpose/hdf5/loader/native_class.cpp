// HDF5 that was asked by HDF5_VOL_CONNECTOR for a connector does not start without one. A library that the connector cannot serve gets its
// own class of the native connector, under the name that it looks for. Then it runs as without Dovetail.
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

#include "library.hpp"

namespace dovetail::hdf5::loader {
namespace {

// Layouts differ between versions, of which only these members are the same since connectors exist (1.12); none has more bytes.
struct BeginOfClass {
  unsigned version;
  int value;
  const char* name;
};
constexpr size_t most_bytes = 2048;
constexpr size_t most_classes = 8;
constexpr int connector_value = 417;
constexpr int native_value = 0;
constexpr int level_of_terminal = 1;  // H5VL_GET_CONN_LVL_TERM
// Of the member `terminate`: behind it the library forgets the native connector.
constexpr size_t terminate_of_1_12 = 32;
constexpr size_t terminate_since_1_13 = 40;

alignas(16) constinit char classes[most_classes][most_bytes] = {};
constinit unsigned used = 0;

struct Segment {
  uintptr_t address;
  size_t bytes;  // from the address to the end
};

int find_segment(dl_phdr_info* info, size_t /*size*/, void* given) {
  auto& segment = *static_cast<Segment*>(given);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && segment.address >= begin && segment.address < begin + header.p_memsz) {
      segment.bytes = begin + header.p_memsz - segment.address;
      return 1;
    }
  }
  return 0;
}

}  // namespace

const void* Library::native_class() noexcept {
  if (class_ != nullptr) {
    return class_;
  }
  int64_t (*by_value)(int) = nullptr;
  int64_t (*register_native)() = nullptr;
  int (*class_of)(void*, int64_t, int, const void**) = nullptr;
  if (!find("H5VLintrospect_get_conn_cls", class_of) || !find("H5VLget_connector_id_by_value", by_value)) {
    return nullptr;
  }
  int64_t native = by_value(native_value);
  if (native < 0 && find("H5VL_native_register", register_native)) {
    native = register_native();
  }
  const void* own = nullptr;
  // The native connector does not look at the object, which only must not be null.
  if (native < 0 || class_of(this, native, level_of_terminal, &own) < 0 || own == nullptr) {
    return nullptr;
  }
  Segment segment{reinterpret_cast<uintptr_t>(own), 0};
  const unsigned place = __atomic_fetch_add(&used, 1, __ATOMIC_RELAXED);
  if (dl_iterate_phdr(find_segment, &segment) == 0 || place >= most_classes) {
    return nullptr;
  }
  char* const copy = classes[place];
  memcpy(copy, own, segment.bytes < most_bytes ? segment.bytes : most_bytes);
  auto* const begin = reinterpret_cast<BeginOfClass*>(copy);
  begin->value = connector_value;
  begin->name = "dovetail";
  memset(copy + (version() < 1'013'000 ? terminate_of_1_12 : terminate_since_1_13), 0, sizeof(void*));
  class_ = copy;
  return class_;
}

}  // namespace dovetail::hdf5::loader
