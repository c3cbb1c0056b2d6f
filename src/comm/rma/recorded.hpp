// What traces have of notifications: which task sends each, and which takes it.
#pragma once

#include <cstddef>

#include "comm/rma/await.hpp"
#include "comm/rma/mailbox.hpp"
#include "trace/trace.hpp"

namespace dovetail::comm::rma {

namespace recorded {

void sent(int to, Notification notification, std::size_t bytes) noexcept;
void arrived(int from, Notification notification) noexcept;
void begin(const Await& await) noexcept;
void end(const Await& await) noexcept;
void take(std::uint8_t segment, std::uint32_t id) noexcept;

}  // namespace recorded

/// By the thread that sends, before it does. `bytes`: of the data that go before it.
inline void record_sent(int to, Notification notification, std::size_t bytes = 0) noexcept {
  if (trace::enabled()) [[unlikely]] {
    recorded::sent(to, notification, bytes);
  }
}

/// @name By a thread that no other one passes: what arrives, and what is waited for, is recorded in one order
/// @{
inline void record_arrived(int from, Notification notification) noexcept {
  if (trace::enabled()) [[unlikely]] {
    recorded::arrived(from, notification);
  }
}
inline void record_begin(const Await& await) noexcept {
  if (trace::enabled()) [[unlikely]] {
    recorded::begin(await);
  }
}
/// It takes what has arrived, or has failed.
inline void record_end(const Await& await) noexcept {
  if (trace::enabled()) [[unlikely]] {
    recorded::end(await);
  }
}
/// One that had arrived is taken without a wait.
inline void record_take(std::uint8_t segment, std::uint32_t id) noexcept {
  if (trace::enabled()) [[unlikely]] {
    recorded::take(segment, id);
  }
}
/// @}

}  // namespace dovetail::comm::rma
