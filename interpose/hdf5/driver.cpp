#include "driver.hpp"

#include <H5FDdevelop.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include "driver_file.hpp"
#include "errors.hpp"
#include "operation.hpp"
#include "services.hpp"
#include "settings.hpp"
#include "staging/closing.hpp"

namespace dovetail::hdf5 {
namespace {

// Above the numbers that the HDF Group has registered and below those for tests.
constexpr auto driver_value = static_cast<H5FD_class_value_t>(417);
constexpr auto largest_address = static_cast<haddr_t>(std::numeric_limits<off_t>::max());

thread_local unsigned asking_for_handle = 0;
thread_local std::string failure_of_closed;

/// What HDF5 holds. The public part comes first: HDF5 knows no other.
struct Opened {
  H5FD_t public_part{};
  std::unique_ptr<DriverFile> file;
  haddr_t end_of_addresses = 0;
  bool ignore_disabled_locks = false;
  bool family_as_single = false;
};

Opened& opened(H5FD_t* file) { return *reinterpret_cast<Opened*>(file); }
const Opened& opened(const H5FD_t* file) { return *reinterpret_cast<const Opened*>(file); }

std::string because(const std::string& what, int error) {
  // The words that programs, and h5py, look for in what HDF5's own driver says.
  return what + ": errno = " + std::to_string(error) + ", error message = '" + std::generic_category().message(error) +
         "'";
}

// As HDF5's POSIX driver: the environment goes before the property.
bool ignores_disabled_locks(hid_t access_properties) {
  if (const char* value = std::getenv("HDF5_USE_FILE_LOCKING")) {  // NOLINT(concurrency-mt-unsafe): HDF5 does the same
    const std::string_view text(value);
    if (text == "BEST_EFFORT") {
      return true;
    }
    if (text == "TRUE" || text == "1") {
      return false;
    }
  }
  hbool_t used = false;
  hbool_t ignored = false;
  return H5Pget_file_locking(access_properties, &used, &ignored) >= 0 && ignored;
}

H5FD_t* open_file(const char* name, unsigned flags, hid_t access_properties, haddr_t largest) {
  constexpr auto function = "open";
  if (name == nullptr || *name == '\0' || largest == 0 || largest == HADDR_UNDEF || largest > largest_address) {
    push_error(Kind::argument, function, "no name, or a largest address that no file can have");
    return nullptr;
  }
  int how = (flags & H5F_ACC_RDWR) != 0 ? O_RDWR : O_RDONLY;
  how |= (flags & H5F_ACC_TRUNC) != 0 ? O_TRUNC : 0;
  how |= (flags & H5F_ACC_CREAT) != 0 ? O_CREAT : 0;
  how |= (flags & H5F_ACC_EXCL) != 0 ? O_EXCL : 0;
  struct stat status{};
  if (!settings().close_waits && stat(name, &status) == 0) {
    // As if its close had waited: from now on it may be cut, and nothing of it may come later.
    staging::wait_until_closed(services().stage, status.st_dev, status.st_ino, services().report.of(Cause::close));
  }
  const int descriptor = ::open(name, how, 0666);
  if (descriptor < 0) {
    const int error = errno;
    push_error(Kind::open, function,
               because("unable to open file: name = '" + std::string(name) + "', flags = " + std::to_string(flags) +
                           ", o_flags = " + std::to_string(how),
                       error));
    return nullptr;
  }
  if (fstat(descriptor, &status) != 0) {
    push_error(Kind::open, function, because("cannot ask for the size of " + std::string(name), errno));
    close(descriptor);
    return nullptr;
  }
  try {
    auto made = std::make_unique<Opened>();
    const bool beside_writers = (flags & (H5F_ACC_SWMR_READ | H5F_ACC_SWMR_WRITE)) != 0;
    made->file = std::make_unique<DriverFile>(staging::OpenedFile{.path = name,
                                                                  .descriptor = descriptor,
                                                                  .writable = (flags & H5F_ACC_RDWR) != 0,
                                                                  .device = status.st_dev,
                                                                  .inode = status.st_ino,
                                                                  .size = static_cast<std::uint64_t>(status.st_size)},
                                              !beside_writers);
    made->ignore_disabled_locks = ignores_disabled_locks(access_properties);
    std::size_t page_buffer = 0;
    unsigned least_metadata = 0;
    unsigned least_raw = 0;
    if (H5Pget_page_buffer_size(access_properties, &page_buffer, &least_metadata, &least_raw) < 0 || page_buffer != 0) {
      made->file->reads_end_at_once();
    }
    // h5repart asks so for the information of the family driver to be dropped.
    constexpr auto family_to_single = "family_to_single";
    if (H5Pexist(access_properties, family_to_single) > 0) {
      H5Pget(access_properties, family_to_single, &made->family_as_single);
    }
    return &made.release()->public_part;
  } catch (const std::exception& error) {
    push_error(Kind::open, function, std::string("cannot open ") + name + ": " + error.what());
    close(descriptor);
    return nullptr;
  }
}

// HDF5 cannot deal with a driver that fails to close; the connector asks for the failure afterwards.
herr_t close_file(H5FD_t* given) {
  const std::unique_ptr<Opened> file(&opened(given));
  const std::string failed = DriverFile::close(std::move(file->file));
  if (!failed.empty()) {
    // One call may close several files: mounted ones, targets of external links.
    failure_of_closed += failure_of_closed.empty() ? failed : "; also " + failed;
  }
  return 0;
}

int compare(const H5FD_t* first, const H5FD_t* second) {
  const staging::StagedFile& one = opened(first).file->staged();
  const staging::StagedFile& other = opened(second).file->staged();
  const auto left = std::pair(one.device(), one.inode());
  const auto right = std::pair(other.device(), other.inode());
  return left < right ? -1 : (right < left ? 1 : 0);
}

herr_t query(const H5FD_t* file, unsigned long* flags) {
  if (flags != nullptr) {
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_POSIX_COMPAT_HANDLE | H5FD_FEAT_SUPPORTS_SWMR_IO |
             H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    if (file != nullptr && opened(file).family_as_single) {
      *flags |= H5FD_FEAT_IGNORE_DRVRINFO;
    }
  }
  return 0;
}

haddr_t end_of_addresses(const H5FD_t* file, H5FD_mem_t /*type*/) { return opened(file).end_of_addresses; }
herr_t set_end_of_addresses(H5FD_t* file, H5FD_mem_t /*type*/, haddr_t address) {
  opened(file).end_of_addresses = address;
  return 0;
}
haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t /*type*/) { return opened(file).file->staged().size(); }

herr_t get_handle(H5FD_t* file, hid_t /*access_properties*/, void** handle) {
  if (handle == nullptr) {
    push_error(Kind::argument, "get_handle", "no place for the handle");
    return -1;
  }
  DriverFile& deferred = *opened(file).file;
  if (asking_for_handle == 0) {
    deferred.settle(Cause::answer);  // the program uses the descriptor behind the driver's back
  }
  *handle = deferred.descriptor_address();
  return 0;
}

bool fits(haddr_t address, std::size_t bytes) {
  return address != HADDR_UNDEF && address <= largest_address && bytes <= largest_address - address;
}

herr_t read(H5FD_t* file, H5FD_mem_t type, hid_t /*transfer_properties*/, haddr_t address, std::size_t bytes,
            void* target) {
  DriverFile& deferred = *opened(file).file;
  if (!fits(address, bytes)) {
    push_error(Kind::argument, "read", "address " + std::to_string(address) + " is out of range");
    return -1;
  }
  const staging::Answer answer =
      deferred.read({address, bytes}, static_cast<std::byte*>(target), type == H5FD_MEM_DRAW);
  if (answer.error != 0) {
    if (const std::string earlier = deferred.staged().failure(); !earlier.empty()) {
      push_error(Kind::write, "read", earlier);
    }
    push_error(Kind::read, "read",
               because(current_operation().label() + ": cannot read " + deferred.staged().path() + " at offset " +
                           std::to_string(answer.offset),
                       answer.error));
    return -1;
  }
  return 0;
}

herr_t write(H5FD_t* file, H5FD_mem_t /*type*/, hid_t /*transfer_properties*/, haddr_t address, std::size_t bytes,
             const void* data) {
  DriverFile& deferred = *opened(file).file;
  if (!fits(address, bytes)) {
    push_error(Kind::argument, "write", "address " + std::to_string(address) + " is out of range");
    return -1;
  }
  staging::Answer answer;
  try {
    answer = deferred.write({address, bytes}, static_cast<const std::byte*>(data));
  } catch (const std::bad_alloc&) {
    answer = {ENOMEM, address};
  }
  if (answer.error != 0) {
    push_error(Kind::write, "write",
               because(current_operation().label() + ": cannot write " + deferred.staged().path() + " at offset " +
                           std::to_string(answer.offset),
                       answer.error));
    return -1;
  }
  return 0;
}

// Readers in other processes go by the flushes of a single writer. HDF5 turns off its accumulator of metadata, which changes the order
// of writes, when a file that is open already is to have such readers.
bool has_readers(const H5FD_t& file) {
  return (file.access_flags & H5F_ACC_SWMR_WRITE) != 0 || (file.feature_flags & H5FD_FEAT_ACCUMULATE_METADATA) == 0;
}

herr_t flush(H5FD_t* file, hid_t /*transfer_properties*/, hbool_t closing) {
  if (closing) {
    return 0;  // `close_file` tells
  }
  DriverFile& deferred = *opened(file).file;
  const bool readers = has_readers(*file);
  const std::string failed = readers || deferred.flush_waits()
                                 ? deferred.settle(readers ? Cause::readers : Cause::flush)
                                 : deferred.staged().failure();
  if (!failed.empty()) {
    push_error(Kind::write, "flush", failed);
    return -1;
  }
  return 0;
}

herr_t truncate(H5FD_t* file, hid_t /*transfer_properties*/, hbool_t closing) {
  DriverFile& deferred = *opened(file).file;
  const staging::Answer answer = deferred.set_size(opened(file).end_of_addresses, closing);
  if (answer.error != 0) {
    push_error(Kind::write, "truncate",
               because("cannot make " + deferred.staged().path() + ' ' + std::to_string(answer.offset) + " bytes long",
                       answer.error));
    return -1;
  }
  return 0;
}

herr_t change_lock(H5FD_t* file, int how) {
  Opened& locked = opened(file);
  if (flock(*locked.file->descriptor_address(), how) == 0) {
    return 0;
  }
  if (locked.ignore_disabled_locks && errno == ENOSYS) {
    errno = 0;
    return 0;
  }
  const int error = errno;
  push_error(Kind::lock, "lock",
             "unable to lock file, errno = " + std::to_string(error) + ", error message = '" +
                 std::generic_category().message(error) + "': " + locked.file->staged().path());
  return -1;
}
herr_t lock(H5FD_t* file, hbool_t exclusive) { return change_lock(file, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB); }
herr_t unlock(H5FD_t* file) { return change_lock(file, LOCK_UN); }

herr_t remove_file(const char* name, hid_t /*access_properties*/) {
  if (std::remove(name) != 0) {
    push_error(Kind::open, "delete", because(std::string("cannot delete ") + name, errno));
    return -1;
  }
  return 0;
}

herr_t control(H5FD_t* /*file*/, std::uint64_t /*code*/, std::uint64_t flags, const void* /*input*/,
               void** /*output*/) {
  return (flags & H5FD_CTL_FAIL_IF_UNKNOWN_FLAG) != 0 ? -1 : 0;
}

// Of this life of the library, as far as they are known.
hid_t driver = H5I_INVALID_HID;
hid_t replaced_driver = H5I_INVALID_HID;

herr_t terminate() {
  forget_driver();
  return 0;
}

H5FD_class_t driver_class() {
  H5FD_class_t made{};
  made.version = H5FD_CLASS_VERSION;
  made.value = driver_value;
  made.name = "dovetail";
  made.maxaddr = largest_address;
  made.fc_degree = H5F_CLOSE_WEAK;
  made.terminate = terminate;
  made.open = guarded<open_file>;
  made.close = guarded<close_file>;
  made.cmp = compare;
  made.query = query;
  made.get_eoa = end_of_addresses;
  made.set_eoa = set_end_of_addresses;
  made.get_eof = end_of_file;
  made.get_handle = guarded<get_handle>;
  made.read = guarded<read>;
  made.write = guarded<write>;
  made.flush = guarded<flush>;
  made.truncate = guarded<truncate>;
  made.lock = guarded<lock>;
  made.unlock = guarded<unlock>;
  made.del = guarded<remove_file>;
  made.ctl = control;
  constexpr H5FD_mem_t map[] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(map), std::end(map), made.fl_map);
  return made;
}

