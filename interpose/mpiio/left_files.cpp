#include "left_files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "agreement.hpp"
#include "failures.hpp"
#include "functions.hpp"
#include "job_identity.hpp"
#include "staging/left_logs.hpp"
#include "staging/log_record.hpp"
#include "staging/placement.hpp"
#include "staging/tier_folders.hpp"

namespace dovetail::interpose::mpiio {
namespace {

using staging::FileFailure;
using staging::LeftIndex;
using staging::LeftLog;

// All ranks of a node find a folder that stays: the one of its number tells of it.
bool is_told_here(const std::string& folder) {
  int size = 1;
  int rank = 0;
  pmpi().Comm_size(handles().world, &size);
  pmpi().Comm_rank(handles().world, &rank);
  const long number = std::strtol(folder.c_str() + folder.rfind('.') + 1, nullptr, 10);
  return number % size == rank;
}

struct Found {
  std::string final_path{};
  std::vector<LeftLog> logs{};
  std::int64_t number = 0;  // the same on ranks that have found the same logs; 0: none
};

Found find_logs(const Hints& hints, const std::string& path) {
  staging::FolderName name = staging::folder_of(hints.path, path);
  Found found{.final_path = std::move(name.final_path)};
  FileFailure failure = std::move(name.failure);
  if (!failure) {
    found.logs = staging::find_left_logs(name.folder, failure);
  }
  if (failure || found.logs.empty()) {
    return {};
  }
  std::vector<staging::LogIdentity> identities;
  identities.reserve(found.logs.size());
  for (const LeftLog& each : found.logs) {
    identities.push_back(each.log);
  }
  const std::uint64_t sum = staging::checksum_of(std::as_bytes(std::span(identities)), 0);
  found.number = static_cast<std::int64_t>(sum >> 1 | 1);
  return found;
}

struct Counts {
  std::int64_t failed = 0;
  std::int64_t segments = 0;
  std::int64_t extents = 0;
};

// What the ranks make of the logs together. The functions that call all ranks allocate nothing outside `without_exceptions`: a rank that has no memory says so to the
// others, which would wait for it.
class SharedReading {
 public:
  SharedReading(MPI_Comm communicator, const Hints& hints) : communicator_(communicator), hints_(hints) {
    pmpi().Comm_rank(communicator, &rank_);
    pmpi().Comm_size(communicator, &size_);
  }
  // Each returns the same on all ranks; false: it is not to be had, and nothing else is called.
  bool find(const std::string& path) {
    const FileFailure thrown = without_exceptions("find", [&] {
      counts_.resize(static_cast<std::size_t>(size_));
      bytes_.resize(counts_.size());
      places_.resize(counts_.size());
      found_ = find_logs(hints_, path);
      return FileFailure{};
    });
    const std::int64_t mine = thrown ? 0 : found_.number;
    std::array<std::int64_t, 2> same = {mine, -mine};
    agree_on_largest(communicator_, same);
    return same[0] != 0 && same[0] == -same[1];
  }

  // One rank has the lock of the tier for all of them. Each reads as many logs as the others, those of lower ranks first: so their parts lie over each other in the order of the ranks.
  bool read() {
    std::optional<staging::TierLock> lock;
    const FileFailure of_lock = without_exceptions("lock", [&] {
      if (rank_ == 0) {
        lock.emplace(staging::lock_tier(hints_.path));
      }
      return lock ? lock->failure : FileFailure{};
    });
    if (any_failed(communicator_, static_cast<bool>(of_lock))) {
      return false;
    }
    const FileFailure thrown = without_exceptions("read", [&] {
      const std::size_t logs = found_.logs.size();
      const auto own = static_cast<std::size_t>(rank_);
      contents_ =
          staging::read_left_logs(found_.logs, found_.final_path,
                                  {.begin = own * logs / counts_.size(), .end = (own + 1) * logs / counts_.size()});
      return FileFailure{};
    });
    const Counts own = {.failed = thrown || contents_.failure ? 1 : 0,
                        .segments = static_cast<std::int64_t>(contents_.index.segments.size()),
                        .extents = static_cast<std::int64_t>(contents_.index.extents.size())};
    constexpr int numbers = sizeof(Counts) / sizeof(std::int64_t);
    pmpi().Allgather(&own, numbers, handles().int64, counts_.data(), numbers, handles().int64, communicator_);
    return std::ranges::none_of(counts_, [](const Counts& each) { return each.failed != 0; });
  }

  // All have the parts of all. Where nothing counts, a recovery removes the folders.
  bool share() {
    std::int64_t segments = 0;
    std::int64_t extents = 0;
    for (const Counts& each : counts_) {
      segments += each.segments;
      extents += each.extents;
    }
    constexpr std::int64_t most = INT_MAX / sizeof(LeftIndex::Extent);  // the library counts bytes by an int
    if (extents == 0 || extents > most || segments > most) {
      return false;
    }
    const FileFailure thrown = without_exceptions("open", [&] {
      all_.segments.resize(static_cast<std::size_t>(segments));
      all_.extents.resize(static_cast<std::size_t>(extents));
      return FileFailure{};
    });
    if (any_failed(communicator_, static_cast<bool>(thrown))) {
      return false;
    }
    gather(contents_.index.segments, &Counts::segments, all_.segments);
    gather(contents_.index.extents, &Counts::extents, all_.extents);
    contents_.index = {};
    return true;
  }

