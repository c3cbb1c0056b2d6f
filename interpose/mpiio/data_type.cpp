#include "data_type.hpp"

#include <cstddef>
#include <vector>

#include "functions.hpp"

namespace dovetail::interpose::mpiio {
namespace {

struct Unknown {};

// How a type was made. Derived types in it are freed at the end.
class Contents {
 public:
  explicit Contents(MPI_Datatype type) {
    int integer_count = 0;
    int address_count = 0;
    int type_count = 0;
    int code = MPI_SUCCESS;
#if MPI_VERSION >= 4
    // A type that was made with large counts must not be asked for others: that is an error, which may end the program.
    if (pmpi().Type_get_envelope_c != nullptr) {
      MPI_Count counts[4] = {};
      code = pmpi().Type_get_envelope_c(type, &counts[0], &counts[1], &counts[2], &counts[3], &combiner_);
      if (code != MPI_SUCCESS || counts[2] != 0) {
        throw Unknown{};
      }
    }
#endif
    code = pmpi().Type_get_envelope(type, &integer_count, &address_count, &type_count, &combiner_);
    if (code != MPI_SUCCESS) {
      throw Unknown{};
    }
    if (is_basic()) {
      return;
    }
    integers.resize(static_cast<std::size_t>(integer_count));
    addresses.resize(static_cast<std::size_t>(address_count));
    types.resize(static_cast<std::size_t>(type_count));
    code = pmpi().Type_get_contents(type, integer_count, address_count, type_count, integers.data(), addresses.data(),
                                    types.data());
    if (code != MPI_SUCCESS) {
      types.clear();
      throw Unknown{};
    }
  }
  ~Contents() {
    for (MPI_Datatype& type : types) {
      if (!is_basic(combiner_of(type))) {
        pmpi().Type_free(&type);
      }
    }
  }
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  int combiner() const noexcept { return combiner_; }
  bool is_basic() const noexcept { return is_basic(combiner_); }

  std::vector<int> integers{};
  std::vector<MPI_Aint> addresses{};
  std::vector<MPI_Datatype> types{};

 private:
  // Also those that Fortran makes by precision: the library keeps them, and they cannot be freed.
  static bool is_basic(int combiner) noexcept {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
  }
  // One that is not known counts as basic: it is not freed.
  static int combiner_of(MPI_Datatype type) {
    int combiner = MPI_COMBINER_NAMED;
#if MPI_VERSION >= 4
    if (pmpi().Type_get_envelope_c != nullptr) {
      MPI_Count large[4] = {};
      const int code = pmpi().Type_get_envelope_c(type, &large[0], &large[1], &large[2], &large[3], &combiner);
      return code == MPI_SUCCESS ? combiner : MPI_COMBINER_NAMED;
    }
#endif
    int counts[3] = {};
    const int code = pmpi().Type_get_envelope(type, &counts[0], &counts[1], &counts[2], &combiner);
    return code == MPI_SUCCESS ? combiner : MPI_COMBINER_NAMED;
  }

