#pragma once

#include <fuse_lowlevel.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace dovetail::devices {

/// The files of the backing folder that the kernel knows, each with a descriptor that only names it (O_PATH).
/// Thread safe. Functions that can fail return -errno.
class FaultNodes {
 public:
  /// Opens the backing folder. Throws std::system_error.
  explicit FaultNodes(const std::string& backing);
  ~FaultNodes();
  FaultNodes(const FaultNodes&) = delete;
  FaultNodes& operator=(const FaultNodes&) = delete;

  /// Finds a name in a folder and counts one more reference of the kernel's to it.
  int find(fuse_ino_t parent, const char* name, fuse_entry_param& entry);
  void forget(fuse_ino_t number, std::uint64_t references);
  /// The descriptor of a file that the kernel still refers to.
  int descriptor(fuse_ino_t number);
  /// A path through which the file itself can be opened, whatever it is called now.
  std::string handle_path(fuse_ino_t number);
  /// The path below the backing folder, "" for the folder itself.
  std::string path(fuse_ino_t number);

 private:
  using Identity = std::pair<dev_t, ino_t>;
  struct Node {
    int descriptor;
    Identity identity;
    std::uint64_t references;
  };

  std::mutex mutex_;
  std::map<fuse_ino_t, std::unique_ptr<Node>> nodes_;
  std::map<Identity, fuse_ino_t> numbers_;
  fuse_ino_t next_ = 16;  // the first ones are the root and the control file
  std::string root_path_;
};

}  // namespace dovetail::devices
