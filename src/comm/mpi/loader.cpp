#include "comm/mpi/loader.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/process_mutex.hpp"

namespace dovetail::comm::mpi {
namespace {

constinit std::atomic<Library*> the_library{nullptr};
constinit std::atomic<Abi> loaded{};  // for this interface
constinit std::atomic<Abi> usable{};  // calls for this interface may be made

base::ProcessMutex& loading() {
  static auto* const made = new base::ProcessMutex;
  return *made;
}

std::string name_of(Abi abi) { return abi == Abi::mpich ? "mpich" : "openmpi"; }

// Where this library lies.
std::string folder() {
  Dl_info information{};
  static const char anchor = 0;
  if (dladdr(&anchor, &information) == 0 || information.dli_fname == nullptr) {
    return {};
  }
  const std::string file = information.dli_fname;
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos ? std::string() : file.substr(0, slash + 1);
}

void* open_plugin(Abi abi) {
  const std::string file = "libdovetail-mpi-" + name_of(abi) + ".so";
  std::string errors;
  // `..`: in a build, the library that shows all rooms has a folder of its own.
  for (const std::string& path : {folder() + file, folder() + "../" + file, file}) {
    if (void* const plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return plugin;
    }
    errors += std::string("\n  ") + dlerror();
  }
  throw std::runtime_error("Dovetail was built without " + name_of(abi) +
                           ", or its part for it is not where libdovetail is:" + errors);
}

// Make calls of the program go elsewhere. Those of libdovetail-mpi.so and libdovetail-mpi4.so, as far as they are in the process.
using Lead = bool (*)(const char* name, void (*target)());
std::vector<Lead> find_leads() {
  std::vector<Lead> found;
  for (const char* name : {"dovetail_mpi_lead", "dovetail_mpi4_lead"}) {
    if (void* const lead = dlsym(RTLD_DEFAULT, name)) {
      found.push_back(reinterpret_cast<Lead>(lead));
    }
  }
  return found;
}

Library* load(Abi abi) {
  using Make = Library* (*)(const char** why_not);
  using LeadCalls = void (*)(Lead lead);
  void* const plugin = open_plugin(abi);
  const auto make = reinterpret_cast<Make>(dlsym(plugin, "dovetail_mpi_library"));
  const auto lead_calls = reinterpret_cast<LeadCalls>(dlsym(plugin, "dovetail_mpi_lead_calls"));
  const char* why_not = "it is not Dovetail's";
  Library* const made = make != nullptr && lead_calls != nullptr ? make(&why_not) : nullptr;
  if (made == nullptr) {
    throw std::runtime_error("messages between tasks: " + std::string(why_not));
  }
  for (const Lead lead : find_leads()) {
    lead_calls(lead);
  }
  return made;
}

// Of the MPI library that the process has loaded.
std::optional<Abi> loaded_abi() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* information, std::size_t, void* into) {
        const std::string_view path = information->dlpi_name;
        const std::string_view file = path.substr(path.rfind('/') + 1);
        if (file.starts_with("libmpi.so") || file.starts_with("libmpich.so") || file.starts_with("libmpi_cray.so")) {
          static_cast<std::vector<std::string>*>(into)->emplace_back(path);
        }
        return 0;
      },
      &paths);
  for (const std::string& path : paths) {
    if (void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD)) {
      return dlsym(library, "ompi_mpi_comm_world") != nullptr ? Abi::openmpi : Abi::mpich;
    }
  }
  return std::nullopt;
}

void require_threads(const Library& library) {
  switch (library.level()) {
    case Level::single:
    case Level::funneled:
      throw std::logic_error(
          "MPI was initialised for calls of one thread only; tasks need MPI_Init_thread with MPI_THREAD_MULTIPLE, or "
          "MPI_THREAD_SERIALIZED if the program itself calls MPI only while no task does");
    case Level::serialized:
    case Level::multiple:
      return;
  }
}

}  // namespace

void set_library(Library* library) noexcept { the_library.store(library, std::memory_order_release); }
Library* find_library() noexcept { return the_library.load(std::memory_order_acquire); }

void lead_calls() noexcept {
  if (find_library() != nullptr) {
    return;
  }
  try {
    if (find_leads().empty()) {
      return;
    }
    const std::optional<Abi> abi = loaded_abi();
    const base::LockGuard lock(loading());
    if (abi && find_library() == nullptr) {
      set_library(load(*abi));
      loaded.store(*abi, std::memory_order_relaxed);
    }
  } catch (const std::exception& failed) {
    std::fprintf(stderr, "dovetail: calls of MPI hold their thread, in tasks too: %s\n", failed.what());
  }
}

Library& require_library(Abi abi) {
  if (usable.load(std::memory_order_acquire) == abi) [[likely]] {
    return *find_library();
  }
  const base::LockGuard lock(loading());
  Library* library = find_library();
  if (const Abi before = loaded.load(std::memory_order_relaxed); before != Abi{} && before != abi) {
    throw std::runtime_error("the program uses " + name_of(before) + ", and a part of it was compiled for " +
                             name_of(abi) + "; compile all of it for one MPI library");
  }
  if (library == nullptr) {
    library = load(abi);
    set_library(library);
  }
  loaded.store(abi, std::memory_order_relaxed);
  require_threads(*library);
  usable.store(abi, std::memory_order_release);
  return *library;
}

}  // namespace dovetail::comm::mpi
