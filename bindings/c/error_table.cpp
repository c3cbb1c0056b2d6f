#include "error_table.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace dovetail::c {

ErrorTable::Shard& ErrorTable::shard_of(detail::Task* task) noexcept {
  // Tasks come from pools of blocks, so the lowest bits say nothing.
  const std::uint64_t mixed = (reinterpret_cast<std::uint64_t>(task) >> 6) * 0x9E3779B97F4A7C15ull;
  return shards_[(mixed >> 32) % shards_.size()];
}

Error& ErrorTable::place(detail::Task* task) {
  Shard& shard = shard_of(task);
  // Declared before the lock: releasing a task may run foreign code, which must not happen under it.
  std::vector<std::unique_ptr<Entry>> completed;
  const base::LockGuard lock(shard.mutex);
  if (const auto found = shard.entries.find(task); found != shard.entries.end()) {
    return found->second->error;
  }
  if (shard.entries.size() >= shard.sweep_above) {
    completed.reserve(shard.entries.size());
    for (auto it = shard.entries.begin(); it != shard.entries.end();) {
      if (detail::task_ready(it->first)) {
        completed.push_back(std::move(it->second));
        it = shard.entries.erase(it);
      } else {
        ++it;
      }
    }
    shard.sweep_above = std::max<std::size_t>(16, 2 * shard.entries.size());
  }
  auto& entry = shard.entries[task];
  try {
    entry = std::make_unique<Entry>(task);
  } catch (...) {
    shard.entries.erase(task);
    throw;
  }
  shard.count.store(shard.entries.size(), std::memory_order_relaxed);
  return entry->error;
}

const Error* ErrorTable::find(detail::Task* task) noexcept {
  Shard& shard = shard_of(task);
  if (shard.count.load(std::memory_order_relaxed) == 0) {
    return nullptr;
  }
  const base::LockGuard lock(shard.mutex);
  const auto found = shard.entries.find(task);
  return found == shard.entries.end() ? nullptr : &found->second->error;
}

void ErrorTable::erase(detail::Task* task) noexcept {
  Shard& shard = shard_of(task);
  if (shard.count.load(std::memory_order_relaxed) == 0) {
    return;
  }
  std::unique_ptr<Entry> erased;
  const base::LockGuard lock(shard.mutex);
  if (const auto found = shard.entries.find(task); found != shard.entries.end()) {
    erased = std::move(found->second);
    shard.entries.erase(found);
    shard.count.store(shard.entries.size(), std::memory_order_relaxed);
  }
}

}  // namespace dovetail::c
