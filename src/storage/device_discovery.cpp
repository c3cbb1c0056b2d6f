#include "storage/device_discovery.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

#include "dovetail/failure.hpp"
#include "storage/whole_path.hpp"

namespace dovetail::storage {
namespace {

std::string number_of(unsigned major_number, unsigned minor_number) {
  return std::to_string(major_number) + ":" + std::to_string(minor_number);
}

// The mount table writes blanks and the like as a backslash and three octal digits.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 4, value, 8).ptr == text.data() + i + 4) {
      plain += static_cast<char>(value);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    if (end > 0) {
      words.push_back(line.substr(0, end));
    }
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

std::uint64_t number_in_file(const std::string& path) {
  const std::string line = first_line(path);
  std::uint64_t value = 0;
  std::from_chars(line.data(), line.data() + line.size(), value);
  return value;
}

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), std::free);
  return real != nullptr ? real.get() : std::string();
}

// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) {
      close(number_);
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const noexcept { return number_; }

 private:
  int number_;
};

// Of the file systems that need no block device, those that nevertheless store what is written to them.
constexpr std::string_view without_device[] = {"tmpfs", "ramfs",    "overlay",  "nfs",       "nfs4",     "cifs",
                                               "smb3",  "ceph",     "lustre",   "gpfs",      "beegfs",   "afs",
                                               "9p",    "fuse",     "fuseblk",  "btrfs",     "zfs",      "virtiofs",
                                               "ubifs", "orangefs", "bcachefs", "glusterfs", "hugetlbfs"};
constexpr std::string_view on_network[] = {"nfs",       "nfs4",      "cifs",         "smb3",         "ceph",
                                           "lustre",    "gpfs",      "beegfs",       "afs",          "9p",
                                           "orangefs",  "ocfs2",     "gfs2",         "fuse.sshfs",   "fuse.glusterfs",
                                           "fuse.ceph", "fuse.s3fs", "fuse.juicefs", "fuse.gcsfuse", "fuse.rclone"};

