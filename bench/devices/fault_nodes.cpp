#include "fault_nodes.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <system_error>

namespace dovetail::devices {
namespace {

std::string link_target(const std::string& link) {
  std::string target(PATH_MAX, '\0');
  const ssize_t length = readlink(link.c_str(), target.data(), target.size());
  target.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return target;
}

std::string descriptor_path(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

}  // namespace

FaultNodes::FaultNodes(const std::string& backing) {
  const int root = open(backing.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  struct stat status{};
  if (root < 0 || fstat(root, &status) != 0) {
    throw std::system_error(errno, std::generic_category(), backing);
  }
  root_path_ = link_target(descriptor_path(root));
  const Identity identity{status.st_dev, status.st_ino};
  nodes_.emplace(FUSE_ROOT_ID, std::make_unique<Node>(Node{root, identity, 1}));
  numbers_.emplace(identity, FUSE_ROOT_ID);
}

FaultNodes::~FaultNodes() {
  for (const auto& [number, node] : nodes_) {
    close(node->descriptor);
  }
}

int FaultNodes::find(fuse_ino_t parent, const char* name, fuse_entry_param& entry) {
  entry = {};
  const int found = openat(descriptor(parent), name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (found < 0) {
    return -errno;
  }
  if (fstatat(found, "", &entry.attr, AT_EMPTY_PATH) != 0) {
    const int error = errno;
    close(found);
    return -error;
  }
  const Identity identity{entry.attr.st_dev, entry.attr.st_ino};
  const std::lock_guard lock(mutex_);
  const auto [position, is_new] = numbers_.try_emplace(identity, next_);
  entry.ino = position->second;
  if (is_new) {
    nodes_.emplace(next_++, std::make_unique<Node>(Node{found, identity, 1}));
  } else {
    close(found);
    ++nodes_.at(entry.ino)->references;
  }
  return 0;
}

void FaultNodes::forget(fuse_ino_t number, std::uint64_t references) {
  const std::lock_guard lock(mutex_);
  const auto position = nodes_.find(number);
  if (position == nodes_.end() || number == FUSE_ROOT_ID) {
    return;
  }
  position->second->references -= references;
  if (position->second->references == 0) {
    close(position->second->descriptor);
    numbers_.erase(position->second->identity);
    nodes_.erase(position);
  }
}

int FaultNodes::descriptor(fuse_ino_t number) {
  const std::lock_guard lock(mutex_);
  const auto position = nodes_.find(number);
  return position == nodes_.end() ? -1 : position->second->descriptor;
}

std::string FaultNodes::handle_path(fuse_ino_t number) { return descriptor_path(descriptor(number)); }

std::string FaultNodes::path(fuse_ino_t number) {
  const std::string full = link_target(handle_path(number));
  return full.size() > root_path_.size() ? full.substr(root_path_.size() + 1) : "";
}

}  // namespace dovetail::devices
