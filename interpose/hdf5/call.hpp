// The frame around each call of the connector below.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <type_traits>

#include "object.hpp"
#include "operation.hpp"

namespace dovetail::hdf5 {

/// Makes all postponed calls.
void make_postponed() noexcept;

/// The object, made.
inline Object& object_of(void* object) {
  if (handle_of(object).to_be_made) {
    make_postponed();
  }
  return handle_of(object);
}
inline void* under_of(void* object) { return object != nullptr ? object_of(object).under : nullptr; }

/// One call of the program on its way to the connector below. Transfers in its course belong to it. At its end its caller gets a request,
/// if it asked for one and there is something left to wait for.
class Call {
 public:
  /// Whether what the program has called before, and HDF5 has yet to see, comes before it.
  enum class Order : std::uint8_t { in_order, any };

  Call(const char* name, const Object* object, const char* child, hid_t connector, void** request,
       Order order = Order::in_order);
  Call(const char* name, const Object& object, void** request, Order order = Order::in_order)
      : Call(name, &object, nullptr, object.connector, request, order) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();

  Operation& operation() noexcept { return operation_; }
  /// What the connector below has answered. After a failure the caller gets no request, and may use its memory for something else:
  /// this waits for the transfers that have begun.
  template <class Result>
  Result ended(Result result) noexcept {
    if constexpr (std::is_pointer_v<Result>) {
      give_up(result == nullptr);
    } else {
      give_up(result < 0);
    }
    return result;
  }
  /// Where the connector below puts its own request, if it has one.
  void** request() noexcept { return wanted_ != nullptr ? &under_request_ : nullptr; }

 private:
  void give_up(bool failed) noexcept;

  Operation operation_;
  Within within_;
  hid_t connector_;
  void** wanted_;
  void* under_request_ = nullptr;
};

/// While one of these lives, calls of its thread wait for nothing that tasks compress.
class WithoutWaiting {
 public:
  WithoutWaiting() noexcept;
  WithoutWaiting(const WithoutWaiting&) = delete;
  WithoutWaiting& operator=(const WithoutWaiting&) = delete;
  ~WithoutWaiting();
  /// Whether HDF5 has seen all calls of the program.
  bool all_made() const noexcept { return all_made_; }
  void note(bool all_made) noexcept { all_made_ = all_made; }

 private:
  bool all_made_ = true;
};

/// Tells the caller of HDF5 of failures in a file that the call has closed. False: there was one.
bool report_failure_of_closed(const char* call) noexcept;

}  // namespace dovetail::hdf5
