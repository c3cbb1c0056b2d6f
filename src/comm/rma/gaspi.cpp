#include "comm/rma/gaspi.hpp"

#include <dlfcn.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "base/without_signals.hpp"

namespace dovetail::comm::rma {
namespace {

// A program that is linked with GASPI has the functions itself, and there must be one GASPI in a process.
void* open_library() {
  void* const program = dlopen(nullptr, RTLD_LAZY);
  if (program != nullptr && dlsym(program, "gaspi_proc_init") != nullptr) {
    return program;
  }
  std::string refusals;
  const char* const named = std::getenv("DOVETAIL_GASPI_LIBRARY");
  for (const char* const file : {named != nullptr ? named : "libGPI2.so.0", named != nullptr ? named : "libGPI2.so"}) {
    if (void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
      return library;
    }
    refusals = dlerror();
  }
  throw std::runtime_error("GASPI cannot be loaded (DOVETAIL_GASPI_LIBRARY names its library): " + refusals);
}

template <class Function>
void find_function(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    throw std::runtime_error(std::string("The library of GASPI has no function ") + name);
  }
}

Gaspi load_gaspi() {
  void* const library = open_library();
  Gaspi found;
  find_function(library, "gaspi_version", found.version);
  find_function(library, "gaspi_initialized", found.initialized);
  find_function(library, "gaspi_proc_init", found.proc_init);
  find_function(library, "gaspi_proc_rank", found.proc_rank);
  find_function(library, "gaspi_proc_num", found.proc_num);
  find_function(library, "gaspi_connect", found.connect);
  find_function(library, "gaspi_barrier", found.barrier);
  find_function(library, "gaspi_segment_max", found.segment_max);
  find_function(library, "gaspi_segment_alloc", found.segment_alloc);
  find_function(library, "gaspi_segment_register", found.segment_register);
  find_function(library, "gaspi_segment_ptr", found.segment_ptr);
  find_function(library, "gaspi_notification_num", found.notification_num);
  find_function(library, "gaspi_queue_create", found.queue_create);
  find_function(library, "gaspi_queue_num", found.queue_num);
  find_function(library, "gaspi_queue_size", found.queue_size);
  find_function(library, "gaspi_queue_size_max", found.queue_size_max);
  find_function(library, "gaspi_wait", found.wait);
  find_function(library, "gaspi_write_notify", found.write_notify);
  find_function(library, "gaspi_notify", found.notify);
  find_function(library, "gaspi_notify_waitsome", found.notify_waitsome);
  find_function(library, "gaspi_notify_reset", found.notify_reset);
  return found;
}

bool is_set(const char* variable) { return std::getenv(variable) != nullptr; }

}  // namespace

const Gaspi& Gaspi::get() {
  static const Gaspi loaded = load_gaspi();
  return loaded;
}

std::string Gaspi::name() const {
  constexpr std::size_t longest = 16;
  float number = 0;
  version(&number);
  std::array<char, longest> text{};
  const auto written = std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed, 1);
  return "GPI-2 " + std::string(text.data(), written.ptr);
}

// Its threads take none of the program's signals.
void Gaspi::begin(std::chrono::milliseconds limit) const {
  Number is_there = 0;
  if (initialized(&is_there) == success && is_there != 0) {
    return;
  }
  if (!is_set("GASPI_RANK") || !is_set("GASPI_NRANKS")) {
    throw std::runtime_error(
        "GASPI cannot be used: gaspi_run has not started this process, and the program has not called gaspi_proc_init");
  }
  const base::WithoutSignals without;
  const Return result = proc_init(static_cast<Timeout>(limit.count()));
  if (result != success) {
    throw std::runtime_error(result == timeout
                                 ? "gaspi_proc_init has not ended in time (GroupOptions::start_timeout): not all ranks "
                                   "have begun the group"
                                 : "gaspi_proc_init has failed (" + std::to_string(result) +
                                       "): another program may have the ports of GASPI on this node");
  }
}

bool is_started_by_gaspi() {
  return is_set("GASPI_RANK") && is_set("GASPI_NRANKS") && !is_set("PMI_FD") && !is_set("OMPI_COMM_WORLD_RANK");
}

bool is_gaspi_wanted() {
  const char* const wanted = std::getenv("DOVETAIL_FABRIC");
  return wanted != nullptr ? std::string_view(wanted) == "gaspi" : is_started_by_gaspi();
}

}  // namespace dovetail::comm::rma
