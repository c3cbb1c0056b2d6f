// The plugin that HDF5 finds. It names no symbol of HDF5: the library that looks for it may be private to one extension module of
// Python, and its symbols are nobody's then. So it finds that library, lets others see its symbols, and loads the connector,
// which needs them.
#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <string>

namespace {

constexpr auto connector_file = DOVETAIL_HDF5_CONNECTOR_FILE;
// A symbol of every HDF5 that has connectors of this kind.
constexpr auto known_symbol = "H5VLregister_connector_by_value";

// H5PL_TYPE_VOL of H5PLextern.h, which cannot be included here.
enum PluginType { plugin_for_connector = 1 };

void complain(const char* what, const char* why) {
  std::fprintf(stderr, "dovetail: the HDF5 connector cannot be loaded: %s: %s\n", what, why != nullptr ? why : "");
}

struct Library {
  void* handle = nullptr;
  std::string path;
};

// As a handle, without loading anything; global from now on.
void* promoted(const char* path) {
  void* handle = dlopen(path, RTLD_NOLOAD | RTLD_GLOBAL | RTLD_LAZY);
  if (handle != nullptr && dlsym(handle, known_symbol) == nullptr) {
    dlclose(handle);
    return nullptr;
  }
  return handle;
}

int visit(dl_phdr_info* info, std::size_t /*size*/, void* given) {
  auto& found = *static_cast<Library*>(given);
  if (info->dlpi_name != nullptr && std::string(info->dlpi_name).find("hdf5") != std::string::npos) {
    found.path = info->dlpi_name;
    found.handle = promoted(info->dlpi_name);
  }
  return found.handle != nullptr ? 1 : 0;
}

// The one that called is the right one where there are several.
Library library_of(const void* caller) {
  Library found;
  Dl_info where{};
  if (dladdr(caller, &where) != 0 && where.dli_fname != nullptr) {
    found = {promoted(where.dli_fname), where.dli_fname};
  }
  if (found.handle == nullptr && dlsym(RTLD_DEFAULT, known_symbol) != nullptr) {
    found = {dlopen(nullptr, RTLD_LAZY), "the program itself"};
  }
  if (found.handle == nullptr) {
    dl_iterate_phdr(visit, &found);
  }
  return found;
}

std::string beside_this() {
  Dl_info where{};
  if (dladdr(reinterpret_cast<const void*>(&complain), &where) == 0 || where.dli_fname == nullptr) {
    return connector_file;
  }
  const std::string path = where.dli_fname;
  const std::size_t slash = path.rfind('/');
  return (slash == std::string::npos ? std::string() : path.substr(0, slash + 1)) + connector_file;
}

// What the connector gives, or null. It stays in the process: its threads and its handlers of forks are there to stay.
const void* load(const void* caller) {
  const Library library = library_of(caller);
  if (library.handle == nullptr) {
    complain("no HDF5 library is visible in this process", "is HDF5 linked statically, without exporting its symbols?");
    return nullptr;
  }
  const std::string path = beside_this();
  void* const connector = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (connector == nullptr) {
    complain("it needs HDF5 1.14.5 or newer", dlerror());
    return nullptr;
  }
  using Answer = const void* (*)();
  const auto answer = reinterpret_cast<Answer>(dlsym(connector, "dovetail_hdf5_connector_class"));
  const auto used = reinterpret_cast<void* (*)()>(dlsym(connector, "dovetail_hdf5_library"));
  if (answer == nullptr || used == nullptr) {
    complain(path.c_str(), "is not the connector");
    return nullptr;
  }
  if (used() != dlsym(library.handle, known_symbol)) {
    complain("another HDF5 library of this process has it already, and this one is separate", library.path.c_str());
    return nullptr;
  }
  return answer();
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int H5PLget_plugin_type() { return plugin_for_connector; }

extern "C" [[gnu::visibility("default")]] const void* H5PLget_plugin_info() {
  static const void* const found = load(__builtin_return_address(0));
  return found;
}
