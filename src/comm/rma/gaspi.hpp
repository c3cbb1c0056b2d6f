// The functions of GASPI that one-sided communication calls. GASPI is the Global Address Space Programming Interface, version 17.1 of its standard. What
// that leaves open (the width of its numbers) is as in GPI-2.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace dovetail::comm::rma {

/// Loaded at run time, so that nothing of GASPI is needed to build Dovetail. Tests bring functions of their own.
struct Gaspi {
  using Return = int;
  using Rank = unsigned short;
  using Segment = unsigned char;
  using Queue = unsigned char;
  using Group = unsigned char;
  using Number = unsigned int;
  using Notification = unsigned int;  ///< An id, or a value: 0 is none.
  using Timeout = unsigned long;      ///< In milliseconds.
  using Size = unsigned long;

  static constexpr Return success = 0;
  static constexpr Return timeout = 1;  ///< It has not ended; called again, it goes on. All else is an error.
  static constexpr Timeout test = 0;
  static constexpr Group all_ranks = 0;
  static constexpr int default_memory = 0;

  Return (*version)(float* version) = nullptr;
  Return (*initialized)(Number* is_initialized) = nullptr;
  Return (*proc_init)(Timeout limit) = nullptr;
  Return (*proc_rank)(Rank* rank) = nullptr;
  Return (*proc_num)(Rank* size) = nullptr;
  Return (*connect)(Rank rank, Timeout limit) = nullptr;
  Return (*barrier)(Group group, Timeout limit) = nullptr;
  Return (*segment_max)(Number* most) = nullptr;
  Return (*segment_alloc)(Segment segment, Size bytes, int policy) = nullptr;
  Return (*segment_register)(Segment segment, Rank rank, Timeout limit) = nullptr;
  Return (*segment_ptr)(Segment segment, void** memory) = nullptr;
  Return (*notification_num)(Number* count) = nullptr;
  Return (*queue_create)(Queue* queue, Timeout limit) = nullptr;
  Return (*queue_num)(Number* count) = nullptr;
  Return (*queue_size)(Queue queue, Number* requests) = nullptr;
  Return (*queue_size_max)(Number* requests) = nullptr;
  Return (*wait)(Queue queue, Timeout limit) = nullptr;
  Return (*write_notify)(Segment from_segment, Size from_offset, Rank rank, Segment to_segment, Size to_offset,
                         Size bytes, Notification id, Notification value, Queue queue, Timeout limit) = nullptr;
  Return (*notify)(Segment segment, Rank rank, Notification id, Notification value, Queue queue,
                   Timeout limit) = nullptr;
  Return (*notify_waitsome)(Segment segment, Notification begin, Number count, Notification* first,
                            Timeout limit) = nullptr;
  Return (*notify_reset)(Segment segment, Notification id, Notification* value) = nullptr;

  /// The library that the program has brought along, or that DOVETAIL_GASPI_LIBRARY names, or libGPI2.so. It stays loaded.
  /// @throws std::runtime_error
  static const Gaspi& get();
  /// "GPI-2 1.6"
  std::string name() const;
  /// Initialises GASPI, unless the program has. By all ranks; blocks. @throws std::runtime_error
  void begin(std::chrono::milliseconds limit) const;
};

/// Whether gaspi_run has started this process, and no starter that Dovetail would use in its place.
bool is_started_by_gaspi();
/// Whether ranks are to reach other nodes by GASPI: gaspi_run has started them, or DOVETAIL_FABRIC is "gaspi".
bool is_gaspi_wanted();

}  // namespace dovetail::comm::rma