  int combiner_ = MPI_COMBINER_NAMED;
};

TypeLayout made(MPI_Datatype type);

// Of pairs as MPI_SHORT_INT, the second part is an int at the end, perhaps behind a gap.
LayoutPointer basic(MPI_Datatype type, std::uint64_t bytes) {
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  pmpi().Type_get_true_extent_x(type, &lower, &extent);
  const auto all = static_cast<std::uint64_t>(extent);
  if (all <= bytes || bytes <= sizeof(int)) {
    return Layout::run(bytes);
  }
  const std::uint64_t first = bytes - sizeof(int);
  return Layout::list(
      {{0, Layout::run(first)}, {static_cast<std::int64_t>(all - sizeof(int)), Layout::run(sizeof(int))}});
}

// `order` and `sizes` of the dimensions, the first one the outermost.
struct Dimension {
  std::uint64_t size = 0;
  LayoutPointer (*of)(const Dimension&, std::int64_t stride, const LayoutPointer& inner) = nullptr;
  std::uint64_t start = 0;
  std::uint64_t count = 0;
  std::uint64_t block = 0;   // of a cyclic distribution
  std::uint64_t period = 0;  // of it
};

LayoutPointer contiguous_part(const Dimension& dimension, std::int64_t stride, const LayoutPointer& inner) {
  return Layout::list(
      {{static_cast<std::int64_t>(dimension.start) * stride, Layout::repeat(dimension.count, stride, inner)}});
}

LayoutPointer cyclic_part(const Dimension& dimension, std::int64_t stride, const LayoutPointer& inner) {
  if (dimension.start >= dimension.size) {
    return nullptr;
  }
  const std::uint64_t behind = dimension.size - dimension.start;
  const std::uint64_t whole = behind / dimension.period;
  const std::uint64_t rest = std::min(behind % dimension.period, dimension.block);
  const auto at = [&](std::uint64_t index) { return static_cast<std::int64_t>(index) * stride; };
  const LayoutPointer block = Layout::repeat(dimension.block, stride, inner);
  return Layout::list({{at(dimension.start), Layout::repeat(whole, at(dimension.period), block)},
                       {at(dimension.start + whole * dimension.period), Layout::repeat(rest, stride, inner)}});
}

// From the innermost dimension to the outermost.
LayoutPointer of_array(const std::vector<Dimension>& dimensions, int order, const TypeLayout& element) {
  LayoutPointer layout = element.layout;
  std::int64_t stride = element.extent;
  const std::size_t count = dimensions.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Dimension& dimension = dimensions[order == MPI_ORDER_C ? count - 1 - i : i];
    layout = dimension.of(dimension, stride, layout);
    stride *= static_cast<std::int64_t>(dimension.size);
  }
  return layout;
}

LayoutPointer of_subarray(const Contents& contents) {
  const auto count = static_cast<std::size_t>(contents.integers.at(0));
  const auto number = [&](std::size_t i) { return static_cast<std::uint64_t>(contents.integers.at(i)); };
  std::vector<Dimension> dimensions;
  dimensions.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    dimensions.push_back({.size = number(1 + i),
                          .of = contiguous_part,
                          .start = number(1 + 2 * count + i),
                          .count = number(1 + count + i)});
  }
  return of_array(dimensions, contents.integers.at(1 + 3 * count), made(contents.types.at(0)));
}

// One dimension of a distributed array, for one of `processes`.
Dimension distributed(std::uint64_t size, int distribution, int argument, std::uint64_t processes,
                      std::uint64_t coordinate) {
  if (distribution == MPI_DISTRIBUTE_NONE) {
    return {.size = size, .of = contiguous_part, .start = 0, .count = size};
  }
  const bool given = argument != MPI_DISTRIBUTE_DFLT_DARG;
  if (distribution == MPI_DISTRIBUTE_BLOCK) {
    const std::uint64_t block = given ? static_cast<std::uint64_t>(argument) : (size + processes - 1) / processes;
    const std::uint64_t start = std::min(size, block * coordinate);
    return {.size = size, .of = contiguous_part, .start = start, .count = std::min(block, size - start)};
  }
  const std::uint64_t block = given ? static_cast<std::uint64_t>(argument) : 1;
  return {.size = size, .of = cyclic_part, .start = block * coordinate, .block = block, .period = block * processes};
}

LayoutPointer of_distributed_array(const Contents& contents) {
  // size, rank, number of dimensions, then sizes, distributions, arguments and processes of each, and the order
  const auto count = static_cast<std::size_t>(contents.integers.at(2));
  const auto number = [&](std::size_t list, std::size_t i) { return contents.integers.at(3 + list * count + i); };
  // The grid of processes is numbered as in C, whatever the order of the array.
  std::vector<std::uint64_t> coordinates(count);
  auto rank = static_cast<std::uint64_t>(contents.integers.at(1));
  for (std::size_t i = count; i-- > 0;) {
    const auto processes = static_cast<std::uint64_t>(number(3, i));
    coordinates[i] = rank % processes;
    rank /= processes;
  }
  std::vector<Dimension> dimensions;
  dimensions.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    dimensions.push_back(distributed(static_cast<std::uint64_t>(number(0, i)), number(1, i), number(2, i),
                                     static_cast<std::uint64_t>(number(3, i)), coordinates[i]));
  }
  return of_array(dimensions, contents.integers.at(3 + 4 * count), made(contents.types.at(0)));
}

