#pragma once

#include <fuse_lowlevel.h>

#include <string>

#include "fault_nodes.hpp"
#include "fault_replies.hpp"
#include "fault_rules.hpp"

namespace dovetail::devices {

/// What the file system's operations work on: the user data of the FUSE session.
struct FaultFileSystem {
  explicit FaultFileSystem(const std::string& backing) : nodes(backing) {}

  FaultNodes nodes;
  FaultRules rules;
  FaultReplies replies{[](fuse_req_t request, void* data) {
    static_cast<FaultFileSystem*>(fuse_req_userdata(request))->replies.interrupted(request, data);
  }};
  bool cached = false;  ///< the kernel may cache files that were opened without O_DIRECT
};

inline FaultFileSystem& file_system_of(fuse_req_t request) {
  return *static_cast<FaultFileSystem*>(fuse_req_userdata(request));
}

/// The control file: in the root folder, but not listed there.
constexpr const char* control_name = ".faults";
constexpr fuse_ino_t control_number = 2;

/// Operations on names and attributes, which no rule touches.
void add_name_operations(fuse_lowlevel_ops& operations);
/// Operations on open files, each judged by the rules.
void add_file_operations(fuse_lowlevel_ops& operations);

/// Operations on the control file; the others above call them where they meet its number.
void control_find(fuse_req_t request);
void control_get_attributes(fuse_req_t request);
void control_set_attributes(fuse_req_t request, int what, const struct stat& attributes);
void control_open(fuse_req_t request, int flags);
void control_read(fuse_req_t request, std::size_t size, off_t offset, const fuse_file_info* file);
void control_write(fuse_req_t request, const char* data, std::size_t size);
void control_release(fuse_req_t request, const fuse_file_info* file);

}  // namespace dovetail::devices
