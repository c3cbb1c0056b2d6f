#include "limit.hpp"

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>

#include "failure.hpp"

namespace nb = nanobind;

namespace dovetail::python {

Limit::Limit(std::size_t most) : most_(most), free_(most) {
  if (most == 0) {
    throw std::invalid_argument("a limit must be at least 1: with 0 no task could ever run");
  }
}

void Limit::enter(std::function<void()> placed) {
  {
    const base::LockGuard lock(mutex_);
    if (free_ == 0) {
      waiting_.push_back(std::move(placed));
      return;
    }
    --free_;
  }
  placed();
}

void Limit::leave() noexcept {
  std::function<void()> next;
  {
    const base::LockGuard lock(mutex_);
    if (waiting_.empty()) {
      ++free_;
      return;
    }
    next = std::move(waiting_.front());
    waiting_.pop_front();
  }
  next();
}

namespace {

struct SharedLimit {
  std::shared_ptr<Limit> limit;
};

}  // namespace

std::shared_ptr<Limit> shared_limit(nb::handle object) {
  return object.is_none() ? nullptr : nb::cast<SharedLimit&>(object).limit;
}

void bind_limit(nb::module_& module) {
  nb::class_<SharedLimit>(module, "Limit", "At most so many tasks run at once, of all that have it as an option.")
      .def(
          "__init__",
          [](SharedLimit* self, std::int64_t most) {
            translated([&] {
              auto limit = std::make_shared<Limit>(most < 0 ? 0 : static_cast<std::size_t>(most));
              new (self) SharedLimit{std::move(limit)};
            });
          },
          nb::arg("most"))
      .def_prop_ro("most", [](const SharedLimit& self) { return self.limit->most(); }, "How many tasks run at once.");
}

}  // namespace dovetail::python
