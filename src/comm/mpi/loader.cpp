#include "comm/mpi/loader.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/process_mutex.hpp"
#include "comm/mpi/library_file.hpp"

namespace dovetail::comm::mpi {
namespace {

constinit std::atomic<Library*> the_library{nullptr};
constinit std::atomic<Abi> loaded{};  // for this interface
constinit std::atomic<Abi> usable{};  // calls for this interface may be made
constinit std::atomic<bool> for_one_thread{false};

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

// An MPI library that the process has loaded, wherever it lies.
struct LoadedLibrary {
  std::string path;
  Abi abi;
};
std::vector<LoadedLibrary> loaded_libraries() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* information, std::size_t, void* into) {
        if (is_library_file(information->dlpi_name)) {
          static_cast<std::vector<std::string>*>(into)->emplace_back(information->dlpi_name);
        }
        return 0;
      },
      &paths);
  std::vector<LoadedLibrary> found;
  for (std::string& path : paths) {
    if (void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD)) {
      const Abi abi = dlsym(library, "ompi_mpi_comm_world") != nullptr ? Abi::openmpi : Abi::mpich;
      found.push_back({std::move(path), abi});
    }
  }
  return found;
}

LoadedLibrary loaded_library(Abi abi) {
  for (LoadedLibrary& library : loaded_libraries()) {
    if (library.abi == abi) {
      return std::move(library);
    }
  }
  throw std::runtime_error("messages between tasks: a part of the program was compiled for " + name_of(abi) +
                           ", which the process has not loaded: is it linked with another MPI library?");
}

Library* load(const LoadedLibrary& library) {
  using Make = Library* (*)(const char* path, const char** why_not);
  using LeadCalls = void (*)(Lead lead);
  void* const plugin = open_plugin(library.abi);
  const auto make = reinterpret_cast<Make>(dlsym(plugin, "dovetail_mpi_library"));
  const auto lead_calls = reinterpret_cast<LeadCalls>(dlsym(plugin, "dovetail_mpi_lead_calls"));
  const char* why_not = "it is not Dovetail's";
  Library* const made = make != nullptr && lead_calls != nullptr ? make(library.path.c_str(), &why_not) : nullptr;
  if (made == nullptr) {
    throw std::runtime_error("messages between tasks: " + std::string(why_not));
  }
  for (const Lead lead : find_leads()) {
    lead_calls(lead);
  }
  return made;
}

// Of the library that tasks use already, else of the first that the process has loaded.
Abi abi_of_process() {
  const Abi known = loaded.load(std::memory_order_acquire);
  if (known != Abi::of_process) {
    return known;
  }
  const std::vector<LoadedLibrary> libraries = loaded_libraries();
  if (libraries.empty()) {
    throw std::runtime_error("messages between tasks: the process has not loaded an MPI library");
  }
  return libraries.front().abi;
}

}  // namespace

void set_library(Library* library) noexcept { the_library.store(library, std::memory_order_release); }
Library* find_library() noexcept { return the_library.load(std::memory_order_acquire); }

void forget_level() noexcept {
  usable.store(Abi{}, std::memory_order_release);
  for_one_thread.store(false, std::memory_order_relaxed);
}

bool is_for_one_thread() noexcept { return for_one_thread.load(std::memory_order_relaxed); }

bool may_call_here() noexcept { return !is_for_one_thread() || find_library()->is_main_thread(); }

void lead_calls() noexcept {
  if (find_library() != nullptr) {
    return;
  }
  try {
    if (find_leads().empty()) {
      return;
    }
    const std::vector<LoadedLibrary> libraries = loaded_libraries();
    const base::LockGuard lock(loading());
    if (!libraries.empty() && find_library() == nullptr) {
      set_library(load(libraries.front()));
      loaded.store(libraries.front().abi, std::memory_order_relaxed);
    }
  } catch (const std::exception& failed) {
    std::fprintf(stderr, "dovetail: calls of MPI hold their thread, in tasks too: %s\n", failed.what());
  }
}

Library& require_library(Abi abi) {
  if (abi == Abi::of_process) {
    abi = abi_of_process();
  }
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
    library = load(loaded_library(abi));
    set_library(library);
  }
  loaded.store(abi, std::memory_order_relaxed);
  // Neither library makes a difference between the lower two.
  const Level level = library->level();
  for_one_thread.store(level == Level::single || level == Level::funneled, std::memory_order_relaxed);
  usable.store(abi, std::memory_order_release);
  return *library;
}

}  // namespace dovetail::comm::mpi
