/// @file
/// The ranks of the program as one: they begin, fail and end together.
#pragma once

#include <cstdint>
#include <functional>

namespace heat {

/// Some rank has refused its input, and has said why. All ranks throw this.
struct RefusedTogether {};

/// MPI as long as it lives. The functions are collective and called outside of tasks.
class Ranks {
 public:
  /// `level`: of threads, as MPI names it. @throws std::runtime_error if the library does not allow it.
  Ranks(int* count, char*** arguments, int level);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const noexcept { return rank_; }    ///< Of this process.
  int count() const noexcept { return count_; }  ///< Of all.
  bool is_first() const noexcept { return rank_ == 0; }
  bool has_above() const noexcept { return rank_ > 0; }           ///< Whether a rank has the rows above.
  bool has_below() const noexcept { return rank_ + 1 < count_; }  ///< Whether a rank has those below.
  int above() const noexcept { return rank_ - 1; }
  int below() const noexcept { return rank_ + 1; }

  /// Does `step` in all ranks. If one throws BadInput or std::invalid_argument, the first that does so tells it, and all throw.
  /// @throws RefusedTogether
  void together(const std::function<void()>& step) const;
  /// Whether it holds in all ranks.
  bool all(bool mine) const;
  double greatest(double mine) const;
  double sum(double mine) const;
  void barrier() const;
  /// What rank 0 has.
  std::uint64_t of_first(std::uint64_t mine) const;
  /// Ends this process at once with this exit status, which is not 0, and thereby all ranks.
  [[noreturn]] static void end_all(int status);

 private:
  int rank_ = 0;
  int count_ = 1;
};

}  // namespace heat
