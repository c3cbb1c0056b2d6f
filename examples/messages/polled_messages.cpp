#include "polled_messages.hpp"

#include <algorithm>

namespace messages {
namespace {

dovetail::PollingRate rate_of(std::chrono::microseconds period) {
  // The shortest time that there is stands for all the time.
  const std::chrono::nanoseconds each = std::max<std::chrono::nanoseconds>(period, std::chrono::nanoseconds(1));
  return {.shortest = each, .longest = each};
}

}  // namespace

PolledMessages::PolledMessages(dovetail::Runtime& runtime, std::chrono::microseconds period)
    : service_(runtime, "requests of MPI", rate_of(period), [this] { return poll(); }) {}

void PolledMessages::send(const void* data, int bytes, int rank, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(data, bytes, MPI_BYTE, rank, tag, MPI_COMM_WORLD, &request);
  bind(request);
}

void PolledMessages::receive(void* data, int bytes, int rank, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(data, bytes, MPI_BYTE, rank, tag, MPI_COMM_WORLD, &request);
  bind(request);
}

void PolledMessages::bind(MPI_Request request) {
  int has_ended = 0;
  MPI_Test(&request, &has_ended, MPI_STATUS_IGNORE);
  if (has_ended != 0) {
    return;
  }
  dovetail::Events& events = dovetail::this_task::events();
  events.add();
  {
    const std::lock_guard lock(mutex_);
    new_.push_back({request, &events});
  }
  service_.add_pending();
}

std::size_t PolledMessages::poll() {
  {
    const std::lock_guard lock(mutex_);
    for (const Bound& bound : new_) {
      requests_.push_back(bound.request);
      events_.push_back(bound.events);
    }
    new_.clear();
  }
  ended_.resize(requests_.size());
  int count = 0;
  MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, ended_.data(), MPI_STATUSES_IGNORE);
  if (count <= 0) {
    return 0;
  }
  for (int i = 0; i < count; ++i) {
    events_[static_cast<std::size_t>(ended_[static_cast<std::size_t>(i)])]->fulfill();
  }
  std::size_t left = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] != MPI_REQUEST_NULL) {
      requests_[left] = requests_[i];
      events_[left++] = events_[i];
    }
  }
  requests_.resize(left);
  events_.resize(left);
  return static_cast<std::size_t>(count);
}

}  // namespace messages
