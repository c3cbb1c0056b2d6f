#include "logs/logs.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

namespace bench {

Logs::Logs(CommandLine& line)
    : logs_(line.size("logs", 8, "how many")),
      records_(line.size("records", 200, "records of each log")),
      bytes_(line.size("bytes", 4096, "bytes of a record, at least 8")) {}

Logs::~Logs() { close_all(); }

void Logs::close_all() {
  for (const int descriptor : descriptors_) close(descriptor);
  descriptors_.clear();
}

void Logs::prepare() {
  close_all();
  for (std::int64_t log = 0; log < logs_; ++log) {
    std::string name = folder_for_files() + "/dovetail-bench-log-XXXXXX";
    const int descriptor = mkostemp(name.data(), O_CLOEXEC);
    if (descriptor < 0 || unlink(name.c_str()) != 0 || fsync(descriptor) != 0) {
      die(name);
    }
    descriptors_.push_back(descriptor);
  }
  buffers_.assign(static_cast<std::size_t>(logs_), std::vector<std::byte>(static_cast<std::size_t>(bytes_)));
}

std::span<const std::byte> Logs::record(std::int64_t log, std::int64_t number) noexcept {
  std::vector<std::byte>& buffer = buffers_[static_cast<std::size_t>(log)];
  const std::int64_t name = log * records_ + number;
  std::memcpy(buffer.data(), &name, sizeof name);
  return buffer;
}

std::string Logs::what_is_wrong() const {
  std::int64_t wrong = 0;
  for (std::int64_t log = 0; log < logs_; ++log) {
    for (std::int64_t number = 0; number < records_; ++number) {
      std::int64_t found = -1;
      const ssize_t moved = pread(descriptor(log), &found, sizeof found, static_cast<off_t>(offset(number)));
      wrong += moved == sizeof found && found == log * records_ + number ? 0 : 1;
    }
    wrong += lseek(descriptor(log), 0, SEEK_END) == static_cast<off_t>(offset(records_)) ? 0 : 1;
  }
  return wrong == 0 ? std::string() : std::to_string(wrong) + " records are missing or wrong";
}

}  // namespace bench
