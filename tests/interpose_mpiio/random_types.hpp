// Types of data at random, for files and for memory.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "interpose_mpiio/staging_ranks.hpp"

namespace dovetail::test {

using Random = std::mt19937_64;

inline std::uint64_t below(Random& random, std::uint64_t limit) { return random() % limit; }

// A committed type that is freed.
class Type {
 public:
  explicit Type(MPI_Datatype made) : type_(made) { MPI_Type_commit(&type_); }
  ~Type() { MPI_Type_free(&type_); }
  Type(Type&& other) noexcept : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_;
};

inline MPI_Datatype resized(MPI_Datatype old, MPI_Aint lower, MPI_Aint extent) {
  MPI_Datatype made{};
  MPI_Type_create_resized(old, lower, extent, &made);
  MPI_Type_free(&old);
  return made;
}

// Increasing places with lengths, that end before `limit`.
inline void places_below(Random& random, int limit, std::vector<int>& lengths, std::vector<int>& places) {
  int at = static_cast<int>(below(random, std::min<std::uint64_t>(3, static_cast<std::uint64_t>(limit))));
  while (at < limit) {
    const std::uint64_t least = places.empty() ? 1 : 0;
    const int length =
        static_cast<int>(std::min<std::uint64_t>(least + below(random, 4), static_cast<std::uint64_t>(limit - at)));
    lengths.push_back(length);
    places.push_back(at);
    at += length + static_cast<int>(below(random, 3));
  }
}

// Some of `count` units one behind the other.
inline MPI_Datatype part_of_block(Random& random, MPI_Datatype unit, int count) {
  MPI_Datatype made{};
  std::vector<int> lengths;
  std::vector<int> places;
  places_below(random, count, lengths, places);
  const int found = static_cast<int>(places.size());
  int bytes = 0;
  MPI_Type_size(unit, &bytes);
  std::vector<MPI_Aint> addresses(places.begin(), places.end());
  for (MPI_Aint& address : addresses) {
    address *= bytes;
  }
  std::vector<MPI_Datatype> types(places.size(), unit);
  std::vector<int> singles;
  for (int place = 0; place < count; place += 1 + static_cast<int>(below(random, 3))) {
    singles.push_back(place);
  }
  std::vector<MPI_Aint> single_addresses(singles.begin(), singles.end());
  for (MPI_Aint& address : single_addresses) {
    address *= bytes;
  }
  switch (below(random, 8)) {
    case 0:
      MPI_Type_contiguous(count, unit, &made);
      break;
    case 1:
      MPI_Type_vector((count + 2) / 3, 1, 3, unit, &made);
      break;
    case 2:
      MPI_Type_create_hvector((count + 3) / 4, std::min(count, 1), MPI_Aint{4} * bytes, unit, &made);
      break;
    case 3:
      MPI_Type_indexed(found, lengths.data(), places.data(), unit, &made);
      break;
    case 4:
      MPI_Type_create_hindexed(found, lengths.data(), addresses.data(), unit, &made);
      break;
    case 5:
      MPI_Type_create_struct(found, lengths.data(), addresses.data(), types.data(), &made);
      break;
    case 6:
      MPI_Type_create_indexed_block(static_cast<int>(singles.size()), 1, singles.data(), unit, &made);
      break;
    default:
      MPI_Type_create_hindexed_block(static_cast<int>(singles.size()), 1, single_addresses.data(), unit, &made);
      break;
  }
  return made;
}

inline MPI_Datatype at_displacement(MPI_Datatype old, MPI_Aint displacement) {
  MPI_Datatype made{};
  const int one = 1;
  MPI_Type_create_struct(1, &one, &displacement, &old, &made);
  MPI_Type_free(&old);
  return made;
}

// Of each `ranks` blocks one, or what it has of it.
inline MPI_Datatype interleaved(Random& random, const Ranks& ranks, MPI_Datatype unit, int block) {
  int bytes = 0;
  MPI_Type_size(unit, &bytes);
  const MPI_Aint stride = MPI_Aint{block} * bytes;
  return resized(at_displacement(part_of_block(random, unit, block), ranks.rank * stride), 0, ranks.size * stride);
}

// A part of a matrix: `common` is the same on all ranks.
inline MPI_Datatype part_of_array(Random& common, const Ranks& ranks, MPI_Datatype unit) {
  std::array<int, 3> sizes{};
  for (int& size : sizes) {
    size = 2 + static_cast<int>(below(common, 6));
  }
  const int order = below(common, 2) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  MPI_Datatype made{};
  if (below(common, 2) == 0) {
    // Slices of one dimension.
    const std::size_t cut = below(common, 3);
    sizes[cut] = ranks.size * (1 + static_cast<int>(below(common, 3)));
    std::array<int, 3> parts = sizes;
    std::array<int, 3> starts{};
    parts[cut] = sizes[cut] / ranks.size;
    starts[cut] = ranks.rank * parts[cut];
    MPI_Type_create_subarray(3, sizes.data(), parts.data(), starts.data(), order, unit, &made);
    return made;
  }
  std::array<int, 3> processes{};
  MPI_Dims_create(ranks.size, 3, processes.data());
  std::shuffle(processes.begin(), processes.end(), common);
  std::array<int, 3> ways{};
  std::array<int, 3> arguments{};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::uint64_t way = below(common, processes[i] == 1 ? 3 : 2);
    ways[i] = way == 0 ? MPI_DISTRIBUTE_BLOCK : way == 1 ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_NONE;
    // A block must be large enough for all.
    const int least = way == 0 ? (sizes[i] + processes[i] - 1) / processes[i] : 1;
    arguments[i] =
        way == 2 || below(common, 2) == 0 ? MPI_DISTRIBUTE_DFLT_DARG : least + static_cast<int>(below(common, 2));
  }
  MPI_Type_create_darray(ranks.size, ranks.rank, 3, sizes.data(), ways.data(), arguments.data(), processes.data(),
                         order, unit, &made);
  return made;
}

// In memory, of some units, perhaps with gaps and backwards. `origin`: bytes from the beginning of memory to where it is applied.
inline MPI_Datatype in_memory(Random& random, MPI_Datatype unit, std::size_t& origin) {
  int bytes = 0;
  MPI_Type_size(unit, &bytes);
  origin = 0;
  MPI_Datatype made{};
  switch (below(random, 4)) {
    case 0:
      MPI_Type_contiguous(1 + static_cast<int>(below(random, 5)), unit, &made);
      return made;
    case 1:
      origin = std::size_t{3} * 2 * static_cast<std::size_t>(bytes) * 32;
      MPI_Type_create_hvector(3, 1, MPI_Aint{-2} * bytes, unit, &made);
      return resized(made, 0, MPI_Aint{-6} * bytes);
    case 2:
      return resized(part_of_block(random, unit, 1 + static_cast<int>(below(random, 6))), 0, MPI_Aint{7} * bytes);
    default:
      MPI_Type_vector(2, 2, 3, unit, &made);
      return made;
  }
}

inline MPI_Datatype one_behind_the_other(MPI_Datatype unit) {
  MPI_Datatype made{};
  MPI_Type_contiguous(2, unit, &made);
  return made;
}

}  // namespace dovetail::test
