// MPI_Init and MPI_Finalize: the configuration is read at the one, and deferred closes end at the other.
#include "process.hpp"

#include <cstdlib>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/plain_file.hpp"
#include "failures.hpp"
#include "functions.hpp"
#include "open_files.hpp"
#include "shown.hpp"
#include "staging/tier_settings.hpp"

namespace dovetail::interpose::mpiio {
namespace {

constexpr int bad_input = 2;

struct ReadConfiguration {
  Configuration configuration{};
  Hints hints{};
  std::string why_not{};
};

// Each rank reads it, so that it may lie on a disk of each node. That they read the same is checked where files are opened: the hints must agree.
ReadConfiguration read_configuration() {
  ReadConfiguration result;
  try {
    const staging::TierSettings settings = staging::settings_from_environment();
    result.hints.budget_bytes = settings.budget_bytes;
    result.hints.drain_bandwidth = settings.drain.bytes_per_second / bytes_in_megabyte;
  } catch (const std::invalid_argument& failure) {
    result.why_not = failure.what();
    return result;
  }
  const char* const path = std::getenv("DOVETAIL_MPIIO_CONFIGURATION");
  if (path == nullptr || *path == '\0') {
    return result;
  }
  const base::FileText read =
      base::read_plain_file(path, {.follow_links = true, .of_anyone = true, .most_bytes = Configuration::most_bytes});
  try {
    if (read.missing || !read.why.empty()) {
      throw std::invalid_argument(read.missing ? "there is no such file" : read.why);
    }
    result.configuration = Configuration(read.text);
  } catch (const std::exception& failure) {
    result.why_not =
        std::string("the configuration ") + path + " (DOVETAIL_MPIIO_CONFIGURATION) cannot be used: " + failure.what();
  }
  return result;
}

const ReadConfiguration& read_once() {
  static const auto* const read = new ReadConfiguration(read_configuration());
  return *read;
}

// Without agreement, since other ranks may not have this library: the starter ends them. MPI_Abort would lose the text under MPICH.
[[noreturn]] void refuse() {
  tell(read_once().why_not);
  std::fflush(stderr);
  std::_Exit(bad_input);
}

const ReadConfiguration& read_or_refuse() {
  const ReadConfiguration& read = read_once();
  if (!read.why_not.empty()) {
    refuse();
  }
  return read;
}

// Before any file is opened.
int initialized(int code) {
  if (code == MPI_SUCCESS && !read_once().why_not.empty()) {
    refuse();
  }
  return code;
}

int copy_nothing(MPI_Comm /*from*/, int /*key*/, void* /*state*/, void* /*value*/, void* /*copy*/, int* copied) {
  *copied = 0;
  return MPI_SUCCESS;
}

// What fails is told there; the deletion goes on.
int finish_deferred_files(MPI_Comm /*self*/, int /*key*/, void* /*value*/, void* /*state*/) {
  finish_all_deferred();
  return MPI_SUCCESS;
}

}  // namespace

void finish_at_finalize() {
  // MPI_Finalize deletes what belongs to MPI_COMM_SELF before it does anything else.
  // Not by std::call_once: its thread-locals are another library's.
  [[maybe_unused]] static const bool is_set = [] {
    int key = 0;
    return pmpi().Comm_create_keyval(copy_nothing, finish_deferred_files, &key, nullptr) == MPI_SUCCESS &&
           pmpi().Comm_set_attr(handles().self, key, nullptr) == MPI_SUCCESS;
  }();
}

const Configuration& configuration() { return read_or_refuse().configuration; }

const Hints& usual_hints() { return read_or_refuse().hints; }

}  // namespace dovetail::interpose::mpiio

using namespace dovetail::interpose::mpiio;

extern "C" {

SHOWN int MPI_Init(int* count, char*** arguments) { return initialized(pmpi().Init(count, arguments)); }

SHOWN int MPI_Init_thread(int* count, char*** arguments, int wanted, int* given) {
  return initialized(pmpi().Init_thread(count, arguments, wanted, given));
}

SHOWN int MPI_Finalize() {
  const bool failed = !finish_all_deferred().empty();
  const int code = pmpi().Finalize();
  return code == MPI_SUCCESS && failed ? MPI_ERR_IO : code;
}
}
