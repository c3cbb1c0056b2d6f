#include "sweeps.hpp"

#include <chrono>

namespace heat {

Sweeps::Sweeps(Field& field, Meter& meter, Progress& progress, std::uint64_t updates)
    : field_(field), meter_(meter), progress_(progress), left_(updates), begun_(Meter::Clock::now()), ended_(begun_) {}

void Sweeps::update(const Block& block, const Beside& beside) {
  {
    const ComputeScope scope(meter_);
    update_block(field_, block, beside);
  }
  progress_.add();
  if (left_.fetch_sub(1, std::memory_order_relaxed) == 1) {
    ended_ = Meter::Clock::now();
  }
}

std::span<double> Sweeps::first_row(const Block& block) const noexcept { return {field_.cells(block), block.columns}; }

std::span<double> Sweeps::last_row(const Block& block) const noexcept {
  return {field_.cells(block) + (block.rows - 1) * block.columns, block.columns};
}

double Sweeps::seconds() const noexcept { return std::chrono::duration<double>(ended_ - begun_).count(); }

}  // namespace heat
