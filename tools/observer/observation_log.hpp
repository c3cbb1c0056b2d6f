// Writes down what the kernel tells, in the form in which the preloaded library does (src/prefetch/observation.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "file_systems.hpp"
#include "page_events.h"
#include "prefetch/observation.hpp"

namespace dovetail::observer {

class ObservationLog {
 public:
  /// In memory that stays. Throws std::runtime_error if it is no log.
  ObservationLog(std::byte* memory, std::uint64_t bytes);
  void note(const page_event& event, std::string_view names);

 private:
  using Slot = prefetching::Observation::Slot;
  struct Known {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;  // 0: the file is left out
  };
  Slot* take(std::uint64_t count) noexcept;
  void name(const page_event& event, std::string_view names);
  void read(const page_event& event);
  static bool join(Slot& slot, const Known& file, std::uint64_t offset, std::uint64_t bytes, const page_event& event);

  FileSystems file_systems_;
  prefetching::Observation::Header* header_;
  Slot* slots_;
  std::uint64_t page_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Known> files_;
  std::unordered_map<std::uint32_t, Slot*> last_;  // of each thread
};

}  // namespace dovetail::observer
