#include "exchange.hpp"

#include <algorithm>
#include <array>

namespace refinement {

Exchange::Exchange(const Tree& tree, const Shares& shares, int rank) {
  const std::size_t first = shares.first(rank);
  const std::size_t count = shares.count(rank);
  sources_.resize(count);
  arrivals_of_.resize(count);
  departures_of_.resize(count);
  std::vector<std::uint32_t> others;  // blocks of other ranks that are beside this rank's
  std::vector<int> numbers(static_cast<std::size_t>(shares.ranks()), 0);
  for (std::size_t block = 0; block < count; ++block) {
    for (const Face& face : faces_of(tree, first + block)) {
      const int owner = shares.owner(face.from);
      if (owner == rank) {
        sources_[block].push_back({face, true, face.from - first});
        continue;
      }
      others.push_back(face.from);
      sources_[block].push_back({face, false, arrivals_.size()});
      arrivals_of_[block].push_back(arrivals_.size());
      arrivals_.push_back({face, owner, numbers[static_cast<std::size_t>(owner)]++, block});
    }
  }
  // What those blocks get from here, in the order in which their rank finds it.
  std::ranges::sort(others);
  const auto repeated = std::ranges::unique(others);
  others.erase(repeated.begin(), repeated.end());
  std::ranges::fill(numbers, 0);
  for (const std::uint32_t other : others) {
    for (const Face& face : faces_of(tree, other)) {
      if (shares.owner(face.from) == rank) {
        const int owner = shares.owner(other);
        const std::size_t block = face.from - first;
        departures_of_[block].push_back(departures_.size());
        departures_.push_back({face, owner, numbers[static_cast<std::size_t>(owner)]++, block});
      }
    }
  }
}

int Exchange::highest_tag() const noexcept {
  int highest = -1;
  for (const auto* const messages : {&arrivals_, &departures_}) {
    for (const FaceMessage& message : *messages) {
      highest = std::max(highest, message.tag(1));
    }
  }
  return highest;
}

FaceBuffers::FaceBuffers(std::span<const FaceMessage> messages, const Shape& shape) : FaceBuffers(messages, shape, {}) {
  own_.resize(begins_.back());
  memory_ = own_;
}

FaceBuffers::FaceBuffers(std::span<const FaceMessage> messages, const Shape& shape, std::span<double> memory)
    : memory_(memory), begins_{0} {
  for (const FaceMessage& message : messages) {
    begins_.push_back(begins_.back() + 2 * message.face.values(shape));
  }
}

std::size_t FaceBuffers::values(std::span<const FaceMessage> messages, const Shape& shape) noexcept {
  std::size_t sum = 0;
  for (const FaceMessage& message : messages) {
    sum += 2 * message.face.values(shape);
  }
  return sum;
}

void pack(Field& field, const FaceMessage& departure, int stage, std::span<double> message) noexcept {
  const Shape& shape = field.shape();
  const std::span<const double> values = field.before(stage, departure.block);
  const std::size_t cells = departure.face.cells(shape);
  for (std::size_t variable = 0; variable < shape.variables; ++variable) {
    take_face(departure.face, variable_of(values, shape, variable), shape, message.subspan(variable * cells, cells));
  }
}

void update(Field& field, const Exchange& exchange, const FaceBuffers& arrived, int stage, std::size_t block) noexcept {
  const Shape& shape = field.shape();
  const std::span<const double> before = field.before(stage, block);
  const std::span<double> after = field.after(stage, block);
  Surroundings surroundings;
  std::array<double, Shape::longest_edge * Shape::longest_edge> taken;
  for (std::size_t variable = 0; variable < shape.variables; ++variable) {
    const std::span<const double> cells = variable_of(before, shape, variable);
    std::array<bool, all_sides.size()> is_inside{};
    for (const Exchange::Source& source : exchange.sources(block)) {
      const Face& face = source.face;
      const std::size_t count = face.cells(shape);
      std::span<const double> message;
      if (source.is_here) {
        const std::span<const double> there = field.before(stage, source.place);
        take_face(face, variable_of(there, shape, variable), shape, taken);
        message = std::span<const double>(taken).first(count);
      } else {
        message = arrived.at(stage, source.place).subspan(variable * count, count);
      }
      put_face(face, message, shape, surroundings.beyond(face.side, shape));
      is_inside[static_cast<std::size_t>(face.side)] = true;
    }
    for (const Side side : all_sides) {
      if (!is_inside[static_cast<std::size_t>(side)]) {
        put_border(side, cells, shape, surroundings.beyond(side, shape));
      }
    }
    average(cells, surroundings, shape, variable_of(after, shape, variable));
  }
}

std::vector<dovetail::Access> accesses_of_update(Field& field, const Exchange& exchange, int stage, std::size_t block) {
  std::vector<dovetail::Access> list{dovetail::in(field.before(stage, block)),
                                     dovetail::out(field.after(stage, block))};
  for (const Exchange::Source& source : exchange.sources(block)) {
    if (source.is_here) {
      list.push_back(dovetail::in(field.before(stage, source.place)));
    }
  }
  return list;
}

}  // namespace refinement
