// What the kernel tells about the reads of one program and its children.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "page_events.h"

struct page_events_bpf;
struct ring_buffer;

namespace dovetail::observer {

/// The kernel's events cannot be had here; the message is a sentence that says what is missing.
class Unavailable : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class KernelEvents {
 public:
  /// `names`: those of a file, before its first read; otherwise empty.
  using Told = std::function<void(const page_event&, std::string_view names)>;

  /// Which files are told of. All of them: with their names, and `in_time` as each event happens, or else as soon as there are many.
  struct Files {
    std::vector<page_file> wanted;  // none: all
    bool in_time = true;
  };
  /// Loads the programs, which see nothing yet. Throws Unavailable.
  KernelEvents(const Files& files, Told told);
  ~KernelEvents();
  KernelEvents(const KernelEvents&) = delete;
  KernelEvents& operator=(const KernelEvents&) = delete;

  /// From now on this process is seen, and those that it makes. Returns whether there is one.
  bool follow(pid_t process) noexcept;
  /// Nothing more is told of this file.
  void forget(const page_file& file) noexcept;
  /// Tells all that has happened.
  void take();
  /// A descriptor that can be read when there is something to tell. Belongs to this object.
  int descriptor() const noexcept;
  /// Events that there was no room for.
  std::uint64_t lost() const noexcept;

 private:
  static int tell(void* self, void* data, std::size_t bytes);

  Told told_;
  std::unique_ptr<page_events_bpf, void (*)(page_events_bpf*)> programs_;
  std::unique_ptr<ring_buffer, void (*)(ring_buffer*)> events_;
};

}  // namespace dovetail::observer
