#include "statistics.hpp"

#include <algorithm>

namespace dovetail::tiom {

double median(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double spread(const std::vector<double>& values) {
  const double middle = median(values);
  if (values.size() < 2 || middle <= 0) {
    return 0;
  }
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return (*most - *least) / 2 / middle;
}

}  // namespace dovetail::tiom
