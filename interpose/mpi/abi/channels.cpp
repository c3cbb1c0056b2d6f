#include "abi/channels.hpp"

#include <array>
#include <cstddef>
#include <exception>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "abi/functions.hpp"

namespace dovetail::interpose::mpi {
namespace {

using comm::mpi::Channel;

extern "C" {
// A duplicate is another communicator.
int copy_nothing(MPI_Comm /*from*/, int /*key*/, void* /*state*/, void* /*value*/, void* /*copied*/, int* is_copied) {
  *is_copied = 0;
  return MPI_SUCCESS;
}
// Messages may be under way still.
int keep(MPI_Comm /*communicator*/, int /*key*/, void* /*value*/, void* /*state*/) { return MPI_SUCCESS; }
}

std::vector<int> ranks_in_world(MPI_Comm communicator, MPI_Comm world) {
  int size = 0;
  MPI_Group group;
  MPI_Group of_world;
  mpi().Comm_size(communicator, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::vector<int> found(ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  mpi().Comm_group(communicator, &group);
  mpi().Comm_group(world, &of_world);
  mpi().Group_translate_ranks(group, size, ranks.data(), of_world, found.data());
  mpi().Group_free(&group);
  mpi().Group_free(&of_world);
  return found;
}

// "0-3, 5"
std::string text_of(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) {
      ++last;
    }
    text += (i > 0 ? ", " : "") + std::to_string(ranks[i]) + (last > i ? "-" + std::to_string(ranks[last]) : "");
    i = last + 1;
  }
  return text;
}

}  // namespace

Channels::Channels(MPI_Comm world) : world_(world), of_world_{"MPI_COMM_WORLD", {}} {}

const Channel* Channels::of(MPI_Comm communicator) noexcept {
  if (communicator == world_) {
    return &of_world_;
  }
  try {
    if (!has_key_) {
      has_key_ = mpi().Comm_create_keyval(copy_nothing, keep, &key_, nullptr) == MPI_SUCCESS;
    }
    void* known = nullptr;
    int is_known = 0;
    if (!has_key_ || mpi().Comm_get_attr(communicator, key_, &known, &is_known) != MPI_SUCCESS) {
      return nullptr;
    }
    return is_known != 0 ? static_cast<const Channel*>(known) : make(communicator);
  } catch (const std::exception&) {
    return nullptr;
  }
}

const Channel* Channels::make(MPI_Comm communicator) {
  int joins_two_groups = 0;
  if (mpi().Comm_test_inter(communicator, &joins_two_groups) != MPI_SUCCESS || joins_two_groups != 0) {
    return nullptr;
  }
  std::array<char, MPI_MAX_OBJECT_NAME + 1> given{};
  int length = 0;
  mpi().Comm_get_name(communicator, given.data(), &length);
  std::vector<int> ranks = ranks_in_world(communicator, world_);
  std::string name(given.data());
  // Open MPI's own names have numbers in them, which may differ from rank to rank.
  if (name.starts_with("MPI COMMUNICATOR ")) {
    name.clear();
  }
  name += (name.empty() ? "" : " ") + std::string("of ranks ") + text_of(ranks);
  if (const unsigned before = made_[name]++; before > 0) {
    name += " (" + std::to_string(before + 1) + ")";
  }
  auto* const made = new Channel{std::move(name), std::move(ranks)};
  mpi().Comm_set_attr(communicator, key_, made);
  return made;
}

}  // namespace dovetail::interpose::mpi
