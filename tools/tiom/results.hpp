/// @file
/// The results of a sweep on disk, safe against the end of the process at any instant.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "curves.hpp"
#include "options.hpp"
#include "settings.hpp"

namespace dovetail::tiom {

/// What a sweep was begun with: enough to go on with it.
struct SweepPlan {
  Settings settings;
  std::vector<Point> points;
  double noise = 0.01;
  unsigned confirm = 2;
  std::string curve_random = {};      ///< File of the curve, or empty.
  std::string curve_sequential = {};  ///< The same for sequential patterns.
};

/// One line of the results: a point measured, or why not.
struct PointResult {
  std::size_t index = 0;      ///< Of the point in the plan.
  bool confirmation = false;  ///< Measured again because the first time a variant was slower than the baseline.
  std::string error = {};     ///< Why there is no result; or empty.
  nlohmann::json data = {};   ///< What `measure_point` returned.
};

/// @throws std::invalid_argument if the folder `path` holds a sweep.
void refuse_used_folder(const std::string& path);

/// A folder with `points.jsonl` (the plan, then a line for each point, appended and flushed as they come) and `points.csv`
/// (the same as a table). One process at a time.
class ResultFolder {
 public:
  /// Begins a sweep in `path`, which is made if need be. @throws std::invalid_argument if it holds one already; IoError.
  static ResultFolder create(const std::string& path, const SweepPlan& plan);
  /// Opens a sweep that was begun. A line that was cut short by the end of its process is removed, the table is written anew.
  /// @throws std::invalid_argument if `path` holds no sweep or another process is at it; IoError.
  static ResultFolder open(const std::string& path);
  ResultFolder(ResultFolder&& other) noexcept;
  ResultFolder& operator=(ResultFolder&&) = delete;
  ~ResultFolder();

  /// Adds a result. When it returns, the result survives the end of the process and of the machine. @throws IoError.
  void add(const PointResult& result);
  /// What the sweep was begun with.
  const SweepPlan& plan() const noexcept { return plan_; }
  /// All results so far, in the order in which they came.
  const std::vector<PointResult>& results() const noexcept { return results_; }
  /// The path of a file in the folder.
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  /// The folder.
  const std::string& path() const noexcept { return path_; }

 private:
  ResultFolder(std::string path, int descriptor) noexcept : path_(std::move(path)), lines_(descriptor) {}
  void open_table();
  void add_to_table(const PointResult& result);

  std::string path_;
  int lines_ = -1;
  int table_ = -1;
  SweepPlan plan_;
  std::vector<PointResult> results_;
};

}  // namespace dovetail::tiom
