#include "sim/fluid/link_state.h"

#include <algorithm>
#include <stdexcept>

namespace flitwatch::fluid {

LinkState link_state(std::span<const double> offered, std::span<const double> capacity, const Curve& curve) {
  if (offered.size() != capacity.size()) throw std::invalid_argument("loads and capacities differ in length");
  const std::size_t count = offered.size();
  LinkState state{std::vector<double>(count), std::vector<double>(count), 0};
  double* const utilisation = state.utilisation.data();
  double* const wait = state.wait.data();
  const auto [scale, knee, slope] = curve;
  for (std::size_t l = 0; l < count; ++l) {
    const double u = offered[l] / capacity[l];
    const double held = u < knee ? u : knee;
    const double above = u > knee ? u - knee : 0.0;
    utilisation[l] = u;
    wait[l] = scale * held * held / (2 * (1 - held)) + slope * above;
  }
  for (std::size_t l = 0; l < count; ++l) state.highest = std::max(state.highest, utilisation[l]);
  return state;
}

}  // namespace flitwatch::fluid
