// The control file: reading it gives the rules and their counters, writing appends rules, truncating removes them.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fault_operations.hpp"

namespace dovetail::devices {
namespace {

struct stat control_attributes() {
  struct stat attributes{};
  attributes.st_ino = control_number;
  attributes.st_mode = S_IFREG | 0600;
  attributes.st_nlink = 1;
  return attributes;
}

/// "wait N", which answers the write once N calls wait, must be alone.
std::optional<std::size_t> parse_wait(std::string_view line) {
  constexpr std::string_view word = "wait ";
  if (line.substr(0, word.size()) != word) {
    return std::nullopt;
  }
  line.remove_prefix(word.size());
  std::size_t count = 0;
  const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), count);
  if (error != std::errc{} || rest != line.data() + line.size()) {
    throw BadRule("'wait " + std::string(line) + "': a number of calls is expected");
  }
  return count;
}

void remove_rules(FaultFileSystem& system) { system.replies.release_held(system.rules.clear()); }

void reject(fuse_req_t request, const std::exception& error) {
  std::fprintf(stderr, "dovetail-fault-fs: /%s: %s\n", control_name, error.what());
  fuse_reply_err(request, EINVAL);
}

}  // namespace

void control_find(fuse_req_t request) {
  fuse_entry_param entry{};
  entry.ino = control_number;
  entry.attr = control_attributes();
  fuse_reply_entry(request, &entry);
}

void control_get_attributes(fuse_req_t request) {
  const struct stat attributes = control_attributes();
  fuse_reply_attr(request, &attributes, 0);
}

void control_set_attributes(fuse_req_t request, int what, const struct stat& attributes) {
  if ((what & FUSE_SET_ATTR_SIZE) != 0 && attributes.st_size == 0) {
    remove_rules(file_system_of(request));
  }
  control_get_attributes(request);
}

void control_open(fuse_req_t request, int flags) {
  FaultFileSystem& system = file_system_of(request);
  if ((flags & O_TRUNC) != 0) {
    remove_rules(system);
  }
  auto* text = new std::string(system.rules.describe() + system.replies.describe());
  fuse_file_info file{};
  file.direct_io = 1;
  file.fh = reinterpret_cast<std::uintptr_t>(text);
  if (fuse_reply_open(request, &file) == -ENOENT) {
    delete text;
  }
}

void control_read(fuse_req_t request, std::size_t size, off_t offset, const fuse_file_info* file) {
  const auto& text = *reinterpret_cast<const std::string*>(file->fh);
  // A copy: when the kernel has the reply, the file may be closed, and the text gone, before this call returns.
  const std::string part = text.substr(std::min(static_cast<std::size_t>(offset), text.size()), size);
  fuse_reply_buf(request, part.data(), part.size());
}

void control_write(fuse_req_t request, const char* data, std::size_t size) {
  FaultFileSystem& system = file_system_of(request);
  std::string_view text(data, size);
  try {
    std::string_view only_line = text.substr(0, text.find('\n'));
    if (text.size() - only_line.size() <= 1) {
      if (only_line == "release") {
        system.replies.release_held(system.rules.release());
        fuse_reply_write(request, size);
        return;
      }
      if (const auto count = parse_wait(only_line)) {
        system.replies.when_waiting(
            request, *count, [=] { fuse_reply_write(request, size); }, [=] { fuse_reply_err(request, EINTR); });
        return;
      }
    }
    std::vector<FaultRule> rules;
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      if (auto rule = parse_rule(line)) {
        rules.push_back(std::move(*rule));
      }
    }
    system.rules.append(std::move(rules));
    fuse_reply_write(request, size);
  } catch (const BadRule& error) {
    reject(request, error);
  }
}

void control_release(fuse_req_t request, const fuse_file_info* file) {
  delete reinterpret_cast<std::string*>(file->fh);
  fuse_reply_err(request, 0);
}

}  // namespace dovetail::devices
