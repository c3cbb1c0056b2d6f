// Where Open MPI's starter has started ranks on several nodes, they find each other by MPI itself; where gaspi_run has started them, by GASPI.
#include <array>
#include <chrono>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/rma/bootstrap.hpp"
#include "comm/rma/gaspi.hpp"
#include "comm/rma/gaspi_messages.hpp"
#include "comm/rma/message_library.hpp"

namespace dovetail::comm::rma {
namespace {

class ByMessages final : public Bootstrap {
 public:
  ByMessages(MessageLibrary& library, int rank, int size, std::chrono::milliseconds limit)
      : library_(library), rank_(rank), size_(size), limit_(limit) {}
  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }

  std::vector<std::string> exchange(const std::string& card) override {
    if (is_out_of_step) {
      throw std::runtime_error("No group can begin any more: an earlier one was begun by some ranks, and not by all");
    }
    is_out_of_step = true;  // until all have done it
    if (!library_.has_channel()) {
      finish_in_time([&] { return library_.make_channel(); }, limit_, library_.channel());
    }
    // The library writes into this until it has ended, also where it does not end in time.
    auto* const cards = new Cards{.own = {}, .all = std::vector<char>(most_bytes * static_cast<std::size_t>(size_))};
    card.copy(cards->own.data(), most_bytes - 1);
    finish_in_time(
        [&] {
          return library_.gather(std::as_bytes(std::span(cards->own)), std::as_writable_bytes(std::span(cards->all)));
        },
        limit_, "The exchange of cards by " + name_of_message_library(library_.version()));
    const std::unique_ptr<const Cards> owned(cards);
    is_out_of_step = false;
    std::vector<std::string> found;
    for (std::size_t at = 0; at < owned->all.size(); at += most_bytes) {
      found.emplace_back(&owned->all[at], strnlen(&owned->all[at], most_bytes));
    }
    return found;
  }

 private:
  static constexpr std::size_t most_bytes = 256;
  struct Cards {
    std::array<char, most_bytes> own;
    std::vector<char> all;
  };
  MessageLibrary& library_;
  const int rank_;
  const int size_;
  const std::chrono::milliseconds limit_;
  static inline bool is_out_of_step = false;
};

}  // namespace

// All ranks see the same numbers, which the starter sets.
std::unique_ptr<Bootstrap> find_mpi_bootstrap(std::chrono::milliseconds limit, std::string& why_not) {
  const int rank = number_from_starter("OMPI_COMM_WORLD_RANK", 0);
  const int size = number_from_starter("OMPI_COMM_WORLD_SIZE", 1);
  const int on_node = number_from_starter("OMPI_COMM_WORLD_LOCAL_SIZE", 1);
  if (rank < 0 || size < 0 || (on_node == size && !is_message_library_wanted())) {
    return nullptr;
  }
  try {
    return std::make_unique<ByMessages>(require_message_library(rank, size), rank, size, limit);
  } catch (const std::runtime_error& refused) {
    why_not = refused.what();
    return nullptr;
  }
}

std::unique_ptr<Bootstrap> find_gaspi_bootstrap(std::chrono::milliseconds limit) {
  if (!is_started_by_gaspi()) {
    return nullptr;
  }
  const int rank = number_from_starter("GASPI_RANK", 0);
  const int size = number_from_starter("GASPI_NRANKS", 1);
  return std::make_unique<ByMessages>(require_gaspi_messages(rank, size, limit), rank, size, limit);
}

}  // namespace dovetail::comm::rma
