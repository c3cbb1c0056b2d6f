#include "library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace dovetail::hdf5::loader {
namespace {

constexpr unsigned oldest_version = 1'014'005;
// A symbol of every HDF5 that has connectors.
constexpr auto known_symbol = "H5VLregister_connector_by_value";

constinit Library remembered[16];
constinit char folder[4096] = {};

// What is loaded at an address. The path of the program itself is empty, as `dlopen` wants it.
const link_map* object_at(const void* address, const void** base) noexcept {
  Dl_info where{};
  link_map* object = nullptr;
  if (dladdr1(address, &where, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) == 0) {
    return nullptr;
  }
  *base = where.dli_fbase;
  return object;
}

}  // namespace

const char* own_folder() noexcept {
  if (folder[0] == '\0') {
    Dl_info where{};
    if (dladdr(reinterpret_cast<const void*>(&own_folder), &where) != 0 && where.dli_fname != nullptr) {
      const char* const slash = strrchr(where.dli_fname, '/');
      const size_t length = slash == nullptr ? 0 : static_cast<size_t>(slash - where.dli_fname) + 1;
      if (length < sizeof folder) {
        memcpy(folder, where.dli_fname, length);
      }
    }
  }
  return folder;
}

Library* Library::of(const void* instruction) noexcept {
  const void* base = nullptr;
  const link_map* const object = object_at(instruction, &base);
  if (object == nullptr) {
    return nullptr;
  }
  for (Library& place : remembered) {
    const void* known = nullptr;
    if (__atomic_compare_exchange_n(&place.base_, &known, base, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      // Nothing is loaded: it is there. The reference stays, so that its name does, and its address is not used again for another object.
      const char* const name = object->l_name;
      place.path_ = name[0] == '\0' ? "the program itself" : name;
      place.handle_ = name[0] == '\0' ? dlopen(nullptr, RTLD_LAZY) : dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
      return &place;
    }
    if (known == base) {
      return &place;
    }
  }
  return nullptr;
}

void* Library::own_symbol(const char* name) const noexcept {
  void* const found = handle_ != nullptr ? dlsym(handle_, name) : nullptr;
  const void* base = nullptr;
  return found != nullptr && object_at(found, &base) != nullptr && base == base_ ? found : nullptr;
}

unsigned Library::version() const noexcept {
  // "HDF5 library version: 1.14.5". The function that answers would have the library initialise itself.
  const char* text = nullptr;
  if (!find("H5_lib_vers_info_g", text)) {
    return 0;
  }
  text = strchr(text, ':');
  if (text == nullptr) {
    return 0;
  }
  char* rest = nullptr;
  const unsigned long major = strtoul(text + 1, &rest, 10);
  const unsigned long minor = *rest == '.' ? strtoul(rest + 1, &rest, 10) : 0;
  const unsigned long release = *rest == '.' ? strtoul(rest + 1, &rest, 10) : 0;
  return static_cast<unsigned>(major * 1'000'000 + minor * 1'000 + release);
}

namespace {

// As a copy that a full disk has ended. The loader of the system would map what is not there, and the process end with SIGBUS.
bool is_cut_off(const char* path) noexcept {
  FILE* const file = fopen(path, "rbe");
  if (file == nullptr) {
    return false;  // the loader says why
  }
  unsigned long needed = 0;
  ElfW(Ehdr) header{};
  if (fread(&header, sizeof header, 1, file) == 1 && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
      fseek(file, static_cast<long>(header.e_phoff), SEEK_SET) == 0) {
    needed = header.e_phoff + header.e_phnum * sizeof(ElfW(Phdr));
    ElfW(Phdr) part{};
    for (unsigned i = 0; i < header.e_phnum && fread(&part, sizeof part, 1, file) == 1; ++i) {
      const unsigned long end = part.p_type == PT_LOAD ? part.p_offset + part.p_filesz : 0;
      needed = end > needed ? end : needed;
    }
  }
  const bool is_cut = fseek(file, 0, SEEK_END) == 0 && needed > static_cast<unsigned long>(ftell(file));
  fclose(file);
  return is_cut;
}

}  // namespace

void Library::refuse(const char* why) noexcept {
  fprintf(stderr, "dovetail: HDF5 runs natively, its files are not written in the background: %s (%s)\n", why, path_);
}

bool Library::served() noexcept {
  if (state_ == State::unknown) {
    state_ = State::native;  // also for what asks while this is decided
    if (decide()) {
      state_ = State::connector;
    }
  }
  return state_ == State::connector;
}

bool Library::decide() noexcept {
  char why[512] = {};
  const unsigned found = version();
  if (found != 0 && found < oldest_version) {
    snprintf(why, sizeof why, "HDF5 %u.%u.%u is too old, 1.14.5 or newer is needed", found / 1'000'000,
             found / 1'000 % 1'000, found % 1'000);
    refuse(why);
    return false;
  }
  if (own_symbol(known_symbol) == nullptr) {
    refuse("HDF5's functions are not visible, as where HDF5 is linked statically");
    return false;
  }
  char connector_path[sizeof folder + 64];
  constexpr const char* files[] = {DOVETAIL_HDF5_LIBRARY_FILE, DOVETAIL_HDF5_CONNECTOR_FILE};
  for (const char* const file : files) {
    snprintf(connector_path, sizeof connector_path, "%s%s", own_folder(), file);
    if (is_cut_off(connector_path)) {
      snprintf(why, sizeof why, "%s beside the plugin is cut off: install Dovetail again", file);
      refuse(why);
      return false;
    }
  }
  // It stays in the process: its threads and its handlers of forks are there to stay.
  void* const connector = dlopen(connector_path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (connector == nullptr) {
    refuse(dlerror());
    return false;
  }
  using Serve = const void* (*)(void*, char*, size_t);
  const auto serve = reinterpret_cast<Serve>(dlsym(connector, "dovetail_hdf5_serve"));
  if (serve == nullptr) {
    refuse("the connector beside the plugin is of another version");
    return false;
  }
  class_ = serve(handle_, why, sizeof why);
  if (class_ == nullptr) {
    refuse(why);
  }
  return class_ != nullptr;
}

const void* Library::connector_class() noexcept { return served() ? class_ : native_class(); }

}  // namespace dovetail::hdf5::loader
