// Load to utilisation and waiting in one pass over the links.
#pragma once

#include <span>
#include <vector>

namespace flitwatch::fluid {

// scale x v^2 / (2 (1 - v)) with v = min(u, knee), and a straight line above the knee (see the twin's StallCurve for
// its source).
struct Curve {
  double scale, knee, slope_above_knee;
};

struct LinkState {
  std::vector<double> utilisation;  // offered load over capacity
  std::vector<double> wait;         // waiting over service time
  double highest = 0;               // utilisation of the most utilised link; 0 without links
};

// Throws std::invalid_argument if offered and capacity differ in length.
LinkState link_state(std::span<const double> offered, std::span<const double> capacity, const Curve& curve);

}  // namespace flitwatch::fluid
