#include "device/facts.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include "base/descriptor.hpp"
#include "base/kernel_files.hpp"
#include "device/failure.hpp"
#include "device/file_system.hpp"

namespace dovetail::device {
namespace {

std::string number_of(unsigned major_number, unsigned minor_number) {
  return std::to_string(major_number) + ":" + std::to_string(minor_number);
}

std::uint64_t number_in_file(const std::string& path) { return base::number_in(base::first_line(path)); }

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), std::free);
  return real != nullptr ? real.get() : std::string();
}

// What sysfs tells of a block device. A partition's queue is that of its disk.
void describe_block_device(Facts& facts, const std::string& number, std::vector<std::string>& numbers) {
  std::string folder = real_path("/sys/dev/block/" + number);
  if (folder.empty()) {
    return;
  }
  numbers.push_back(number);
  if (access((folder + "/partition").c_str(), F_OK) == 0) {
    folder.erase(folder.rfind('/'));
    numbers.push_back(base::first_line(folder + "/dev"));
  }
  facts.name = folder.substr(folder.rfind('/') + 1);
  const std::string queue = folder + "/queue/";
  if (const std::string rotational = base::first_line(queue + "rotational"); !rotational.empty()) {
    facts.rotational = rotational != "0";
  }
  // The one in force stands in brackets: "none [mq-deadline] kyber".
  facts.scheduler = base::first_line(queue + "scheduler");
  const std::size_t open = facts.scheduler.find('[');
  const std::size_t end = facts.scheduler.find(']');
  if (open != std::string::npos && end != std::string::npos && open < end) {
    facts.scheduler = facts.scheduler.substr(open + 1, end - open - 1);
  }
  facts.request_bytes_max = number_in_file(queue + "max_sectors_kb") * 1024;
  facts.request_bytes_best = number_in_file(queue + "optimal_io_size");
  facts.queue_requests = static_cast<std::uint32_t>(number_in_file(queue + "nr_requests"));
  facts.direct_offset_align = static_cast<std::uint32_t>(number_in_file(queue + "logical_block_size"));
  facts.loop = access((folder + "/loop").c_str(), F_OK) == 0;
  facts.backing_file = base::first_line(folder + "/loop/backing_file");
}

// A descriptor with O_DIRECT somewhere on the file system, without leaving anything there; or -1.
int open_direct(const std::string& path, bool folder) {
  constexpr int flags = O_CLOEXEC | O_DIRECT | O_NONBLOCK;
  if (!folder) {
    return open(path.c_str(), O_RDONLY | flags);
  }
  if (const int made = open(path.c_str(), O_TMPFILE | O_RDWR | flags, 0600); made >= 0) {
    return made;
  }
  // Not writable, or without unnamed files: any file that lies there will do.
  const std::unique_ptr<DIR, int (*)(DIR*)> list(opendir(path.c_str()), closedir);
  for (int looked_at = 0; list != nullptr && looked_at < 64; ++looked_at) {
    const dirent* entry = readdir(list.get());  // NOLINT(concurrency-mt-unsafe): the stream is ours alone
    if (entry == nullptr) {
      break;
    }
    if (entry->d_type == DT_REG) {
      if (const int found = openat(dirfd(list.get()), entry->d_name, O_RDONLY | O_NOFOLLOW | flags); found >= 0) {
        return found;
      }
    }
  }
  return -1;
}

