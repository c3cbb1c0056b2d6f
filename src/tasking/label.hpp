// Labels of tasks, kept once each for the life of the process, so that a task, a trace and an error carry only an address.
#pragma once

#include <cstdint>
#include <string_view>

namespace dovetail::tasking {

struct Label {
  std::string_view text;      ///< Followed by a zero byte.
  std::string_view accesses;  ///< Regions of named spaces that the task uses, for reports. See named_spaces.hpp.
};

/// The label with this text. Thread-safe. The table of labels is bounded, since a program may make a new label for every
/// task. Beyond the limit the result is a copy: `own` is true, and the caller frees it with `free_label`.
const Label* intern_label(std::string_view text, bool& own);
/// A label of one task's own, which is to be freed.
const Label* label_with_accesses(std::string_view text, std::string_view accesses);
void free_label(const Label* label) noexcept;
/// As long as this lives no label is freed: for a report, which reads the labels of tasks that may complete meanwhile.
class LabelsHeld {
 public:
  LabelsHeld() noexcept;
  ~LabelsHeld();
  LabelsHeld(const LabelsHeld&) = delete;
  LabelsHeld& operator=(const LabelsHeld&) = delete;
};
/// "unnamed task".
const Label* unnamed_label() noexcept;

}  // namespace dovetail::tasking
