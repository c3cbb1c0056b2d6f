// The memory of a configuration, as `dovetail run --configuration` makes it.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "prefetch/advice_table.hpp"

namespace dovetail::prefetching {

class AdviceMemory {
 public:
  struct Rule {
    std::string pattern;
    std::string process;
    std::vector<AdvisedPart> parts;
    std::uint64_t block_bytes = 1U << 20;
    std::uint32_t cache_blocks = 8;
    std::uint32_t ahead_blocks = 4;
    std::uint64_t memory_bytes = 0;
    std::uint32_t shared = 0;
  };
  static constexpr std::uint64_t files = 8;

  explicit AdviceMemory(const std::vector<Rule>& rules) {
    std::vector<std::byte> described;
    std::vector<std::byte> regions;
    std::string text;
    std::uint64_t count = 0;
    for (const Rule& rule : rules) {
      put<std::uint32_t>(described, {size_of(text), size_of(rule.pattern)});
      text += rule.pattern;
      put<std::uint32_t>(described, {size_of(text), size_of(rule.process)});
      text += rule.process;
      put<std::uint32_t>(described, {static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(rule.parts.size()),
                                     rule.cache_blocks, rule.ahead_blocks});
      put<std::uint64_t>(described, {rule.block_bytes, rule.memory_bytes, rule.shared, 0});
      for (const AdvisedPart& part : rule.parts) {
        put<std::uint64_t>(regions, {part.range.offset, part.range.end, static_cast<std::uint64_t>(part.kind)});
        ++count;
      }
    }
    described.insert(described.end(), regions.begin(), regions.end());
    for (const char letter : text) {
      described.push_back(static_cast<std::byte>(letter));
    }
    const std::size_t body = (described.size() + 4095) / 4096 * 4096;
    pages_.resize(1 + (body + files * sizeof(AdvisedFile)) / 4096);
    std::vector<std::byte> header;
    put<std::uint64_t>(header, {AdviceTable::magic, bytes(), files, rules.size(), count, text.size()});
    std::memcpy(memory(), header.data(), header.size());
    std::memcpy(memory() + 4096, described.data(), described.size());
  }
  AdviceTable table() noexcept { return AdviceTable::in(memory(), bytes()); }
  std::byte* memory() noexcept { return pages_.front().bytes; }
  std::uint64_t bytes() const noexcept { return pages_.size() * 4096; }

 private:
  struct alignas(4096) Page {
    std::byte bytes[4096] = {};
  };
  template <class Number>
  static void put(std::vector<std::byte>& to, const std::vector<Number>& numbers) {
    const auto* from = reinterpret_cast<const std::byte*>(numbers.data());
    to.insert(to.end(), from, from + numbers.size() * sizeof(Number));
  }
  static std::uint32_t size_of(const std::string& text) { return static_cast<std::uint32_t>(text.size()); }

  std::vector<Page> pages_;
};

}  // namespace dovetail::prefetching
