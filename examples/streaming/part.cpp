#include "part.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace streaming {

Part::Part(const Options& options, const Place& place)
    : options_(options),
      place_(place),
      block_elements_(options.block_bytes / sizeof(Element)),
      own_(static_cast<std::size_t>(place.blocks()) * block_elements_),
      received_(own_),
      computed_memory_(own_.size()),
      computed_(computed_memory_) {
  if (place.is_last()) {
    checksums_.resize(place_of(options.chunks, 0));
    if (!options.output.empty()) {
      output_.resize(checksums_.size() * block_elements_);
    }
  }
}

void Part::compute(int chunk, int block) noexcept {
  if (place_.is_first()) {
    fill(received(block), number_of(chunk, block) * block_elements_);
  }
  const std::span<Element> result = computed(block);
  apply(received(block), result, place_.stage, options_.work);
  if (place_.is_last()) {
    const std::size_t at = place_of(chunk, block);
    checksums_[at] = checksum(result, number_of(chunk, block));
    if (!output_.empty()) {
      std::copy(result.begin(), result.end(), output_.begin() + static_cast<std::ptrdiff_t>(at * block_elements_));
    }
  }
}

std::uint64_t Part::checksum_of_all() const noexcept {
  std::uint64_t sum = 0;
  for (const std::uint64_t one : checksums_) {
    sum += one;
  }
  return sum;
}

std::string Part::verify() const {
  std::vector<Element> expected(block_elements_);
  for (int chunk = 0; chunk < chunks() && place_.is_last(); ++chunk) {
    for (int block = 0; block < blocks(); ++block) {
      fill(expected, number_of(chunk, block) * block_elements_);
      for (int stage = 0; stage < place_.stages; ++stage) {
        apply(expected, expected, stage, options_.work);
      }
      if (checksum(expected, number_of(chunk, block)) != checksums_[place_of(chunk, block)]) {
        return "block " + std::to_string(place_.first_block + block) + " of chunk " + std::to_string(chunk) +
               " is not what the functions of the stages give";
      }
    }
  }
  return {};
}

void Part::write_output() const {
  const int file = open(options_.output.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) {
    throw std::system_error(errno, std::generic_category(), options_.output);
  }
  const std::size_t run = static_cast<std::size_t>(blocks()) * options_.block_bytes;
  for (int chunk = 0; chunk < chunks(); ++chunk) {
    const char* const data = reinterpret_cast<const char*>(&output_[place_of(chunk, 0) * block_elements_]);
    const std::size_t offset = number_of(chunk, 0) * options_.block_bytes;
    for (std::size_t done = 0; done < run;) {
      const ssize_t written = pwrite(file, data + done, run - done, static_cast<off_t>(offset + done));
      if (written <= 0) {
        const int why = written < 0 ? errno : EIO;
        close(file);
        throw std::system_error(why, std::generic_category(),
                                options_.output + " at offset " + std::to_string(offset + done));
      }
      done += static_cast<std::size_t>(written);
    }
  }
  if (close(file) != 0) {
    throw std::system_error(errno, std::generic_category(), options_.output);
  }
}

void prepare_output(const Options& options) {
  if (options.output.empty()) {
    return;
  }
  const auto size = static_cast<off_t>(options.block_bytes * static_cast<std::size_t>(options.blocks) *
                                       static_cast<std::size_t>(options.chunks));
  const int file = open(options.output.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0 || ftruncate(file, size) != 0) {
    const int why = errno;
    if (file >= 0) {
      close(file);
    }
    throw BadInput("--output " + options.output + ": " + std::generic_category().message(why));
  }
  close(file);
}

}  // namespace streaming
