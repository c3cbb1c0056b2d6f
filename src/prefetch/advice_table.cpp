#include "prefetch/advice_table.hpp"

#include <algorithm>

#include "prefetch/path_pattern.hpp"

namespace dovetail::prefetching {
namespace {

constexpr std::uint64_t smallest_block = 4096;
constexpr std::uint64_t largest_block = 1U << 30;

}  // namespace

AdviceTable AdviceTable::in(std::byte* memory, std::uint64_t bytes) noexcept {
  AdviceTable table;
  if (memory == nullptr || bytes < sizeof(Header)) {
    return table;
  }
  auto* header = reinterpret_cast<Header*>(memory);
  // Loaded once: others can write into the memory.
  const std::uint64_t files = header->files;
  const std::uint64_t rules = header->rules;
  const std::uint64_t regions = header->regions;
  const std::uint64_t text = header->text;
  if (header->magic != magic || header->bytes != bytes || files > most_files || rules > most_rules ||
      regions > most_regions || text > most_text) {
    return table;
  }
  const std::uint64_t described = rules * sizeof(Rule) + regions * sizeof(Region) + text;
  const std::uint64_t first_file = sizeof(Header) + (described + sizeof(Header) - 1) / sizeof(Header) * sizeof(Header);
  if (first_file + files * sizeof(AdvisedFile) != bytes) {
    return table;
  }
  std::byte* at = memory + sizeof(Header);
  table.header_ = header;
  table.rules_ = reinterpret_cast<Rule*>(at);
  table.regions_ = reinterpret_cast<const Region*>(at + rules * sizeof(Rule));
  table.text_ = reinterpret_cast<const char*>(at + rules * sizeof(Rule) + regions * sizeof(Region));
  table.table_ = reinterpret_cast<AdvisedFile*>(memory + first_file);
  table.files_ = static_cast<std::uint32_t>(files);
  table.all_rules_ = static_cast<std::uint32_t>(rules);
  table.all_regions_ = static_cast<std::uint32_t>(regions);
  table.all_text_ = static_cast<std::uint32_t>(text);
  return table;
}

std::string_view AdviceTable::text(std::uint32_t from, std::uint32_t bytes) const noexcept {
  // A configuration has none that is longer. To compare takes the product of both lengths.
  constexpr std::uint32_t longest = 4096;
  from = std::min(from, all_text_);
  return {text_ + from, std::min({bytes, longest, all_text_ - from})};
}

std::uint32_t AdviceTable::rule_for(std::string_view path, std::string_view program,
                                    std::string_view also_named) const noexcept {
  for (std::uint32_t number = 0; number < all_rules_; ++number) {
    const Rule& rule = rules_[number];
    const std::string_view process = text(rule.process, rule.process_bytes);
    if (matches(text(rule.pattern, rule.pattern_bytes), path) &&
        (process.empty() || matches(process, program) || matches(process, also_named))) {
      return number;
    }
  }
  return no_rule;
}

bool AdviceTable::concerns(std::string_view path) const noexcept {
  return std::any_of(rules_, rules_ + all_rules_,
                     [this, path](const Rule& rule) { return matches(text(rule.pattern, rule.pattern_bytes), path); });
}

AdvisedPart AdviceTable::part(std::uint32_t rule, std::uint64_t offset) const noexcept {
  const Rule& found = rules_[rule];
  const std::uint32_t first = std::min(found.first_region, all_regions_);
  const Region* begin = regions_ + first;
  const Region* end = begin + std::min(found.regions, all_regions_ - first);
  const Region* next =
      std::partition_point(begin, end, [offset](const Region& region) { return region.end <= offset; });
  if (next == end || next->offset > offset) {
    const std::uint64_t from = next == begin ? 0 : (next - 1)->end;
    return {{from, next == end ? far_end : next->offset}, AdviceKind::normal};
  }
  return {{next->offset, next->end}, static_cast<AdviceKind>(next->kind)};
}

BlockCache::Sizes AdviceTable::sizes(std::uint32_t rule, std::uint64_t file_bytes) const noexcept {
  const Rule& found = rules_[rule];
  const std::uint64_t block_bytes = std::clamp(found.block_bytes, smallest_block, largest_block);
  return {block_bytes, file_bytes, found.cache_blocks, found.ahead_blocks};
}

std::uint32_t FilesBeingRead::count(std::uint32_t period, bool is_new) noexcept {
  constexpr std::uint32_t most = 0xffff;
  std::uint64_t known = counted_.load(std::memory_order_relaxed);
  for (;;) {
    auto of = static_cast<std::uint32_t>(known >> 32);
    std::uint32_t now = known >> 16 & most;
    std::uint32_t before = known & most;
    // A thread that was held up brings a period that others have ended.
    if (static_cast<std::int32_t>(period - of) > 0) {
      before = of + 1 == period ? now : 0;
      now = 0;
      of = period;
    }
    now = std::min(now + (is_new ? 1U : 0U), most);
    const std::uint64_t next = std::uint64_t{of} << 32 | std::uint64_t{now} << 16 | before;
    if (next == known || counted_.compare_exchange_weak(known, next, std::memory_order_relaxed)) {
      return std::max({now, before, 1U});
    }
  }
}

std::uint64_t AdviceTable::share_of(std::uint32_t rule, AdvisedFile& file, std::uint32_t period) const noexcept {
  const Rule& own = rules_[rule];
  const std::uint64_t of_rule = own.memory_bytes;
  const std::uint64_t of_all = header_->window.load(std::memory_order_relaxed);
  if (of_rule == 0 && of_all == 0) {
    return far_end;
  }
  const bool is_new = file.counted_in.exchange(period, std::memory_order_relaxed) != period;
  // Rules without a memory of their own share none, whatever rule they name.
  const std::uint32_t like_it =
      of_rule == 0 ? 1 : rules_[std::min(own.shared, all_rules_ - 1)].being_read.count(period, is_new);
  const std::uint32_t all = header_->being_read.count(period, is_new);
  return std::min(of_rule == 0 ? far_end : of_rule / like_it, of_all == 0 ? far_end : of_all / all);
}

AdviceTable::Noted AdviceTable::note(std::uint32_t rule, AdvisedFile& file, std::uint64_t offset, std::uint64_t bytes,
                                     std::uint64_t reader, std::uint32_t period) const noexcept {
  const AdvisedPart part = this->part(rule, offset);
  const std::uint64_t size = file.size.load(std::memory_order_relaxed);
  BlockCache::Sizes sizes = this->sizes(rule, size);
  if (part.kind == AdviceKind::dont_need) {
    sizes.ahead_blocks = 0;
    // A file that one request brings in whole is not read ahead.
  } else if (part.kind != AdviceKind::will_need || sizes.ahead_blocks == 0 || size <= file.piece) {
    return {part.kind, part.range, 0};
  }
  // What the program reads itself is no memory that the rule takes.
  if (part.kind == AdviceKind::will_need) {
    const std::uint64_t share = share_of(rule, file, period) / sizes.block_bytes;
    if (share == 0) {
      return {part.kind, {}, 0};  // the next read looks again
    }
    sizes.file_blocks = static_cast<std::uint32_t>(std::min<std::uint64_t>(share, BlockCache::most_blocks));
    sizes.cache_blocks = std::min(sizes.cache_blocks, sizes.file_blocks);
  }
  const std::uint64_t end = std::min({offset + bytes, part.range.end, size});
  file.blocks.note({offset, end}, reader, {part.range.offset, std::min(part.range.end, size)}, sizes);
  const std::uint64_t last = (std::max(end, offset + 1) - 1) / sizes.block_bytes;
  return {
      part.kind,
      {std::max(part.range.offset, last * sizes.block_bytes), std::min(part.range.end, (last + 1) * sizes.block_bytes)},
      sizes.block_bytes};
}

std::uint32_t AdviceTable::find(const FileIdentity& identity, std::uint32_t rule, bool& made) noexcept {
  std::uint32_t number = files_;
  const Found found = find_place(
      table_, files_, identity, header_->devices, number, [rule](const AdvisedFile& file) { return file.rule == rule; },
      [rule](AdvisedFile& file) { file.rule = rule; });
  if (found == Found::changed) {
    table_[number].given_up.store(not_given_up, std::memory_order_relaxed);
    table_[number].blocks.forget();
  }
  made = found == Found::made;
  return found == Found::none ? files_ : number;
}

}  // namespace dovetail::prefetching