LayoutPointer of_vector(const Contents& contents, bool in_bytes) {
  const TypeLayout element = made(contents.types.at(0));
  const std::int64_t stride =
      in_bytes ? contents.addresses.at(0) : std::int64_t{contents.integers.at(2)} * element.extent;
  return Layout::repeat(static_cast<std::uint64_t>(contents.integers.at(0)), stride,
                        element.times(static_cast<std::uint64_t>(contents.integers.at(1))));
}

// `length(i)` elements at `place(i)`, in bytes.
template <class Length, class Place>
LayoutPointer of_blocks(int count, const TypeLayout& element, const Length& length, const Place& place) {
  std::vector<Layout::Entry> entries;
  entries.reserve(static_cast<std::size_t>(count));
  int last = -1;
  LayoutPointer block;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    if (length(i) != last) {
      last = length(i);
      block = element.times(static_cast<std::uint64_t>(last));
    }
    entries.push_back({place(i), block});
  }
  return Layout::list(entries);
}

LayoutPointer of_indexed(const Contents& contents) {
  const int count = contents.integers.at(0);
  const auto n = static_cast<std::size_t>(count);
  const TypeLayout element = made(contents.types.at(0));
  const auto first = contents.integers.begin() + 1;
  const auto in_elements = [&](std::size_t i) { return std::int64_t{contents.integers[i]} * element.extent; };
  const auto each = [first](std::size_t i) { return first[static_cast<std::ptrdiff_t>(i)]; };
  const auto all = [first](std::size_t) { return *first; };
  const auto address = [&](std::size_t i) { return std::int64_t{contents.addresses[i]}; };
  switch (contents.combiner()) {
    case MPI_COMBINER_INDEXED:
      return of_blocks(count, element, each, [&](std::size_t i) { return in_elements(1 + n + i); });
    case MPI_COMBINER_INDEXED_BLOCK:
      return of_blocks(count, element, all, [&](std::size_t i) { return in_elements(2 + i); });
    case MPI_COMBINER_HINDEXED:
      return of_blocks(count, element, each, address);
    default:  // MPI_COMBINER_HINDEXED_BLOCK
      return of_blocks(count, element, all, address);
  }
}

LayoutPointer of_struct(const Contents& contents) {
  std::vector<Layout::Entry> entries;
  for (std::size_t i = 0; i < contents.types.size(); ++i) {
    const auto length = static_cast<std::uint64_t>(contents.integers.at(1 + i));
    entries.push_back({contents.addresses.at(i), made(contents.types[i]).times(length)});
  }
  return Layout::list(entries);
}

LayoutPointer derived(const Contents& contents) {
  switch (contents.combiner()) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      return made(contents.types.at(0)).layout;
    case MPI_COMBINER_CONTIGUOUS:
      return made(contents.types.at(0)).times(static_cast<std::uint64_t>(contents.integers.at(0)));
    case MPI_COMBINER_VECTOR:
      return of_vector(contents, false);
    case MPI_COMBINER_HVECTOR:
      return of_vector(contents, true);
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_HINDEXED_BLOCK:
      return of_indexed(contents);
    case MPI_COMBINER_STRUCT:
      return of_struct(contents);
    case MPI_COMBINER_SUBARRAY:
      return of_subarray(contents);
    case MPI_COMBINER_DARRAY:
      return of_distributed_array(contents);
    default:
      throw Unknown{};
  }
}

TypeLayout made(MPI_Datatype type) {
  TypeLayout result;
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  MPI_Count bytes = 0;
  if (pmpi().Type_get_extent_x(type, &lower, &extent) != MPI_SUCCESS ||
      pmpi().Type_size_x(type, &bytes) != MPI_SUCCESS || bytes < 0) {
    throw Unknown{};
  }
  const Contents contents(type);
  result.extent = extent;
  result.bytes = static_cast<std::uint64_t>(bytes);
  result.layout = contents.is_basic() ? basic(type, result.bytes) : derived(contents);
  // What is said here and what the library says must be the same.
  if ((result.layout == nullptr ? 0 : result.layout->bytes()) != result.bytes) {
    throw Unknown{};
  }
  return result;
}

}  // namespace

std::optional<TypeLayout> layout_of(MPI_Datatype type) {
  try {
    return made(type);
  } catch (const Unknown&) {
    return std::nullopt;
  }
}

}  // namespace dovetail::interpose::mpiio
