#include "operation.hpp"

#include <chrono>
#include <string_view>
#include <utility>

namespace dovetail::hdf5 {
namespace {
thread_local Operation* current = nullptr;
}

void Transfers::one_ended(const std::string& failure, std::uint64_t time, std::vector<std::function<void()>>& tell) {
  if (error.empty()) {
    error = failure;
  }
  ended = time;
  if (--outstanding == 0) {
    for (auto& say : when_done) {
      tell.emplace_back([say = std::move(say), succeeded = error.empty()] { say(succeeded); });
    }
    when_done.clear();
  }
}

std::string described(const char* call, const ObjectName* name) {
  std::string text = call;
  if (name == nullptr) {
    return text;
  }
  return text + (name->path.empty() ? " of an unnamed object" : ' ' + name->path);
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

bool Operation::flushes() const noexcept {
  const std::string_view name = call;
  return name == "H5Fclose" || name == "H5Fflush";
}

SharedName Operation::subject() const {
  return child == nullptr ? object : std::make_shared<ObjectName>(path_below(object.get(), child));
}

const std::shared_ptr<Transfers>& Operation::begin_transfer() {
  if (transfers == nullptr) {
    transfers = std::make_shared<Transfers>();
    transfers->begun = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
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
