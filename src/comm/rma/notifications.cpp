#include "comm/rma/notifications.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

namespace dovetail::comm::rma {

std::string Await::text() const {
  std::string text = count == 1 ? "notification " + std::to_string(first)
                                : (for_any ? "one of the notifications " : "notifications ") + std::to_string(first) +
                                      " to " + std::to_string(first + count - 1);
  text += " of segment " + std::to_string(segment);
  if (from != any_rank) {
    text += " from rank " + std::to_string(from);
  }
  return text;
}

bool Notifications::await(Await& await) {
  std::uint32_t come = 0;
  for (std::uint32_t i = 0; i < await.count; ++i) {
    const std::uintptr_t word = words_[await.first + i];
    if (await_in(word) != nullptr) {
      throw std::logic_error(await.text() + ": notification " + std::to_string(await.first + i) +
                             " is waited for already; one task at a time waits for a notification");
    }
    come += holds_value(word) ? 1 : 0;
    if (holds_value(word) && await.for_any) {
      await.found = await.first + i;
      await.found_value = *take(await.found);
      return true;
    }
  }
  await.left = await.for_any ? 1 : await.count - come;
  for (std::uint32_t i = 0; i < await.count; ++i) {
    std::uintptr_t& word = words_[await.first + i];
    if (!holds_value(word)) {
      word = reinterpret_cast<std::uintptr_t>(&await);
    } else if (const std::uint32_t value = *take(await.first + i); await.values != nullptr) {
      await.values[i] = value;
    }
  }
  return await.left == 0;
}

bool Notifications::has_come(const Await& await) const noexcept {
  const auto range = std::span(words_).subspan(await.first, await.count);
  if (!await.for_any) {
    return std::ranges::all_of(range, holds_value);
  }
  return std::ranges::any_of(range, holds_value) &&
         std::ranges::none_of(range, [](std::uintptr_t word) { return await_in(word) != nullptr; });
}

Await* Notifications::arrive(std::uint32_t id, std::uint32_t value) noexcept {
  Await* const waiting = await_in(words_[id]);
  if (waiting == nullptr) {
    words_[id] = word_of(value);
    return nullptr;
  }
  words_[id] = 0;
  if (waiting->for_any) {
    forget(*waiting);
    waiting->found = id;
    waiting->found_value = value;
  } else if (waiting->values != nullptr) {
    waiting->values[id - waiting->first] = value;
  }
  return --waiting->left == 0 ? waiting : nullptr;
}

std::optional<std::uint32_t> Notifications::take(std::uint32_t id) noexcept {
  if (!holds_value(words_[id])) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(std::exchange(words_[id], 0) >> 1);
}

void Notifications::forget(const Await& await) noexcept {
  for (std::uint32_t i = 0; i < await.count; ++i) {
    if (std::uintptr_t& word = words_[await.first + i]; await_in(word) == &await) {
      word = 0;
    }
  }
}

}  // namespace dovetail::comm::rma
