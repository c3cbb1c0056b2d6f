#include "operation.hpp"

#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "services.hpp"

namespace dovetail::hdf5 {
namespace {
thread_local Operation* current = nullptr;
}

std::string path_below(const ObjectName* parent, const char* name) {
  if (name == nullptr || *name == '\0') {
    return {};
  }
  if (parent == nullptr || *name == '/') {
    return name;
  }
  return parent->path.ends_with('/') ? parent->path + name : parent->path + '/' + name;
}

bool Operation::flushes() const noexcept { return closes() || std::string_view(call) == "H5Fflush"; }
bool Operation::closes() const noexcept { return std::string_view(call) == "H5Fclose"; }

staging::Purpose Operation::purpose() const {
  return {call, child == nullptr ? object : std::make_shared<ObjectName>(path_below(object.get(), child))};
}

std::string Operation::label() const {
  const staging::Purpose named = purpose();
  const Lock lock(services().stage.mutex);
  return named.text();
}

std::shared_ptr<Transfers> Operation::counted() {
  if (transfers == nullptr && (asynchronous || bound)) {
    transfers = std::make_shared<Transfers>(base::nanoseconds());
  }
  return transfers;
}

bool Operation::promised(const void* data, std::size_t bytes) const noexcept {
  const auto* begin = static_cast<const std::byte*>(data);
  for (const Promise& promise : promises) {
    if (begin >= promise.begin && begin + bytes <= promise.end) {
      return true;
    }
  }
  return false;
}

Operation& current_operation() noexcept {
  // What HDF5 does on its own account, or for a program that holds the driver but not the connector.
  thread_local Operation none;
  return current != nullptr ? *current : none;
}

Within::Within(Operation& operation) noexcept : previous_(std::exchange(current, &operation)) {}
Within::~Within() { current = previous_; }

}  // namespace dovetail::hdf5
