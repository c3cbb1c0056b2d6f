// Gives the system advice by rules and by patterns, from outside of the program, for files as the program comes to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "file_systems.hpp"
#include "page_events.h"
#include "prefetch/advice_table.hpp"
#include "prefetch/detection_table.hpp"
#include "prefetch/told_reads.hpp"

namespace dovetail::observer {

/// A reader is a thread, since the kernel's events name no descriptor. A file is opened when it needs advice, by the path that the kernel has told and only if that leads to it, and closed
/// after two seconds without. What the system takes for a whole descriptor (Random, Sequential) cannot be set from outside.
class SeenFiles {
 public:
  /// The memory of rules, and that of detection, which stay. Null: none. Throws std::runtime_error if one of them is no such memory.
  SeenFiles(std::byte* rules, std::uint64_t bytes_of_rules, std::byte* detection, std::uint64_t bytes_of_detection);
  ~SeenFiles();
  SeenFiles(const SeenFiles&) = delete;
  SeenFiles& operator=(const SeenFiles&) = delete;

  /// The kernel has told a name, or a read. Gives advice if it is due; may wait for a device. `stop`: asked in between, whether to end at once. False: nothing more needs to be
  /// told of the file.
  bool note(const page_event& event, std::string_view names, const std::function<bool()>& stop);
  /// Closes what was not needed for two seconds. @returns whether something is still open.
  bool close_idle() noexcept;

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // device and inode, as the kernel has them
  struct File {
    FoundFile found;
    int descriptor = -1;
    std::uint64_t used = 0;  // the second in which it last needed advice
  };
  struct Reader {
    std::uint32_t rule = prefetching::AdviceTable::no_rule;
    prefetching::AdvisedFile* advised = nullptr;
    prefetching::DetectedFile* detected = nullptr;  // if there is no rule
    std::uint64_t block_bytes = 0;
    prefetching::Range inside{};  // what it reads in there next means nothing new, by its rule
    prefetching::ToldReads told{};
  };

  bool name(const page_event& event, std::string_view names);
  bool read(const page_event& event, File& file, const std::function<bool()>& stop);
  void look(const page_event& event, File& file, Reader& reader);
  bool by_rule(const page_event& event, File& file, Reader& reader, const std::function<bool()>& stop);
  bool by_pattern(const page_event& event, File& file, Reader& reader, const std::function<bool()>& stop);
  /// False: not now, or never, which is noted in `entry`.
  bool open(File& file, prefetching::FileEntry& entry) noexcept;
  void close(File& file) noexcept;

  FileSystems file_systems_;
  prefetching::AdviceTable rules_;
  prefetching::DetectionTable detection_;
  std::uint64_t page_;
  std::map<Key, File> files_;
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>, Reader> readers_;  // by thread and file
  std::size_t open_ = 0;
  std::uint64_t looked_ = 0;  // the second in which idle files were last closed
};

}  // namespace dovetail::observer