bool is_one_of(std::string_view word, auto& list) noexcept {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

// What sysfs tells of a block device. A partition's queue is that of its disk.
void describe_block_device(Device& device, const std::string& number, std::vector<std::string>& numbers) {
  std::string folder = real_path("/sys/dev/block/" + number);
  if (folder.empty()) {
    return;
  }
  numbers.push_back(number);
  if (access((folder + "/partition").c_str(), F_OK) == 0) {
    folder.erase(folder.rfind('/'));
    numbers.push_back(first_line(folder + "/dev"));
  }
  device.name = folder.substr(folder.rfind('/') + 1);
  const std::string queue = folder + "/queue/";
  if (const std::string rotational = first_line(queue + "rotational"); !rotational.empty()) {
    device.rotational = rotational != "0";
  }
  // The one in force stands in brackets: "none [mq-deadline] kyber".
  device.scheduler = first_line(queue + "scheduler");
  const std::size_t open = device.scheduler.find('[');
  const std::size_t end = device.scheduler.find(']');
  if (open != std::string::npos && end != std::string::npos && open < end) {
    device.scheduler = device.scheduler.substr(open + 1, end - open - 1);
  }
  device.request_bytes_max = number_in_file(queue + "max_sectors_kb") * 1024;
  device.request_bytes_best = number_in_file(queue + "optimal_io_size");
  device.queue_requests = static_cast<std::uint32_t>(number_in_file(queue + "nr_requests"));
  device.direct_offset_align = static_cast<std::uint32_t>(number_in_file(queue + "logical_block_size"));
  device.loop = access((folder + "/loop").c_str(), F_OK) == 0;
  device.backing_file = first_line(folder + "/loop/backing_file");
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

void describe_direct(Device& device, const std::string& path, bool folder) {
  const std::uint32_t logical_block = device.direct_offset_align;
  device.direct_offset_align = 0;
  const Descriptor descriptor(open_direct(path, folder));
  if (descriptor.get() < 0) {
    return;
  }
  device.direct = true;
  struct statx status{};
  if (statx(descriptor.get(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 &&
      (status.stx_mask & STATX_DIOALIGN) != 0) {
    device.direct = status.stx_dio_offset_align != 0;
    device.direct_offset_align = status.stx_dio_offset_align;
    device.direct_memory_align = status.stx_dio_mem_align;
  } else if (device.in_memory) {
    device.direct_offset_align = device.direct_memory_align = 1;
  } else {
    device.direct_offset_align = logical_block != 0 ? logical_block : 4096;
    device.direct_memory_align = device.direct_offset_align;
  }
}

void describe_mount(Device& device, const Mount& mount) {
  device.mount_point = mount.mount_point;
  device.file_system = mount.file_system;
  device.source = mount.source;
  device.number = mount.number;
  device.in_memory = keeps_files_in_memory(mount.file_system);
  device.network = is_on_network(mount.file_system);
  device.fuse = is_in_user_space(mount.file_system);
  device.read_only = has_word(mount.options, "ro");
}

void describe_space(Device& device, const std::string& path) {
  struct statvfs space{};
  if (statvfs(path.c_str(), &space) == 0) {
    device.size_bytes = std::uint64_t{space.f_blocks} * space.f_frsize;
    device.free_bytes = std::uint64_t{geteuid() == 0 ? space.f_bfree : space.f_bavail} * space.f_frsize;
    device.read_only = device.read_only || (space.f_flag & ST_RDONLY) != 0;
  }
}

// File systems that span devices (btrfs, overlay) have numbers of their own; then the source may name the device.
void describe_below(Device& device, const std::vector<Mount>& mounts) {
  std::vector<std::string> numbers;
  describe_block_device(device, device.number, numbers);
  struct stat status{};
  if (numbers.empty() && device.source.starts_with('/') && stat(device.source.c_str(), &status) == 0 &&
      S_ISBLK(status.st_mode)) {
    describe_block_device(device, number_of(major(status.st_rdev), minor(status.st_rdev)), numbers);
  }
  if (!numbers.empty()) {
    device.throttle = find_throttle(mounts, whole_file("/proc/self/cgroup"), numbers);
  }
}

std::vector<Mount> mounts_now() {
  constexpr const char* table = "/proc/self/mountinfo";
  std::vector<Mount> mounts = parse_mounts(whole_file(table));
  if (mounts.empty()) {
    throw IoError(access(table, R_OK) == 0 ? EIO : errno, "read", table, 0, 0);
  }
  return mounts;
}

const Mount* mount_of(const std::vector<Mount>& mounts, std::uint64_t id, const std::string& number,
                      const std::string& path) {
  const Mount* best = nullptr;
  for (const Mount& mount : mounts) {
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

std::vector<Mount> parse_mounts(std::string_view text) {
  std::vector<Mount> mounts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) {
      continue;
    }
    const std::vector<std::string_view> before = words_of(line.substr(0, dash));
    const std::vector<std::string_view> after = words_of(line.substr(dash + 3));
    if (before.size() < 6 || after.empty()) {
      continue;
    }
    Mount mount;
    std::from_chars(before[0].data(), before[0].data() + before[0].size(), mount.id);
    mount.number = before[2];
    mount.root = unescape(before[3]);
    mount.mount_point = unescape(before[4]);
    mount.file_system = after[0];
    // An empty source leaves only the options.
    mount.source = after.size() > 2 ? unescape(after[1]) : std::string();
    mount.options = std::string(before[5]) + "," + std::string(after.back());
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

bool has_word(std::string_view list, std::string_view word, char separator) noexcept {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(separator), list.size());
    if (list.substr(0, end) == word) {
      return true;
    }
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

bool keeps_files_in_memory(std::string_view file_system) noexcept {
  return file_system == "tmpfs" || file_system == "ramfs" || file_system == "hugetlbfs";
}

bool is_on_network(std::string_view file_system) noexcept { return is_one_of(file_system, on_network); }

bool is_in_user_space(std::string_view file_system) noexcept {
  return file_system == "fuse" || file_system == "fuseblk" || file_system.starts_with("fuse.");
}

std::string whole_file(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace dovetail::storage

namespace dovetail {

Device Device::of(const std::string& path) {
  using namespace storage;
  require_whole_path(path, "statx");
  struct statx status{};
  if (::statx(AT_FDCWD, path.c_str(), AT_STATX_SYNC_AS_STAT, STATX_TYPE | STATX_MNT_ID, &status) != 0) {
    throw IoError(errno, "statx", path, 0, 0);
  }
  Device device;
  device.path = path;
  const std::vector<Mount> mounts = mounts_now();
  if (S_ISBLK(status.stx_mode)) {
    // Asked for the disk itself, not for the folder of its node.
    device.number = number_of(status.stx_rdev_major, status.stx_rdev_minor);
    device.source = path;
    for (const Mount& mount : mounts) {
      if (mount.number == device.number) {
        describe_mount(device, mount);
        describe_space(device, mount.mount_point);
        break;
      }
    }
    describe_below(device, mounts);
    describe_direct(device, path, false);
    return device;
  }
  const std::string number = number_of(status.stx_dev_major, status.stx_dev_minor);
  const std::uint64_t id = (status.stx_mask & STATX_MNT_ID) != 0 ? status.stx_mnt_id : 0;
  device.number = number;
  if (const Mount* mount = mount_of(mounts, id, number, real_path(path))) {
    describe_mount(device, *mount);
  }
  describe_space(device, path);
  describe_below(device, mounts);
  if (S_ISREG(status.stx_mode) || S_ISDIR(status.stx_mode)) {
    describe_direct(device, path, S_ISDIR(status.stx_mode));
  } else {
    device.direct_offset_align = 0;
  }
  return device;
}

std::vector<Device> Device::mounted() {
  using namespace storage;
  const std::vector<Mount> mounts = mounts_now();
  const std::string kinds = whole_file("/proc/filesystems");
  std::vector<Device> devices;
  for (const Mount& mount : mounts) {
    const bool virtual_kind = kinds.find("nodev\t" + mount.file_system + "\n") != std::string::npos;
    const bool stores = !virtual_kind || is_one_of(mount.file_system, without_device);
    const bool known =
        std::any_of(devices.begin(), devices.end(), [&](const Device& other) { return other.number == mount.number; });
    struct stat status{};
    if ((!stores && !is_in_user_space(mount.file_system)) || known) {
      continue;
    }
    // A server that is gone would stop us in the first call that touches its files.
    if (is_on_network(mount.file_system) || is_in_user_space(mount.file_system)) {
      Device device;
      device.path = mount.mount_point;
      describe_mount(device, mount);
      devices.push_back(std::move(device));
    } else if (stat(mount.mount_point.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
               (mount.file_system == "btrfs" ||  // its subvolumes have numbers of their own
                number_of(major(status.st_dev), minor(status.st_dev)) == mount.number)) {
      // Elsewhere it is covered by another mount, or a single file is mounted.
      devices.push_back(of(mount.mount_point));
    }
  }
  return devices;
}

}  // namespace dovetail
