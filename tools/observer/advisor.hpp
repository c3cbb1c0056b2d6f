// Gives the system the advice of a plan, from outside of the program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "file_systems.hpp"
#include "page_events.h"
#include "prefetch/plan.hpp"

namespace dovetail::observer {

class Advisor {
 public:
  /// A plan in memory that stays, and the paths of its files, each with a zero behind it. Opens those that are still what the plan is about. Throws
  /// std::runtime_error if the memory is no plan.
  Advisor(std::byte* memory, std::uint64_t bytes, std::string_view paths);
  ~Advisor();
  Advisor(const Advisor&) = delete;
  Advisor& operator=(const Advisor&) = delete;

  /// The files that could be opened, as the page cache knows them.
  std::vector<page_file> files() const;
  bool has(const page_file& file) const { return files_.contains({file.device, file.inode}); }
  /// The program has read. Gives advice if it is due; may wait for a device. `stop`: asked in between, whether to end at once. Returns whether the file's
  /// plan goes on.
  bool note(const page_event& event, const std::function<bool()>& stop);

 private:
  struct Opened {
    int descriptor = -1;
    std::uint32_t number = 0;
  };
  void open(const char* path);

  FileSystems file_systems_;
  prefetching::Plan plan_;
  std::uint64_t page_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Opened> files_;
};

}  // namespace dovetail::observer
