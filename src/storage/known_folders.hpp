// Folders whose files a worker has found on disks of this machine, so that each file need not be looked at before it is opened.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace dovetail::storage {

/// Only a guess of where a file lies that is about to be opened: folders are renamed and mounted over. What was opened tells. Used by one worker.
class KnownFolders {
 public:
  struct Device {
    dev_t number;
    bool in_memory;
  };
  /// Of the folder of a path, by its name.
  std::optional<Device> find(std::string_view path) const noexcept {
    const std::size_t folder = number_of(path);
    const Entry& entry = entries_[folder % entries_.size()];
    return entry.used && entry.folder == folder ? std::optional(entry.device) : std::nullopt;
  }
  void note(std::string_view path, const Device& device) noexcept {
    const std::size_t folder = number_of(path);
    entries_[folder % entries_.size()] = {folder, device, true};
  }
  void forget(std::string_view path) noexcept { entries_[number_of(path) % entries_.size()].used = false; }

 private:
  struct Entry {
    std::size_t folder;
    Device device;
    bool used;
  };
  static std::size_t number_of(std::string_view path) noexcept {
    return std::hash<std::string_view>()(path.substr(0, path.rfind('/') + 1));
  }
  std::array<Entry, 16> entries_{};
};

}  // namespace dovetail::storage
