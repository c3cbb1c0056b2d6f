// An open file about which advice is given, in the place of the system calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fuzzer.hpp"
#include "prefetch/page_cache.hpp"
#include "source.hpp"

namespace dovetail::fuzz {

/// Says by the input what is cached, and whether it is still the file. Others write into the memory whenever it is asked. `most_asked`: questions.
struct PretendedFile {
  std::byte* memory;
  std::size_t bytes;
  Source& source;
  std::uint64_t& asked;
  std::uint64_t most_asked;

  void meanwhile() const {
    if (source.byte() % 8 == 1) {
      write_into(memory, bytes, source);
    }
  }
  std::int64_t cached_pages(const prefetching::Range& range) const {
    require(++asked < most_asked, "there is an end to the questions");
    meanwhile();
    const unsigned answer = source.byte() % 4;
    return answer == 0 ? static_cast<std::int64_t>(prefetching::pages_of(range)) : answer == 1 ? -1 : 0;
  }
  bool has_the_file() const { return source.byte() % 2 == 0; }
};

}  // namespace dovetail::fuzz
