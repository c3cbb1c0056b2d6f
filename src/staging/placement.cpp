#include "staging/placement.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

#include "base/plain_file.hpp"
#include "staging/hexadecimal.hpp"
#include "staging/tier_lock.hpp"
#include "staging/writer_folders.hpp"

namespace dovetail::staging {
namespace {

constexpr std::string_view title = "dovetail staging 2\n";
// Without a generation.
constexpr std::string_view first_title = "dovetail staging 1\n";
// A path may have 4096 bytes.
constexpr std::size_t most_placement_bytes = 8192;

std::uint64_t checksum_of(std::string_view text) noexcept {
  return staging::checksum_of(std::as_bytes(std::span(text)), 0);
}

// Takes "NAME VALUE\n" from the front of a text.
template <class Number>
bool take(std::string_view& text, std::string_view name, Number& value, int base = 10) noexcept {
  if (!text.starts_with(name) || text.size() <= name.size() || text[name.size()] != ' ') {
    return false;
  }
  text.remove_prefix(name.size() + 1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc() || !text.starts_with('\n')) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

// None for one of a version that knew of none.
bool take_generation(std::string_view& text, bool has_one, Generation& generation) noexcept {
  return !has_one || (take(text, "job", generation.job, 16) && take(text, "opening", generation.opening, 16));
}

FileFailure write_text(FileCalls& calls, int descriptor, const std::string& path, std::string text) {
  std::array parts = {iovec{text.data(), text.size()}};
  const Transfer done = write_all(calls, descriptor, parts, 0);
  if (done.error != 0) {
    return {.error = done.error, .operation = "write", .path = path, .offset = done.bytes};
  }
  const int error = make_durable(calls, descriptor, false);
  return error == 0 ? FileFailure{} : FileFailure{.error = error, .operation = "fsync", .path = path};
}

}  // namespace

std::string text_of(const Placement& placement) {
  std::string text(title);
  text += "log " + hexadecimal(placement.log) + '\n';
  text += "job " + hexadecimal(placement.generation.job) + '\n';
  text += "opening " + hexadecimal(placement.generation.opening) + '\n';
  text += "inode " + std::to_string(placement.final_file.inode) + '\n';
  text += "born " + std::to_string(placement.final_file.born_seconds) + '\n';
  text += "nanoseconds " + std::to_string(placement.final_file.born_nanoseconds) + '\n';
  // Last, since it may have line feeds in it. The checksum is of all that lies behind it.
  text += "path " + placement.final_path;
  return "checksum " + hexadecimal(checksum_of(text)) + '\n' + text;
}

std::optional<Placement> placement_of(std::string_view text) {
  constexpr std::string_view path = "path ";
  std::uint64_t checksum = 0;
  Placement result;
  if (!take(text, "checksum", checksum, 16) || checksum != checksum_of(text)) {
    return std::nullopt;
  }
  const bool has_generation = text.starts_with(title);
  if (!has_generation && !text.starts_with(first_title)) {
    return std::nullopt;
  }
  static_assert(title.size() == first_title.size());
  text.remove_prefix(title.size());
  FileIdentity& file = result.final_file;
  if (!take(text, "log", result.log, 16) || !take_generation(text, has_generation, result.generation) ||
      !take(text, "inode", file.inode) || !take(text, "born", file.born_seconds) ||
      !take(text, "nanoseconds", file.born_nanoseconds) || !text.starts_with(path)) {
    return std::nullopt;
  }
  text.remove_prefix(path.size());
  if (!text.starts_with('/') || text.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  result.final_path = text;
  return result;
}

FileIdentity identity_of(int descriptor, const std::string& path, FileFailure& failure) {
  struct statx status{};
  if (::statx(descriptor, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status) != 0) {
    failure = {.error = errno, .operation = "look at", .path = path};
    return {};
  }
  const bool born = (status.stx_mask & STATX_BTIME) != 0;
  return {.inode = status.stx_ino,
          .born_seconds = born ? status.stx_btime.tv_sec : 0,
          .born_nanoseconds = born ? status.stx_btime.tv_nsec : 0};
}

FileFailure write_placement(FileCalls& calls, const LogFolder& folder, const Placement& placement) {
  const int in = folder.descriptor.get();
  const std::string path = folder.path + "/" + new_placement_name;
  // One that a process left which was killed here.
  calls.remove(in, new_placement_name);
  const base::Descriptor file(calls.open(in, new_placement_name, O_WRONLY | O_CREAT | O_EXCL));
  if (file.get() < 0) {
    return {.error = -file.get(), .operation = "make", .path = path};
  }
  FileFailure failure = write_text(calls, file.get(), path, text_of(placement));
  if (!failure && ::renameat(in, new_placement_name, in, placement_name) != 0) {
    failure = {.error = errno, .operation = "rename", .path = path};
  }
  if (failure) {
    calls.remove(in, new_placement_name);
    return failure;
  }
  failure = sync_names(calls, folder);
  if (!failure) {
    calls.reached(CrashPoint::placement_written);
  }
  return failure;
}

FileFailure discard_placement(FileCalls& calls, const LogFolder& folder) {
  const int in = folder.descriptor.get();
  if (::renameat(in, placement_name, in, discarded_placement_name) != 0 && errno != ENOENT) {
    return {.error = errno, .operation = "rename", .path = folder.path + "/" + placement_name};
  }
  FileFailure failure = sync_names(calls, folder);
  if (!failure) {
    calls.reached(CrashPoint::discard_begun);
  }
  return failure;
}

bool is_discarded(const LogFolder& folder) {
  struct stat status{};
  const int in = folder.descriptor.get();
  return ::fstatat(in, discarded_placement_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         ::fstatat(in, placement_name, &status, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
}

FileFailure remove_placement(FileCalls& calls, const LogFolder& folder, bool keeps_folder) {
  calls.remove(folder.descriptor.get(), discarded_placement_name);
  calls.remove(folder.descriptor.get(), new_placement_name);
  const int result = calls.remove(folder.descriptor.get(), placement_name);
  if (result != 0 && result != -ENOENT) {
    return {.error = -result, .operation = "remove", .path = folder.path + "/" + placement_name};
  }
  calls.reached(CrashPoint::placement_removed);
  if (keeps_folder) {
    return {};  // with the mark: a process that finds the folder taken waits until it is let go
  }
  // A process that finds the folder taken looks with this lock: the folder has the mark, or is gone.
  const TierLock marks = lock_marks(tier_of_log(folder.path));
  calls.remove(folder.descriptor.get(), closed_name);
  return remove_log_folder(calls, folder);
}

FoundPlacement read_placement(const std::string& folder) {
  const std::string path = folder + "/" + placement_name;
  const base::FileText read = base::read_plain_file(path, {.most_bytes = most_placement_bytes});
  if (read.missing) {
    return {};
  }
  if (!read.why.empty()) {
    return {{}, {.error = read.error != 0 ? read.error : EBADMSG, .operation = "read", .path = path, .why = read.why}};
  }
  FoundPlacement found{placement_of(read.text), {}};
  if (!found.placement) {
    found.failure = {.error = EBADMSG,
                     .operation = "read",
                     .path = path,
                     .why = "it is no placement, was changed, or is of a newer version"};
  }
  return found;
}

FileFailure missing_placement(const std::string& folder) {
  return {.error = EBADMSG,
          .operation = "read",
          .path = folder + "/" + placement_name,
          .why = "it is missing, and there are segments of a log"};
}

FolderName folder_of(const std::string& tier, const std::string& final_path) {
  std::error_code error;
  const std::string real = std::filesystem::canonical(final_path, error);
  if (error) {
    return {{}, {}, {.error = error.value(), .operation = "find", .path = final_path}};
  }
  const std::string real_tier = std::filesystem::canonical(tier, error);
  if (error) {
    return {{}, {}, {.error = error.value(), .operation = "use", .path = tier}};
  }
  FolderName result{.folder = {}, .final_path = real, .failure = {}};
  // A name may have 255 bytes.
  constexpr std::size_t most_bytes = 200;
  const std::string name = result.final_path.substr(result.final_path.rfind('/') + 1, most_bytes);
  result.folder = real_tier + "/" + name + "-" + hexadecimal(checksum_of(result.final_path));
  return result;
}

}  // namespace dovetail::staging
