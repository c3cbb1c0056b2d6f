#include "base/plain_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/descriptor.hpp"

namespace dovetail::base {
namespace {

std::string text_of(int error) { return std::generic_category().message(error); }

const char* kind_of(mode_t mode) noexcept {
  return S_ISFIFO(mode)   ? "a pipe"
         : S_ISDIR(mode)  ? "a folder"
         : S_ISSOCK(mode) ? "a socket"
         : S_ISLNK(mode)  ? "a symbolic link"
                          : "a device";
}

std::string not_regular(mode_t mode) { return std::string("it is ") + kind_of(mode) + ", not a regular file"; }

std::string not_opened(const std::string& path, int error) {
  struct stat status{};
  // Neither a link, a socket nor a pipe without a reader can be opened, and the errno does not tell what is wrong.
  const bool said = error == ELOOP || error == ENXIO;
  if (said && ::lstat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    return not_regular(status.st_mode);
  }
  return text_of(error);
}

std::string too_large(std::size_t most) { return "it is larger than " + std::to_string(most) + " bytes"; }

/// What the rules have against the file; empty: nothing.
std::string objection(const struct stat& status, const FileRules& rules) {
  if (!S_ISREG(status.st_mode)) {
    return not_regular(status.st_mode);
  }
  if (!rules.of_anyone && status.st_uid != ::geteuid() && status.st_uid != 0) {
    return "it belongs to another user (" + std::to_string(status.st_uid) + ")";
  }
  return {};
}

}  // namespace

OpenedFile open_plain_file(const std::string& path, int flags, const FileRules& rules, unsigned mode) {
  const int follow = rules.follow_links ? 0 : O_NOFOLLOW;
  // Without waiting: opening one end of a pipe waits for the other. For regular files the flag means nothing.
  const int given = (flags & ~O_TRUNC) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | follow;
  Descriptor file(::open(path.c_str(), given, static_cast<mode_t>(mode)));
  if (file.get() < 0) {
    const int error = errno;
    return {-1, error, not_opened(path, error)};
  }
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) {
    const int error = errno;
    return {-1, error, text_of(error)};
  }
  if (std::string why = objection(status, rules); !why.empty()) {
    return {-1, 0, std::move(why)};
  }
  if ((flags & O_TRUNC) != 0 && ::ftruncate(file.get(), 0) != 0) {
    const int error = errno;
    return {-1, error, text_of(error)};
  }
  return {file.release(), 0, {}};
}

FileText read_plain_file(const std::string& path, const FileRules& rules) {
  OpenedFile opened = open_plain_file(path, O_RDONLY, rules);
  FileText result;
  if (opened.descriptor < 0) {
    result.missing = opened.error == ENOENT || opened.error == ENOTDIR;
    result.ours = result.missing;
    result.error = opened.error;
    result.why = std::move(opened.why);
    return result;
  }
  const Descriptor file(opened.descriptor);
  struct stat status{};
  if (::fstat(file.get(), &status) == 0 && static_cast<std::size_t>(status.st_size) > rules.most_bytes) {
    result.why = too_large(rules.most_bytes);
    return result;
  }
  // It may grow while it is read, and some files of the kernel have no size.
  std::array<char, 16384> piece;
  for (;;) {
    const ssize_t count = ::read(file.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      result.error = errno;
      result.why = text_of(result.error);
    }
    if (count <= 0) {
      return result;
    }
    result.text.append(piece.data(), static_cast<std::size_t>(count));
    if (result.text.size() > rules.most_bytes) {
      result.text.clear();
      result.why = too_large(rules.most_bytes);
      return result;
    }
  }
}

WriteFailure replace_plain_file(const std::string& path, std::string_view text) {
  static std::atomic<unsigned> writes{0};
  constexpr int attempts = 1000;
  std::string temporary;
  int number = -1;
  // A name may be left by a process that was killed, or be a link of another user's: the next one is tried.
  for (int attempt = 0; attempt < attempts && number < 0; ++attempt) {
    temporary = path + "." + std::to_string(::getpid()) + "-" + std::to_string(writes.fetch_add(1)) + ".new";
    number = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (number < 0 && errno != EEXIST) {
      break;
    }
  }
  if (number < 0) {
    return {errno, "open", 0};
  }
  Descriptor file(number);
  std::size_t done = 0;
  const auto failed = [&](const char* operation) {
    const int error = errno;
    ::unlink(temporary.c_str());
    return WriteFailure{error, operation, done};
  };
  while (done < text.size()) {
    const ssize_t written = ::write(file.get(), text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) {
      return failed("write");
    }
    done += written > 0 ? static_cast<std::size_t>(written) : 0;
  }
  if (::close(file.release()) != 0 && errno != EINTR) {
    return failed("close");
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    return failed("rename");
  }
  return {};
}

}  // namespace dovetail::base
