// What one rank has of an open file of MPI whose writes go to the local tier first.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/mutex.hpp"
#include "base/recursive_mutex.hpp"
#include "file_view.hpp"
#include "hints.hpp"
#include "staging/background_drain.hpp"
#include "staging/tiered_file.hpp"
#include "staging/undrained_file.hpp"

namespace dovetail::interpose::mpiio {

struct FileRule;

/// Its functions know the log and the view, and make no calls of MPI. Thread-safe, as far as calls on one file of MPI are.
class RankFile {
 public:
  struct Names {
    std::string path;    ///< Of the final file.
    std::string folder;  ///< Of the log.
  };
  /// `rule` may be null. `communicator` is the file's own. The caller that closes the file frees it.
  RankFile(std::shared_ptr<staging::TieredFile> tier, Names names, const Hints& hints, const FileRule* rule,
           MPI_Comm communicator, int mode, bool is_of_format_library);
  /// For reading alone: of what a job that has ended has left of it.
  RankFile(std::shared_ptr<staging::UndrainedFile> undrained, Names names, const Hints& hints, MPI_Comm communicator,
           int mode);

  const std::string& path() const noexcept { return names_.path; }
  const std::string& folder() const noexcept { return names_.folder; }
  /// Of the configuration, by the name that the file was opened with; null: none.
  const FileRule* rule() const noexcept { return rule_; }
  MPI_Comm communicator() const noexcept { return communicator_; }
  int mode() const noexcept { return mode_; }
  /// All ranks alike: HDF5 or PnetCDF has opened it, and writes of ranks must stay in their order (format_library.hpp).
  bool is_of_format_library() const noexcept { return is_of_format_library_; }
  Hints hints() const;
  /// Only what can change while the file is open: when it is drained, and whether the folder is removed.
  void change_hints(const Hints& hints);

  /// All ranks alike: the MPI library does all of it, since the file is atomic or has another representation of data.
  bool is_written_through() const noexcept { return atomic_ || foreign_; }
  void set_atomic(bool atomic) noexcept { atomic_ = atomic; }
  void set_foreign(bool foreign) noexcept { foreign_ = foreign; }

  /// It is read from logs of a job that has ended. They are not drained but where the MPI library has to read the file itself.
  bool is_undrained() const noexcept { return undrained_ != nullptr; }
  /// Reads the final file in the place of logs that will never be drained any more.
  void forget_superseded() { undrained_->forget_superseded(); }

  /// This rank's.
  FileView view() const;
  void set_view(FileView view);
  /// Held from a look at the individual pointer to its move. An error handler may make calls on the file meanwhile.
  base::RecursiveMutex& pointer_mutex() noexcept RETURN_CAPABILITY(pointer_mutex_) { return pointer_mutex_; }

  /// `memory`: relative to `data`. `skip`: bytes of the view before them. Returns when they are in the log.
  staging::FileFailure write(const FileView& view, std::uint64_t skip, const LayoutPointer& memory,
                             const std::byte* data);
  /// The same, in the final file, behind what is staged: where the tier has failed. Nothing between the pieces is touched, since it may be another rank's.
  staging::FileFailure write_final(const FileView& view, std::uint64_t skip, const LayoutPointer& memory,
                                   const std::byte* data);
  /// From the log and the final file. Fewer bytes than wanted without a failure: the file ends there.
  staging::FileRead read(const FileView& view, std::uint64_t skip, const LayoutPointer& memory, std::byte* data) const;

  /// 0: nothing is staged here. Else up to where the file goes with it.
  std::uint64_t staged_end() const;
  /// Whether this rank has something of that part of the file in its log.
  bool has_staged(const base::ByteRange& range) const { return tier_->has_staged(range); }
  /// The budget of the tier asks for a drain now, also with `flush_onclose`.
  bool is_tier_nearly_full() const noexcept { return tier_->is_tier_nearly_full(); }
  /// Whether the tier has not taken some writes of this rank, which went to the final file.
  bool is_tier_full() const noexcept { return tier_->written_through() != 0; }
  /// Brings all into the final file. Waits.
  staging::FileFailure drain();
  /// The same, and removes the folder if the hints say so. Called at the close of the file. No other call follows.
  staging::FileFailure finish();
  /// The file is closed by all ranks, and what is staged stays on the tier: others that open it meanwhile wait until its log is let go.
  void leave();
  /// Asks for a drain in the background.
  void drain_in_background();
  /// The same, as the last call but `finish`, which waits for it. Others that open the file wait for it, too.
  void close_in_background();

  /// Of a split collective that has begun: what its end tells. At most one at a time.
  void set_begun(std::optional<std::uint64_t> bytes);
  std::optional<std::uint64_t> take_begun();

  /// True once each: for what is told once.
  bool tells() noexcept { return !told_.exchange(true); }
  bool tells_of_shared_pointer() noexcept { return !told_of_shared_pointer_.exchange(true); }

 private:
  void drain_left_in_background();
  using PieceWriter = staging::FileFailure (staging::TieredFile::*)(std::uint64_t, std::span<const std::byte>);
  staging::FileFailure write_pieces(PieceWriter write_piece, const FileView& view, std::uint64_t skip,
                                    const LayoutPointer& memory, const std::byte* data);

  std::shared_ptr<staging::TieredFile> tier_;  // null: it was closed in the background, or has no log of its own
  std::shared_ptr<staging::UndrainedFile> undrained_;  // null: it has one, or was closed in the background
  bool failed_in_background_ = false;                  // and has not been drained there
  staging::FileFailure left_failure_;                  // of a log that others have left
  const Names names_;
  const FileRule* const rule_;
  const MPI_Comm communicator_;
  const int mode_;
  const bool is_of_format_library_;
  std::atomic<bool> atomic_ = false;
  std::atomic<bool> foreign_ = false;
  std::atomic<bool> told_ = false;
  std::atomic<bool> told_of_shared_pointer_ = false;
  base::RecursiveMutex pointer_mutex_;
  mutable base::Mutex mutex_;
  Hints hints_ GUARDED_BY(mutex_);
  FileView view_ GUARDED_BY(mutex_);
  std::optional<std::uint64_t> begun_ GUARDED_BY(mutex_);
  staging::BackgroundDrain background_;
};

}  // namespace dovetail::interpose::mpiio
