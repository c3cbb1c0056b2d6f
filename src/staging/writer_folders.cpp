#include "staging/writer_folders.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "staging/hexadecimal.hpp"

namespace dovetail::staging {
namespace {

constexpr long alone = -1;      // the process that has it writes the file alone
constexpr long no_writer = -2;  // it is the name of something else

long number_of(std::string_view digits) noexcept {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() ? static_cast<long>(number) : no_writer;
}

long writer_of(std::string_view name, std::string_view file) noexcept {
  if (name == file) {
    return alone;
  }
  if (!name.starts_with(file) || name.size() <= file.size() + 1 || name[file.size()] != '.') {
    return no_writer;
  }
  return number_of(name.substr(file.size() + 1));
}

std::vector<std::pair<long, std::string>> find_writers(const std::string& folder, FileFailure& failure) {
  const std::filesystem::path path(folder);
  const std::string file = path.filename();
  std::vector<std::pair<long, std::string>> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path.parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (const long writer = writer_of(name, file); writer != no_writer) {
      found.emplace_back(writer, entry->path());
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    failure = {.error = error.value(), .operation = "list", .path = path.parent_path()};
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

std::string writer_folder(const std::string& folder, unsigned writer) { return folder + "." + std::to_string(writer); }

std::string file_folder(const std::string& folder) {
  // The name of the file itself may end with a number; a checksum comes behind it.
  const std::size_t point = folder.rfind('.');
  const bool is_numbered =
      point != std::string::npos && number_of(std::string_view(folder).substr(point + 1)) != no_writer;
  return is_numbered ? folder.substr(0, point) : folder;
}

bool is_name_of_log(const std::string& name) {
  const std::string file = file_folder(name);
  const std::size_t digits = hexadecimal_digits;
  return file.size() > digits && file[file.size() - digits - 1] == '-' &&
         file.find_first_not_of("0123456789abcdef", file.size() - digits) == std::string::npos;
}

std::string tier_of_log(const std::string& folder) {
  const std::string tier = folder.substr(0, folder.rfind('/'));
  std::error_code error;
  const std::string real = std::filesystem::canonical(tier, error);
  return error ? tier : real;
}

std::vector<std::string> writer_folders(const std::string& folder, FileFailure& failure) {
  std::vector<std::string> folders;
  for (auto& [writer, each] : find_writers(folder, failure)) {
    folders.push_back(std::move(each));
  }
  return folders;
}

std::string next_writer_folder(const std::string& folder, FileFailure& failure) {
  const auto found = find_writers(folder, failure);
  return writer_folder(folder, found.empty() ? 0 : static_cast<unsigned>(found.back().first + 1));
}

bool is_of_this_user(const std::string& folder) {
  struct stat status{};
  return ::lstat(folder.c_str(), &status) != 0 || status.st_uid == ::geteuid();
}

}  // namespace dovetail::staging
