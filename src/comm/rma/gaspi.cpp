#include "comm/rma/gaspi.hpp"

#include <dlfcn.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "base/without_signals.hpp"
#include "comm/rma/library_function.hpp"

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

Gaspi load_gaspi() {
  void* const library = open_library();
  Gaspi found;
  const auto find = [library](const char* name, auto& function) {
    find_function(library, "The library of GASPI", name, function);
  };
  find("gaspi_version", found.version);
  find("gaspi_initialized", found.initialized);
  find("gaspi_proc_init", found.proc_init);
  find("gaspi_proc_rank", found.proc_rank);
  find("gaspi_proc_num", found.proc_num);
  find("gaspi_connect", found.connect);
  find("gaspi_barrier", found.barrier);
  find("gaspi_segment_max", found.segment_max);
  find("gaspi_segment_alloc", found.segment_alloc);
  find("gaspi_segment_register", found.segment_register);
  find("gaspi_segment_ptr", found.segment_ptr);
  find("gaspi_notification_num", found.notification_num);
  find("gaspi_queue_create", found.queue_create);
  find("gaspi_queue_num", found.queue_num);
  find("gaspi_queue_size", found.queue_size);
  find("gaspi_queue_size_max", found.queue_size_max);
  find("gaspi_wait", found.wait);
  find("gaspi_write_notify", found.write_notify);
  find("gaspi_notify", found.notify);
  find("gaspi_notify_waitsome", found.notify_waitsome);
  find("gaspi_notify_reset", found.notify_reset);
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
