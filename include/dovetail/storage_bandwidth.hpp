/// @file
/// How much of its device's bandwidth a task is admitted with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace dovetail {

/// The storage bandwidth constraint of a task (I/O-aware PyCOMPSs, docs/papers.md, sections 3.2 and 3.3). A task starts when its
/// constraint, added to those of the tasks that run on the device, does not exceed the device's bandwidth. A higher constraint therefore
/// means fewer tasks at once. A plain value; MB are 10^6 bytes.
///
///     rt.spawn({.label = "checkpoint", .io = true, .storage_bw = 20}, body);
///     rt.spawn({.label = "checkpoint", .io = true, .storage_bw = "auto(2,256,2)", .device = "/scratch"}, body);
class StorageBandwidth {
 public:
  /// The kinds of constraint.
  enum class Kind : std::uint8_t {
    none,       ///< Not constrained (section 5.2: the non-constrained run).
    fixed,      ///< A number of MB/s (section 4.2.2).
    automatic,  ///< `auto`: unbounded, inferred in a learning phase (sections 3.3 and 4.2.3).
    bounded,    ///< `auto(min,max,delta)`: learned between two bounds (sections 3.3 and 4.2.3).
    adaptive,   ///< `adaptive`: tuned all the time. Dovetail's own; see docs/admission.md.
  };

  constexpr StorageBandwidth() noexcept = default;
  /// A number of MB/s. @throws std::invalid_argument unless it is finite and greater than 0.
  template <class Number>
    requires std::is_arithmetic_v<Number>
  StorageBandwidth(Number mb_per_second) : StorageBandwidth(fixed(static_cast<double>(mb_per_second))) {}
  /// As `parse`.
  template <class Text>
    requires(std::is_convertible_v<const Text&, std::string_view> && !std::is_arithmetic_v<Text>)
  StorageBandwidth(const Text& text) : StorageBandwidth(parse(text)) {}

  /// A number of MB/s. @throws std::invalid_argument unless it is finite and greater than 0.
  static StorageBandwidth fixed(double mb_per_second);
  /// `auto`.
  static StorageBandwidth automatic() noexcept { return {Kind::automatic, 0, 0, 0}; }
  /// `auto(min,max,delta)`: learning starts at `min` MB/s and multiplies by `delta` up to `max` MB/s.
  /// @throws std::invalid_argument unless 0 < min <= max and delta > 1, all of them finite.
  static StorageBandwidth automatic(double minimum, double maximum, double delta);
  /// `adaptive`.
  static StorageBandwidth adaptive() noexcept { return {Kind::adaptive, 0, 0, 0}; }
  /// From text: `none` (or nothing), a number, `auto`, `auto(min,max,delta)`, `adaptive`. Spaces do not matter.
  /// @throws std::invalid_argument saying what is wrong with it.
  static StorageBandwidth parse(std::string_view text);

  Kind kind() const noexcept { return kind_; }                       ///< Which of them it is.
  bool constrained() const noexcept { return kind_ != Kind::none; }  ///< Whether it is any.
  double mb_per_second() const noexcept { return first_; }           ///< Of `fixed`.
  double minimum() const noexcept { return first_; }                 ///< Of `bounded`, in MB/s.
  double maximum() const noexcept { return maximum_; }               ///< Of `bounded`, in MB/s.
  double delta() const noexcept { return delta_; }                   ///< Of `bounded`, a factor.
  /// As text that `parse` understands.
  std::string text() const;
  friend bool operator==(const StorageBandwidth&, const StorageBandwidth&) noexcept = default;

 private:
  constexpr StorageBandwidth(Kind kind, double first, double maximum, double delta) noexcept
      : first_(first), maximum_(maximum), delta_(delta), kind_(kind) {}

  double first_ = 0;
  double maximum_ = 0;
  double delta_ = 0;
  Kind kind_ = Kind::none;
};

}  // namespace dovetail
