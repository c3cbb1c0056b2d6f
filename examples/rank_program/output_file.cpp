#include "output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace rank_program {

OutputFile::OutputFile(std::string path, int flags)
    : path_(std::move(path)), descriptor_(open(path_.c_str(), O_WRONLY | O_CLOEXEC | flags, 0644)) {
  if (descriptor_ < 0) {
    fail(errno);
  }
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

void OutputFile::set_size(std::size_t size) {
  if (ftruncate(descriptor_, static_cast<off_t>(size)) != 0) {
    fail(errno);
  }
}

void OutputFile::write(std::span<const std::byte> bytes, std::size_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written <= 0) {
      fail(written < 0 ? errno : EIO, " at offset " + std::to_string(offset));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::size_t>(written);
  }
}

void OutputFile::close() {
  if (::close(std::exchange(descriptor_, -1)) != 0) {
    fail(errno);
  }
}

void OutputFile::fail(int error, const std::string& where) const {
  throw std::system_error(error, std::generic_category(), path_ + where);
}

void prepare_output(const Options& options, std::size_t size) {
  if (options.output.empty()) {
    return;
  }
  try {
    // A device has no size that could be set, and open(2) ignores O_TRUNC there.
    OutputFile file(options.output, size == 0 ? O_CREAT | O_TRUNC : O_CREAT);
    if (size > 0) {
      file.set_size(size);
    }
    file.close();
  } catch (const std::system_error& error) {
    throw BadInput(std::string("--output ") + error.what());
  }
}

}  // namespace rank_program
