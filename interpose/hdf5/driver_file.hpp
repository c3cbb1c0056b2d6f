// A file as the driver has it: its writes are staged, its reads look ahead. HDF5 is never called from here.
#pragma once

#include <hdf5.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_range.hpp"
#include "prefetch/read_ahead.hpp"
#include "report.hpp"
#include "staging/staged_file.hpp"

namespace dovetail::hdf5 {

/// One thread at a time calls its functions (HDF5 holds a lock of its own), save for those that say otherwise.
class DriverFile {
 public:
  /// Takes over the descriptor.
  DriverFile(staging::OpenedFile opened, bool reads_ahead);
  DriverFile(const DriverFile&) = delete;
  DriverFile& operator=(const DriverFile&) = delete;
  ~DriverFile();

  /// As `staging::StagedFile::write`, for the current operation.
  staging::Answer write(base::ByteRange range, const std::byte* data);
  /// Bytes behind the end of the file are zero. `raw`: data of the program, not HDF5's own.
  staging::Answer read(base::ByteRange range, std::byte* target, bool raw);
  /// HDF5 may change what it has read, from pages of its own, when a read has returned: none may go on after that.
  void reads_end_at_once() noexcept { reads_may_go_on_ = false; }
  staging::Answer set_size(std::uint64_t size, bool closing);
  std::string settle(Cause cause);
  std::string make_durable();
  /// Waits for all writes, unless closes go on in the background, and closes the descriptor. Returns what failed, as far as it is known. Nothing else
  /// may follow.
  static std::string close(std::unique_ptr<DriverFile> file);

  /// Whether a flush returns when all writes have reached the file; false: at once.
  bool flush_waits() const noexcept { return flush_waits_; }
  void flush_waits(bool waits) noexcept { flush_waits_ = waits; }

  /// The number that HDF5 has given to the file; none, until the program has opened it by name.
  std::optional<unsigned long> number() const noexcept { return number_; }
  void number_is(unsigned long number) noexcept { number_ = number; }
  /// An object in which something is missing that its caller took for done.
  void lose(const H5O_token_t& token) { lost_.push_back(token); }
  bool has_lost(const H5O_token_t& token) const;
  /// The program has closed an identifier of the file: it is perhaps closed by the close of its last object.
  void identifier_closes() noexcept { identifier_closed_ = true; }
  bool identifier_closed() const noexcept { return identifier_closed_; }

  /// What `H5Fget_vfd_handle` gives.
  int* descriptor_address() noexcept { return &handle_.descriptor; }
  staging::StagedFile& staged() noexcept { return staged_; }
  const staging::StagedFile& staged() const noexcept { return staged_; }

 private:
  std::string finish(std::uint64_t& waited);

  // HDF5's POSIX driver has four bytes of zeros behind the descriptor, and there are programs that read all eight.
  struct alignas(std::uint64_t) Handle {
    int descriptor;
    int zero = 0;
  };

  Handle handle_;
  staging::StagedFile staged_;
  std::optional<prefetching::ReadAhead> ahead_;
  bool flush_waits_;
  const bool close_waits_;
  bool reads_may_go_on_ = true;
  bool identifier_closed_ = false;
  std::optional<unsigned long> number_;
  std::vector<H5O_token_t> lost_;
};

}  // namespace dovetail::hdf5
