// Open MPI's starter names the job and the rank by variables. Rank 0 collects the cards at an address that all can form from these, and gives
// them to all. Within a node, where what stands on this is.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include "comm/rma/bootstrap.hpp"
#include "comm/rma/connection.hpp"

namespace dovetail::comm::rma {
namespace {

constexpr const char* within_a_node =
    ". With the starter of Open MPI, ranks find each other within a node, and between nodes by MPI itself, once that "
    "is initialised with "
    "MPI_THREAD_MULTIPLE";

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }
std::string text_of(const Connection::Message& message) {
  return {reinterpret_cast<const char*>(message.bytes.data()), message.bytes.size()};
}

class OpenMpi final : public Bootstrap {
 public:
  OpenMpi(const std::string& job, int rank, int size, std::chrono::milliseconds limit, const std::string& why_not_mpi)
      : name_("dovetail-" + job),
        rank_(rank),
        size_(size),
        limit_(limit),
        hint_(within_a_node + (why_not_mpi.empty() ? "" : ". " + why_not_mpi)) {}
  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }

  std::vector<std::string> exchange(const std::string& card) override {
    const std::string name = name_ + "-" + std::to_string(exchanges_++);
    return rank_ == 0 ? collect(name, card) : give(name, card);
  }

 private:
  // A message of each rank: its number, a space, its card.
  std::vector<std::string> collect(const std::string& name, const std::string& card) const {
    const Listener listener(name);
    std::vector<std::string> cards(static_cast<std::size_t>(size_));
    std::vector<std::unique_ptr<Connection>> others;
    cards[0] = card;
    while (others.size() + 1 < cards.size()) {
      others.push_back(std::make_unique<Connection>(accept(listener, others.size() + 1)));
      const std::string said = text_of(others.back()->receive(limit_));
      const std::size_t space = std::min(said.find(' '), said.size());
      std::size_t rank = 0;
      const auto [end, error] = std::from_chars(said.data(), said.data() + space, rank);
      if (error != std::errc() || end != said.data() + space || rank == 0 || rank >= cards.size()) {
        throw std::runtime_error("A process that is no rank of this job sent \"" + said + "\"");
      }
      cards[rank] = said.substr(space + 1);
    }
    for (const auto& other : others) {
      for (const std::string& each : cards) {
        other->send(bytes_of(each), {});
      }
    }
    return cards;
  }

  int accept(const Listener& listener, std::size_t come) const {
    try {
      return listener.accept(limit_);
    } catch (const std::system_error& error) {
      if (error.code().value() != ETIMEDOUT) {
        throw;
      }
      throw std::runtime_error(std::to_string(come) + " of " + std::to_string(size_) +
                               " ranks have begun the group in time (GroupOptions::start_timeout)" + hint_);
    }
  }

  std::vector<std::string> give(const std::string& name, const std::string& card) const {
    const Connection to_first(connect_when_there(name));
    to_first.send(bytes_of(std::to_string(rank_) + " " + card), {});
    std::vector<std::string> cards(static_cast<std::size_t>(size_));
    for (std::string& each : cards) {
      each = text_of(to_first.receive(limit_));
    }
    return cards;
  }

  // Nothing tells when another process begins to listen, so it is tried again.
  int connect_when_there(const std::string& name) const {
    constexpr std::chrono::milliseconds between_trials{1};
    const auto end = std::chrono::steady_clock::now() + limit_;
    for (;;) {
      try {
        return connect_to(name);
      } catch (const std::system_error& refused) {
        if (refused.code().value() != ECONNREFUSED) {
          throw;
        }
        if (std::chrono::steady_clock::now() >= end) {
          throw std::runtime_error(std::string("Rank 0 has not begun the group in time (GroupOptions::start_timeout)") +
                                   hint_);
        }
      }
      std::this_thread::sleep_for(between_trials);
    }
  }

  const std::string name_;
  const int rank_;
  const int size_;
  const std::chrono::milliseconds limit_;
  const std::string hint_;
  static inline unsigned exchanges_ = 0;  // of the process, which may have several groups one after the other
};

}  // namespace

std::unique_ptr<Bootstrap> find_openmpi_bootstrap(std::chrono::milliseconds limit, const std::string& why_not_mpi) {
  const char* const job = std::getenv("PMIX_NAMESPACE");
  const int rank = number_from_starter("OMPI_COMM_WORLD_RANK", 0);
  const int size = number_from_starter("OMPI_COMM_WORLD_SIZE", 1);
  if (job == nullptr || rank < 0 || size < 0) {
    return nullptr;
  }
  return std::make_unique<OpenMpi>(job, rank, size, limit, why_not_mpi);
}

}  // namespace dovetail::comm::rma
