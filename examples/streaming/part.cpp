#include "part.hpp"

#include <algorithm>

#include "rank_program/output_file.hpp"

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
  rank_program::OutputFile file(options_.output);
  const std::size_t elements = static_cast<std::size_t>(blocks()) * block_elements_;
  for (int chunk = 0; chunk < chunks(); ++chunk) {
    const std::span<const Element> run = std::span(output_).subspan(place_of(chunk, 0) * block_elements_, elements);
    file.write(std::as_bytes(run), number_of(chunk, 0) * options_.block_bytes);
  }
  file.close();
}

void prepare_output(const Options& options) {
  rank_program::prepare_output(options, options.block_bytes * static_cast<std::size_t>(options.blocks) *
                                            static_cast<std::size_t>(options.chunks));
}

}  // namespace streaming
