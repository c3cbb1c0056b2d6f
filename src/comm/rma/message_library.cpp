#include "comm/rma/message_library.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "dovetail/detail/mpi_calls.hpp"
#include "tasking/waiting_thread.hpp"

namespace dovetail::comm::rma {
namespace {

constinit std::atomic<MessageLibrary*> library_of_process{nullptr};

constexpr std::size_t longest_name = 40;
constexpr std::string_view spaces = " \t:";

// Before MPI_Init there is a library, too, which says so better than the refusal.
MessageLibrary* load(std::string& refusal) {
  if (library_of_process.load(std::memory_order_acquire) == nullptr) {
    try {
      detail::mpi::request_size();
    } catch (const std::exception& refused) {
      refusal = refused.what();
    }
  }
  return library_of_process.load(std::memory_order_acquire);
}

// What stands behind `label`, up to a space or a comma.
std::string_view word_behind(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  if (at == std::string_view::npos) {
    return {};
  }
  text.remove_prefix(at + label.size());
  text.remove_prefix(std::min(text.find_first_not_of(spaces), text.size()));
  return text.substr(0, text.find_first_of(", \t\r\n"));
}

}  // namespace

void set_message_library(MessageLibrary* library) noexcept {
  library_of_process.store(library, std::memory_order_release);
}

MessageLibrary& require_message_library(int rank, int size) {
  std::string why_not;
  MessageLibrary* const library = load(why_not);
  if (library != nullptr) {
    why_not = library->why_not(rank, size);
  }
  if (!why_not.empty()) {
    throw std::runtime_error("MPI cannot reach other nodes: " + why_not);
  }
  return *library;
}

bool is_message_library_wanted() {
  const char* const wanted = std::getenv("DOVETAIL_FABRIC");
  return wanted != nullptr && std::string_view(wanted) == "mpi";
}

// Nothing tells when MPI has something to do, so it is asked again and again.
void finish_in_time(const std::function<MessageLibrary::State()>& step, std::chrono::milliseconds limit,
                    const std::string& what) {
  constexpr std::chrono::microseconds between_trials{100};
  const auto end = std::chrono::steady_clock::now() + limit;
  tasking::WaitingThread thread(nullptr);
  for (;;) {
    const MessageLibrary::State state = step();
    if (state == MessageLibrary::State::ended) {
      return;
    }
    if (state == MessageLibrary::State::failed) {
      throw std::runtime_error(what + " has failed");
    }
    if (thread.look()) {
      throw tasking::WaitInterrupted();
    }
    if (std::chrono::steady_clock::now() >= end) {
      throw std::runtime_error(
          what + " has not ended in time (GroupOptions::start_timeout): not all ranks have begun the group");
    }
    std::this_thread::sleep_for(between_trials);
  }
}

std::string name_of_message_library(const std::string& version) {
  if (const std::string_view number = word_behind(version, "Open MPI v"); !number.empty()) {
    return "MPI (Open MPI " + std::string(number) + ")";
  }
  if (const std::string_view number = word_behind(version, "MPICH Version"); !number.empty()) {
    return "MPI (MPICH " + std::string(number) + ")";
  }
  const std::string_view line = std::string_view(version).substr(0, version.find_first_of("\r\n,"));
  if (line.starts_with("GPI-2 ")) {
    return "GASPI (" + std::string(line) + ")";
  }
  return "MPI (" + std::string(line.substr(0, longest_name)) + ")";
}

}  // namespace dovetail::comm::rma