hid_t registered_driver() {
  static const H5FD_class_t the_class = driver_class();
  if (driver == H5I_INVALID_HID || H5Iis_valid(driver) <= 0) {
    driver = H5FDregister(&the_class);
  }
  return driver;
}

// The number of a driver differs between versions and lives of the library; a fresh list has it. To make one takes 4 % of what HDF5 does for a
// small file. `H5Iis_valid` would say no: the number is none of the program's.
hid_t posix_driver() {
  if (replaced_driver == H5I_INVALID_HID || H5Iget_type(replaced_driver) != H5I_VFL) {
    const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_sec2(list);
    replaced_driver = H5Pget_driver(list);
    H5Pclose(list);
  }
  return replaced_driver;
}

}  // namespace

void replace_posix_driver(hid_t access_properties) {
  if (H5Pget_driver(access_properties) != posix_driver()) {
    return;
  }
  const hid_t ours = registered_driver();
  if (ours < 0 || H5Pset_driver(access_properties, ours, nullptr) < 0) {
    std::fputs("dovetail: HDF5 takes no file driver from the connector; files are written by its own\n", stderr);
  }
}

void restore_posix_driver(hid_t access_properties) {
  if (driver != H5I_INVALID_HID && H5Pget_driver(access_properties) == driver) {
    H5Pset_fapl_sec2(access_properties);
  }
}

DriverFile* file_of_handle(const void* handle) noexcept {
  const Lock lock(services().stage.mutex);
  for (DriverFile* file : services().files) {
    if (file->descriptor_address() == handle) {
      return file;
    }
  }
  return nullptr;
}

AskingForHandle::AskingForHandle() noexcept { ++asking_for_handle; }
AskingForHandle::~AskingForHandle() { --asking_for_handle; }

std::string take_failure_of_closed() { return std::exchange(failure_of_closed, {}); }

void forget_driver() noexcept { driver = replaced_driver = H5I_INVALID_HID; }

}  // namespace dovetail::hdf5
