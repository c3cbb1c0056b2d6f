#include "driver_file.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "operation.hpp"
#include "services.hpp"
#include "settings.hpp"
#include "staging/closing.hpp"

namespace dovetail::hdf5 {

using base::ByteRange;
using staging::Answer;

DriverFile::DriverFile(staging::OpenedFile opened, bool reads_ahead)
    : handle_{opened.descriptor},
      staged_(services().stage, std::move(opened)),
      flush_waits_(settings().flush_waits),
      close_waits_(settings().close_waits) {
  if (reads_ahead && settings().read_ahead) {
    ahead_.emplace(handle_.descriptor, services().lasting, services().ahead);
  }
  const Lock lock(services().stage.mutex);
  services().files.push_back(this);
}

DriverFile::~DriverFile() {
  std::uint64_t waited = 0;
  finish(waited);
}

std::string DriverFile::finish(std::uint64_t& waited) {
  {
    const Lock lock(services().stage.mutex);
    std::erase(services().files, this);
  }
  ahead_.reset();
  return staged_.close(waited);
}

std::string DriverFile::close(std::unique_ptr<DriverFile> file) {
  if (file->close_waits_ || file->staged_.foreign()) {
    return file->finish(services().report.of(Cause::close));
  }
  std::string failed = file->staged_.failure();
  {
    const Lock lock(services().stage.mutex);
    std::erase(services().files, file.get());
  }
  const staging::StagedFile& staged = file->staged_;
  staging::close_later(services().stage, staged.device(), staged.inode(), "H5Fclose of " + staged.path(),
                       [closing = std::shared_ptr<DriverFile>(std::move(file))] {
                         std::uint64_t hidden = 0;
                         closing->finish(hidden);  // prints what fails
                       });
  return failed;
}

Answer DriverFile::write(ByteRange range, const std::byte* data) {
  if (ahead_) {
    ahead_->forget(range);
  }
  Operation& operation = current_operation();
  const bool waits = operation.closes() ? close_waits_ : flush_waits_;
  return staged_.write(range, data,
                       {.purpose = operation.purpose(),
                        .transfers = operation.counted(),
                        .kept = operation.promised(data, range.length),
                        .awaited = operation.flushes() && waits,
                        .shared = operation.postponed});
}

Answer DriverFile::read(ByteRange range, std::byte* target, bool raw) {
  std::vector<ByteRange> gaps;
  bool quiet = false;
  if (const Answer answer = staged_.read_pending(range, target, gaps, quiet); answer.error != 0) {
    return answer;
  }
  if (ahead_ && staged_.shared()) {
    ahead_->stop();
  }
  Operation& operation = current_operation();
  const bool here = !staged_.foreign();
  const bool later =
      raw && here && reads_may_go_on_ && operation.asynchronous && operation.promised(target, range.length);
  const bool ahead = ahead_ && !ahead_->stopped() && here;
  const std::uint64_t begun = ahead && raw ? base::nanoseconds() : 0;
  for (ByteRange gap : gaps) {
    std::byte* place = target + (gap.offset - range.offset);
    if (later && staged_.read_later(gap, place, operation.purpose(), operation.counted())) {
      continue;
    }
    const std::size_t fetched = ahead ? ahead_->serve(gap, place) : 0;
    gap = {gap.offset + fetched, gap.length - fetched};
    place += fetched;
    if (const Answer answer = staged_.read(gap, place); answer.error != 0) {
      return answer;
    }
  }
  // Fetched bytes come from the file: nothing may be on its way there. Writes from now on are told to the read-ahead.
  if (ahead && raw && !later && quiet) {
    ahead_->follow(range, staged_.size(), begun);
  }
  return {};
}

Answer DriverFile::set_size(std::uint64_t size, bool closing) {
  if (ahead_ && size != staged_.size()) {
    ahead_->forget({0, SIZE_MAX});
  }
  return staged_.set_size(size, services().report.of(Cause::truncate), closing && !close_waits_);
}

std::string DriverFile::settle(Cause cause) { return staged_.settle(services().report.of(cause)); }

std::string DriverFile::make_durable() { return staged_.make_durable(services().report.of(Cause::request)); }

bool DriverFile::has_lost(const H5O_token_t& token) const {
  return std::ranges::any_of(lost_,
                             [&](const H5O_token_t& lost) { return std::memcmp(&lost, &token, sizeof token) == 0; });
}

}  // namespace dovetail::hdf5