void describe_direct(Facts& facts, const std::string& path, bool folder) {
  const std::uint32_t logical_block = facts.direct_offset_align;
  facts.direct_offset_align = 0;
  const base::Descriptor descriptor(open_direct(path, folder));
  if (descriptor.get() < 0) {
    return;
  }
  facts.direct = true;
  struct statx status{};
  if (statx(descriptor.get(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 &&
      (status.stx_mask & STATX_DIOALIGN) != 0) {
    facts.direct = status.stx_dio_offset_align != 0;
    facts.direct_offset_align = status.stx_dio_offset_align;
    facts.direct_memory_align = status.stx_dio_mem_align;
  } else if (facts.in_memory) {
    facts.direct_offset_align = facts.direct_memory_align = 1;
  } else {
    facts.direct_offset_align = logical_block != 0 ? logical_block : 4096;
    facts.direct_memory_align = facts.direct_offset_align;
  }
}

void describe_mount(Facts& facts, const base::Mount& mount) {
  facts.mount_point = mount.mount_point;
  facts.file_system = mount.file_system;
  facts.source = mount.source;
  facts.number = mount.number;
  facts.in_memory = keeps_files_in_memory(mount.file_system);
  facts.network = is_on_network(mount.file_system);
  facts.fuse = is_in_user_space(mount.file_system);
  facts.read_only = base::has_word(mount.options, "ro");
}

void describe_space(Facts& facts, const std::string& path) {
  struct statvfs space{};
  if (statvfs(path.c_str(), &space) == 0) {
    facts.size_bytes = std::uint64_t{space.f_blocks} * space.f_frsize;
    facts.free_bytes = std::uint64_t{geteuid() == 0 ? space.f_bfree : space.f_bavail} * space.f_frsize;
    facts.read_only = facts.read_only || (space.f_flag & ST_RDONLY) != 0;
  }
}

// File systems that span devices (btrfs, overlay) have numbers of their own; then the source may name the device.
void describe_below(Facts& facts, const std::vector<base::Mount>& mounts) {
  std::vector<std::string> numbers;
  describe_block_device(facts, facts.number, numbers);
  struct stat status{};
  if (numbers.empty() && facts.source.starts_with('/') && stat(facts.source.c_str(), &status) == 0 &&
      S_ISBLK(status.st_mode)) {
    describe_block_device(facts, number_of(major(status.st_rdev), minor(status.st_rdev)), numbers);
  }
  if (!numbers.empty()) {
    facts.throttle = find_throttle(mounts, base::whole_file("/proc/self/cgroup"), numbers);
  }
}

std::vector<base::Mount> mounts_or_fail() {
  std::vector<base::Mount> mounts = base::mounts_now();
  if (mounts.empty()) {
    constexpr const char* table = "/proc/self/mountinfo";
    fail(access(table, R_OK) == 0 ? EIO : errno, "read", table);
  }
  return mounts;
}

const base::Mount* mount_of(const std::vector<base::Mount>& mounts, std::uint64_t id, const std::string& number,
                            const std::string& path) {
  const base::Mount* best = nullptr;
  for (const base::Mount& mount : mounts) {
    if (id != 0 && mount.id == id) {
      return &mount;
    }
    const bool above =
        mount.mount_point == "/" || path == mount.mount_point || path.starts_with(mount.mount_point + "/");
    // Of two mounts on one point the later covers the earlier.
    if (mount.number == number && above && (best == nullptr || mount.mount_point.size() >= best->mount_point.size())) {
      best = &mount;
    }
  }
  return best;
}

}  // namespace

Facts facts_of(const std::string& path) {
  require_whole_path(path, "statx");
  struct statx status{};
  if (::statx(AT_FDCWD, path.c_str(), AT_STATX_SYNC_AS_STAT, STATX_TYPE | STATX_MNT_ID, &status) != 0) {
    fail(errno, "statx", path);
  }
  Facts facts;
  facts.path = path;
  const std::vector<base::Mount> mounts = mounts_or_fail();
  if (S_ISBLK(status.stx_mode)) {
    // Asked for the disk itself, not for the folder of its node.
    facts.number = number_of(status.stx_rdev_major, status.stx_rdev_minor);
    facts.source = path;
    for (const base::Mount& mount : mounts) {
      if (mount.number == facts.number) {
        describe_mount(facts, mount);
        describe_space(facts, mount.mount_point);
        break;
      }
    }
    describe_below(facts, mounts);
    describe_direct(facts, path, false);
    return facts;
  }
  const std::string number = number_of(status.stx_dev_major, status.stx_dev_minor);
  const std::uint64_t id = (status.stx_mask & STATX_MNT_ID) != 0 ? status.stx_mnt_id : 0;
  facts.number = number;
  if (const base::Mount* mount = mount_of(mounts, id, number, real_path(path))) {
    describe_mount(facts, *mount);
  }
  describe_space(facts, path);
  describe_below(facts, mounts);
  if (S_ISREG(status.stx_mode) || S_ISDIR(status.stx_mode)) {
    describe_direct(facts, path, S_ISDIR(status.stx_mode));
  } else {
    facts.direct_offset_align = 0;
  }
  return facts;
}

std::vector<Facts> facts_of_mounted() {
  const std::vector<base::Mount> mounts = mounts_or_fail();
  const std::string kinds = base::whole_file("/proc/filesystems");
  std::vector<Facts> all;
  for (const base::Mount& mount : mounts) {
    const bool virtual_kind = kinds.find("nodev\t" + mount.file_system + "\n") != std::string::npos;
    const bool stores = !virtual_kind || stores_without_device(mount.file_system);
    const bool known =
        std::any_of(all.begin(), all.end(), [&](const Facts& other) { return other.number == mount.number; });
    struct stat status{};
    if (!stores || known) {
      continue;
    }
    // A server that is gone would stop us in the first call that touches its files.
    if (is_on_network(mount.file_system) || is_in_user_space(mount.file_system)) {
      Facts facts;
      facts.path = mount.mount_point;
      describe_mount(facts, mount);
      all.push_back(std::move(facts));
    } else if (stat(mount.mount_point.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
               (mount.file_system == "btrfs" ||  // its subvolumes have numbers of their own
                number_of(major(status.st_dev), minor(status.st_dev)) == mount.number)) {
      // Elsewhere it is covered by another mount, or a single file is mounted.
      all.push_back(facts_of(mount.mount_point));
    }
  }
  return all;
}

}  // namespace dovetail::device