  // Null on all ranks: one cannot open it.
  std::shared_ptr<staging::UndrainedFile> open() {
    std::shared_ptr<staging::UndrainedFile> file;
    const FileFailure failure = without_exceptions("open", [&] {
      staging::UndrainedFile::Opened opened =
          staging::UndrainedFile::open(found_.logs, parts_of_all(), found_.final_path);
      file = std::move(opened.file);
      return std::move(opened.failure);
    });
    return any_failed(communicator_, static_cast<bool>(failure)) ? nullptr : file;
  }

  void tell_of_it() const {
    if (rank_ == 0) {
      tell("what an earlier run had left of " + found_.final_path +
           " is read from the tier, and is not in the file yet");
    }
    for (const std::string& folder : contents_.superseded) {
      tell(staging::text_of_superseded(folder, found_.final_path));
    }
  }

 private:
  // What all ranks have, in their order, on all of them. `all` has the space for it.
  template <class Each>
  void gather(const std::vector<Each>& own, std::int64_t Counts::* count, std::vector<Each>& all) {
    static_assert(std::is_trivially_copyable_v<Each>);
    int end = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      places_[i] = end;
      bytes_[i] = static_cast<int>(counts_[i].*count * static_cast<std::int64_t>(sizeof(Each)));
      end += bytes_[i];
    }
    pmpi().Allgatherv(own.data(), static_cast<int>(own.size() * sizeof(Each)), handles().byte, all.data(),
                      bytes_.data(), places_.data(), handles().byte, communicator_);
  }

  std::vector<LeftIndex> parts_of_all() {
    std::vector<LeftIndex> parts(counts_.size());
    auto segment = all_.segments.begin();
    auto extent = all_.extents.begin();
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      parts[i].segments.assign(segment, segment + counts_[i].segments);
      parts[i].extents.assign(extent, extent + counts_[i].extents);
      segment += counts_[i].segments;
      extent += counts_[i].extents;
    }
    all_ = {};
    return parts;
  }

  const MPI_Comm communicator_;
  const Hints& hints_;
  int rank_ = 0;
  int size_ = 1;
  Found found_;
  std::vector<Counts> counts_;
  std::vector<int> bytes_;
  std::vector<int> places_;
  staging::LeftContents contents_;
  LeftIndex all_;
};

// Processes that drain behind a close need no lock of the tier: others go on meanwhile.
void wait_for_closed(const std::string& folder, FileFailure& failure) {
  for (const std::string& each : staging::writer_folders(folder, failure)) {
    staging::wait_if_closed(each);
  }
}

}  // namespace

FileFailure recover_file(const Hints& hints, const std::string& path, bool is_removed) {
  const staging::FolderName name = staging::folder_of(hints.path, path);
  if (name.failure) {
    return {};
  }
  FileFailure failure;
  if (staging::writer_folders(name.folder, failure).empty()) {
    return failure;
  }
  wait_for_closed(name.folder, failure);
  const staging::TierLock lock = staging::lock_tier(hints.path);
  if (lock.failure) {
    return lock.failure;
  }
  if (!is_removed) {
    failure = staging::objection_to_half_ended(staging::find_left_logs(name.folder, failure), name.final_path,
                                               static_cast<std::uint64_t>(job_identity()));
  }
  if (failure) {
    return failure;
  }
  staging::WriterRecovery recovery = staging::recover_writers(name.folder, settings_of(hints));
  for (const std::string& folder : recovery.recovered) {
    tell(staging::text_of_recovered(folder, name.final_path));
  }
  for (const std::string& folder : recovery.orphans) {
    if (is_told_here(folder)) {
      tell(staging::text_of_orphan(folder, name.final_path));
    }
  }
  for (const std::string& folder : recovery.superseded) {
    if (is_told_here(folder)) {
      tell(staging::text_of_superseded(folder, name.final_path));
    }
  }
  for (const std::string& folder : recovery.foreign) {
    if (is_told_here(folder)) {
      tell(folder + " belongs to another user, and is left alone");
    }
  }
  return std::move(recovery.failure);
}

std::shared_ptr<staging::UndrainedFile> open_undrained(MPI_Comm communicator, const Hints& hints,
                                                       const std::string& path) {
  SharedReading reading(communicator, hints);
  if (!reading.find(path) || !reading.read() || !reading.share()) {
    return nullptr;
  }
  std::shared_ptr<staging::UndrainedFile> file = reading.open();
  if (file != nullptr) {
    without_exceptions("tell of", [&] {
      reading.tell_of_it();
      return FileFailure{};
    });
  }
  return file;
}

}  // namespace dovetail::interpose::mpiio
