#include "staging/final_mark.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <span>
#include <string_view>
#include <utility>

#include "staging/hexadecimal.hpp"
#include "staging/log_record.hpp"

namespace dovetail::staging {
namespace {

constexpr const char* generation_name = "user.dovetail.generation";
constexpr std::string_view tier_prefix = "user.dovetail.tier.";
// A file has little space for attributes: on some file systems 4 KiB for all of them.
constexpr std::size_t most_host_bytes = 64;
constexpr std::size_t most_path_bytes = 256;
constexpr std::size_t most_value_bytes = 512;
constexpr std::string_view open_state = "open";
constexpr std::string_view closed_state = "closed";

bool is_unsupported(std::int64_t result) noexcept { return result == -EOPNOTSUPP || result == -ENOSYS; }
bool has_no_space(std::int64_t result) noexcept {
  return result == -ENOSPC || result == -EDQUOT || result == -E2BIG || result == -ERANGE;
}

FileFailure failed(const MarkedFile& file, const char* operation, std::int64_t result) {
  return {.error = static_cast<int>(-result), .operation = operation, .path = file.path};
}

std::string digits_of_checksum(const std::string& text) {
  return hexadecimal(checksum_of(std::as_bytes(std::span(text)), 0));
}

std::string attribute_of(const TierName& tier) { return std::string(tier_prefix) + digits_of_checksum(text_of(tier)); }

// A copy of the file may have the attributes of the file itself.
std::uint64_t inode_of(int descriptor) noexcept {
  struct stat status{};
  return ::fstat(descriptor, &status) == 0 ? status.st_ino : 0;
}

std::string_view word_of(std::string_view& text) noexcept {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

struct ReadTier {
  Generation generation;
  std::uint64_t inode = 0;
  StagedTier staged;
};

std::optional<ReadTier> tier_of(std::string_view text) {
  const std::optional<Generation> generation = generation_of(word_of(text));
  const std::string_view inode = word_of(text);
  const std::string_view state = word_of(text);
  const std::string_view host = word_of(text);
  ReadTier result;
  const auto [end, error] = std::from_chars(inode.data(), inode.data() + inode.size(), result.inode);
  if (!generation || error != std::errc() || end != inode.data() + inode.size() || host.empty() || text.empty() ||
      (state != open_state && state != closed_state)) {
    return std::nullopt;
  }
  result.generation = *generation;
  result.staged = {.tier = {.host = std::string(host), .path = std::string(text)}, .is_closed = state == closed_state};
  return result;
}

struct NamedTier {
  std::string attribute;
  std::optional<ReadTier> tier;  // nothing: it was not written by this version
};

// An errno, negative, in place of what was read.
std::int64_t read_tier(const MarkedFile& file, const char* attribute, std::optional<ReadTier>& tier) {
  std::array<char, most_value_bytes> value{};
  const std::int64_t bytes = uninterrupted([&] { return file.calls.get_attribute(file.descriptor, attribute, value); });
  if (bytes > 0) {
    tier = tier_of({value.data(), static_cast<std::size_t>(bytes)});
  }
  return bytes == -ERANGE ? 0 : bytes;
}

FileFailure read_tiers(const MarkedFile& file, std::vector<NamedTier>& tiers) {
  std::vector<char> names(std::size_t{64} << 10);  // no file system has more
  const std::int64_t bytes = uninterrupted([&] { return file.calls.list_attributes(file.descriptor, names); });
  if (bytes < 0) {
    return is_unsupported(bytes) ? FileFailure{} : failed(file, "list the attributes", bytes);
  }
  std::string_view left(names.data(), static_cast<std::size_t>(bytes));
  while (!left.empty()) {
    NamedTier named{.attribute = std::string(left.substr(0, left.find('\0'))), .tier = {}};
    left.remove_prefix(std::min(named.attribute.size() + 1, left.size()));
    if (!named.attribute.starts_with(tier_prefix)) {
      continue;
    }
    const std::int64_t result = read_tier(file, named.attribute.c_str(), named.tier);
    if (result == -ENODATA) {
      continue;  // removed meanwhile
    }
    if (result < 0) {
      return failed(file, "read the attributes", result);
    }
    tiers.push_back(std::move(named));
  }
  return {};
}

}  // namespace

base::Descriptor open_to_read_marks(const std::string& path) {
  return base::Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

TierName tier_here(const std::string& path) {
  TierName tier{.host = "localhost", .path = path};
  std::array<char, HOST_NAME_MAX + 1> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0 && host[0] != '\0') {
    tier.host = std::string(host.data()).substr(0, most_host_bytes);
    std::ranges::replace(tier.host, ' ', '_');
  }
  // Two long ones that begin alike are still two.
  if (path.size() > most_path_bytes) {
    tier.path = path.substr(0, most_path_bytes - hexadecimal_digits - 1) + '~' + digits_of_checksum(path);
  }
  return tier;
}

FinalMark read_generation(const MarkedFile& file) {
  FinalMark mark;
  std::array<char, generation_bytes + 1> value{};
  const std::int64_t bytes =
      uninterrupted([&] { return file.calls.get_attribute(file.descriptor, generation_name, value); });
  if (bytes >= 0 || bytes == -ERANGE) {
    const auto read = bytes < 0 ? std::nullopt : generation_of({value.data(), static_cast<std::size_t>(bytes)});
    if (!read) {
      mark.failure = failed(file, "read the attributes", -EBADMSG);
      mark.failure.why = std::string(generation_name) + " is of a newer version, or was changed";
    } else {
      mark.generation = *read;
    }
  } else if (is_unsupported(bytes)) {
    mark.is_supported = false;
  } else if (bytes != -ENODATA) {
    mark.failure = failed(file, "read the attributes", bytes);
  }
  return mark;
}

FinalMark read_mark(const MarkedFile& file) {
  FinalMark mark = read_generation(file);
  std::vector<NamedTier> tiers;
  if (!mark.failure && mark.is_supported) {
    mark.failure = read_tiers(file, tiers);
  }
  const std::uint64_t inode = inode_of(file.descriptor);
  for (NamedTier& each : tiers) {
    if (each.tier && each.tier->generation == mark.generation && each.tier->inode == inode) {
      mark.tiers.push_back(std::move(each.tier->staged));
    }
  }
  std::ranges::sort(mark.tiers, {}, [](const StagedTier& each) { return text_of(each.tier); });
  return mark;
}

FileFailure set_generation(const MarkedFile& file, const Generation& generation) {
  const std::string value = text_of(generation);
  const std::int64_t result =
      uninterrupted([&] { return file.calls.set_attribute(file.descriptor, generation_name, value); });
  if (result == 0) {
    file.calls.reached(CrashPoint::generation_set);
  }
  return result == 0 || is_unsupported(result) ? FileFailure{} : failed(file, "set the attributes", result);
}

FileFailure remove_old_tiers(const MarkedFile& file, const Generation& superseded) {
  std::vector<NamedTier> tiers;
  if (FileFailure failure = read_tiers(file, tiers)) {
    return failure;
  }
  for (const NamedTier& each : tiers) {
    // A third one may be that of an opening which is about to set its generation.
    if (each.tier && each.tier->generation != superseded) {
      continue;
    }
    const std::int64_t result =
        uninterrupted([&] { return file.calls.remove_attribute(file.descriptor, each.attribute.c_str()); });
    if (result != 0 && result != -ENODATA) {
      return failed(file, "remove attributes", result);
    }
    file.calls.reached(CrashPoint::old_tier_removed);
  }
  return {};
}

FileFailure note_tier(const MarkedFile& file, const Generation& generation, const StagedTier& tier) {
  const std::string value = text_of(generation) + ' ' + std::to_string(inode_of(file.descriptor)) + ' ' +
                            std::string(tier.is_closed ? closed_state : open_state) + ' ' + tier.tier.host + ' ' +
                            tier.tier.path;
  const std::string attribute = attribute_of(tier.tier);
  const std::int64_t result =
      uninterrupted([&] { return file.calls.set_attribute(file.descriptor, attribute.c_str(), value); });
  if (result == 0) {
    file.calls.reached(CrashPoint::tier_noted);
  }
  return result == 0 || is_unsupported(result) || has_no_space(result) ? FileFailure{}
                                                                       : failed(file, "set the attributes", result);
}

FileFailure forget_tier(const MarkedFile& file, const Generation& generation, const TierName& tier) {
  const std::string attribute = attribute_of(tier);
  std::optional<ReadTier> named;
  std::int64_t result = read_tier(file, attribute.c_str(), named);
  if (result >= 0 && named && named->generation == generation) {
    result = uninterrupted([&] { return file.calls.remove_attribute(file.descriptor, attribute.c_str()); });
    if (result == 0) {
      file.calls.reached(CrashPoint::tier_forgotten);
    }
  }
  return result >= 0 || result == -ENODATA || is_unsupported(result) ? FileFailure{}
                                                                     : failed(file, "remove attributes", result);
}

std::string text_of(const TierName& tier) { return tier.host + ':' + tier.path; }

}  // namespace dovetail::staging
