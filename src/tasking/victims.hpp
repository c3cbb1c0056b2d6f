// What a worker knows of the others that it may steal from, and which of them it leaves alone. See docs/design/stealing.md, "Small
// tasks stay at home".
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tasking/peer.hpp"

namespace dovetail::tasking {

class Victims {
 public:
  struct Victim {
    Peer* peer;
    std::uint64_t progress = 0;   ///< Tasks made and completed when last looked at.
    std::uint64_t looked_at = 0;  ///< In ticks, as the next two.
    std::uint64_t robbed_at = 0;
    std::uint64_t between_thefts = 0;  ///< Least time between two thefts while it prefers its own.
    bool prefers_its_own = false;      ///< When last looked at.
  };

  explicit Victims(unsigned index) noexcept : index_(index), random_(index * 2654435761U + 1) {}

  /// In the order of their numbers. Before the worker starts.
  void add(Peer& peer) { all_.push_back({&peer}); }
  std::size_t size() const noexcept { return all_.size(); }
  Victim& operator[](std::size_t place) noexcept { return all_[place]; }
  auto begin() const noexcept { return all_.begin(); }
  auto end() const noexcept { return all_.end(); }
  /// Where a round of looks begins.
  std::size_t random_place() noexcept {
    random_ = random_ * 1664525U + 1013904223U;
    return (random_ >> 16) % all_.size();
  }
  /// The worker of that number, which is another one.
  Victim& of_worker(unsigned index) noexcept { return all_[index - (index > index_ ? 1 : 0)]; }

  /// Whether the tasks of that worker are better left to it: they are small, and it gets on with them.
  static bool prefers_its_own(Victim& victim, std::uint64_t now) noexcept;
  /// Whether that is so as far as it was found lately: then its memory, which it is writing, had better not be looked at.
  static bool is_known_to_prefer_its_own(const Victim& victim, std::uint64_t now) noexcept;
  /// How many tasks to take from it at once.
  static std::size_t fair_share(Victim& victim, std::uint64_t now) noexcept;

  /// Whether it is not known yet what the last theft was worth.
  bool theft_is_open() const noexcept { return theft_ != nullptr; }
  void stole_from(Victim& victim) noexcept { theft_ = &victim; }
  /// The first of the stolen tasks has ended, or paused.
  void judge_theft() noexcept;

 private:
  const unsigned index_;
  std::uint32_t random_;
  Victim* theft_ = nullptr;
  std::vector<Victim> all_;
};

}  // namespace dovetail::tasking
