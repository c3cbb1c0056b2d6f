// Operations on names and attributes: passed through to the backing folder as they are.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>
#include <vector>

#include "fault_operations.hpp"

namespace dovetail::devices {
namespace {

void answer(fuse_req_t request, int result) { fuse_reply_err(request, result == 0 ? 0 : errno); }

bool is_control(fuse_ino_t parent, const char* name) {
  return parent == FUSE_ROOT_ID && std::strcmp(name, control_name) == 0;
}

void answer_with_entry(fuse_req_t request, fuse_ino_t parent, const char* name) {
  FaultFileSystem& system = file_system_of(request);
  fuse_entry_param entry;
  const int error = -system.nodes.find(parent, name, entry);
  if (error != 0) {
    fuse_reply_err(request, error);
  } else if (fuse_reply_entry(request, &entry) != 0) {
    system.nodes.forget(entry.ino, 1);
  }
}

void lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  if (is_control(parent, name)) {
    control_find(request);
  } else {
    answer_with_entry(request, parent, name);
  }
}

void forget(fuse_req_t request, fuse_ino_t number, std::uint64_t references) {
  file_system_of(request).nodes.forget(number, references);
  fuse_reply_none(request);
}

void get_attributes(fuse_req_t request, fuse_ino_t number, fuse_file_info*) {
  if (number == control_number) {
    control_get_attributes(request);
    return;
  }
  struct stat attributes{};
  if (fstatat(file_system_of(request).nodes.descriptor(number), "", &attributes, AT_EMPTY_PATH) != 0) {
    fuse_reply_err(request, errno);
  } else {
    fuse_reply_attr(request, &attributes, 0);
  }
}

timespec time_to_set(int what, int given, int now, const timespec& value) {
  if ((what & now) != 0) {
    return {.tv_sec = 0, .tv_nsec = UTIME_NOW};
  }
  return (what & given) != 0 ? value : timespec{.tv_sec = 0, .tv_nsec = UTIME_OMIT};
}

void set_attributes(fuse_req_t request, fuse_ino_t number, struct stat* wanted, int what, fuse_file_info* file) {
  if (number == control_number) {
    control_set_attributes(request, what, *wanted);
    return;
  }
  FaultNodes& nodes = file_system_of(request).nodes;
  const std::string path = nodes.handle_path(number);
  bool failed = (what & FUSE_SET_ATTR_MODE) != 0 && chmod(path.c_str(), wanted->st_mode) != 0;
  if (!failed && (what & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) != 0) {
    const uid_t user = (what & FUSE_SET_ATTR_UID) != 0 ? wanted->st_uid : static_cast<uid_t>(-1);
    const gid_t group = (what & FUSE_SET_ATTR_GID) != 0 ? wanted->st_gid : static_cast<gid_t>(-1);
    failed = fchownat(nodes.descriptor(number), "", user, group, AT_EMPTY_PATH) != 0;
  }
  if (!failed && (what & FUSE_SET_ATTR_SIZE) != 0) {
    failed = (file != nullptr ? ftruncate(static_cast<int>(file->fh), wanted->st_size)
                              : truncate(path.c_str(), wanted->st_size)) != 0;
  }
  constexpr int any_time =
      FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME_NOW;
  if (!failed && (what & any_time) != 0) {
    const std::array<timespec, 2> times = {
        time_to_set(what, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, wanted->st_atim),
        time_to_set(what, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, wanted->st_mtim)};
    failed = utimensat(AT_FDCWD, path.c_str(), times.data(), 0) != 0;
  }
  if (failed) {
    fuse_reply_err(request, errno);
  } else {
    get_attributes(request, number, file);
  }
}

void make_node(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, dev_t device) {
  if (mknodat(file_system_of(request).nodes.descriptor(parent), name, mode, device) != 0) {
    fuse_reply_err(request, errno);
  } else {
    answer_with_entry(request, parent, name);
  }
}

void make_folder(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
  if (mkdirat(file_system_of(request).nodes.descriptor(parent), name, mode) != 0) {
    fuse_reply_err(request, errno);
  } else {
    answer_with_entry(request, parent, name);
  }
}

void make_symbolic_link(fuse_req_t request, const char* target, fuse_ino_t parent, const char* name) {
  if (symlinkat(target, file_system_of(request).nodes.descriptor(parent), name) != 0) {
    fuse_reply_err(request, errno);
  } else {
    answer_with_entry(request, parent, name);
  }
}

void make_link(fuse_req_t request, fuse_ino_t number, fuse_ino_t parent, const char* name) {
  FaultNodes& nodes = file_system_of(request).nodes;
  if (linkat(AT_FDCWD, nodes.handle_path(number).c_str(), nodes.descriptor(parent), name, AT_SYMLINK_FOLLOW) != 0) {
    fuse_reply_err(request, errno);
  } else {
    answer_with_entry(request, parent, name);
  }
}

void read_link(fuse_req_t request, fuse_ino_t number) {
  std::string target(PATH_MAX, '\0');
  const ssize_t length = readlinkat(file_system_of(request).nodes.descriptor(number), "", target.data(), PATH_MAX);
  if (length < 0) {
    fuse_reply_err(request, errno);
    return;
  }
  target.resize(static_cast<std::size_t>(length));
  fuse_reply_readlink(request, target.c_str());
}

void remove_file(fuse_req_t request, fuse_ino_t parent, const char* name) {
  answer(request, unlinkat(file_system_of(request).nodes.descriptor(parent), name, 0));
}

void remove_folder(fuse_req_t request, fuse_ino_t parent, const char* name) {
  answer(request, unlinkat(file_system_of(request).nodes.descriptor(parent), name, AT_REMOVEDIR));
}

void rename_file(fuse_req_t request, fuse_ino_t parent, const char* name, fuse_ino_t new_parent, const char* new_name,
                 unsigned int flags) {
  if (is_control(parent, name) || is_control(new_parent, new_name)) {
    fuse_reply_err(request, EBUSY);
    return;
  }
  FaultNodes& nodes = file_system_of(request).nodes;
  answer(request, renameat2(nodes.descriptor(parent), name, nodes.descriptor(new_parent), new_name, flags));
}

void file_system_status(fuse_req_t request, fuse_ino_t) {
  struct statvfs status{};
  if (fstatvfs(file_system_of(request).nodes.descriptor(FUSE_ROOT_ID), &status) != 0) {
    fuse_reply_err(request, errno);
  } else {
    fuse_reply_statfs(request, &status);
  }
}

struct FolderEntry {
  std::string name;
  struct stat attributes{};
};
using Folder = std::vector<FolderEntry>;

void open_folder(fuse_req_t request, fuse_ino_t number, fuse_file_info* file) {
  const int descriptor =
      openat(file_system_of(request).nodes.descriptor(number), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* stream = descriptor < 0 ? nullptr : fdopendir(descriptor);
  if (stream == nullptr) {
    fuse_reply_err(request, errno);
    return;
  }
  auto folder = std::make_unique<Folder>();
  while (const dirent* entry = readdir(stream)) {
    FolderEntry& added = folder->emplace_back();
    added.name = entry->d_name;
    added.attributes.st_ino = entry->d_ino;
    added.attributes.st_mode = DTTOIF(entry->d_type);
  }
  closedir(stream);
  file->fh = reinterpret_cast<std::uintptr_t>(folder.get());
  if (fuse_reply_open(request, file) == 0) {
    folder.release();
  }
}

void read_folder(fuse_req_t request, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info* file) {
  const auto& folder = *reinterpret_cast<const Folder*>(file->fh);
  std::vector<char> buffer(size);
  std::size_t used = 0;
  for (auto index = static_cast<std::size_t>(offset); index < folder.size(); ++index) {
    const FolderEntry& entry = folder[index];
    const std::size_t needed = fuse_add_direntry(request, buffer.data() + used, size - used, entry.name.c_str(),
                                                 &entry.attributes, static_cast<off_t>(index + 1));
    if (needed > size - used) {
      break;
    }
    used += needed;
  }
  fuse_reply_buf(request, buffer.data(), used);
}

void release_folder(fuse_req_t request, fuse_ino_t, fuse_file_info* file) {
  delete reinterpret_cast<Folder*>(file->fh);
  fuse_reply_err(request, 0);
}

}  // namespace

void add_name_operations(fuse_lowlevel_ops& operations) {
  operations.lookup = lookup;
  operations.forget = forget;
  operations.getattr = get_attributes;
  operations.setattr = set_attributes;
  operations.mknod = make_node;
  operations.mkdir = make_folder;
  operations.symlink = make_symbolic_link;
  operations.link = make_link;
  operations.readlink = read_link;
  operations.unlink = remove_file;
  operations.rmdir = remove_folder;
  operations.rename = rename_file;
  operations.statfs = file_system_status;
  operations.opendir = open_folder;
  operations.readdir = read_folder;
  operations.releasedir = release_folder;
}

}  // namespace dovetail::devices
