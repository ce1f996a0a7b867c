// Load to utilisation and waiting, one pass over the links.
#pragma once

#include <span>
#include <vector>

namespace flitwatch::fluid {

// scale x v^2 / (2 (1 - v)) with v = min(u, knee), and a straight line above the knee (StallCurve of the twin says
// where it comes from).
struct Curve {
  double scale, knee, slope_above_knee;
};

struct LinkState {
  std::vector<double> utilisation;  // offered over capacity
  std::vector<double> wait;         // waiting over service time
  double highest = 0;               // utilisation of the fullest link; 0 without links
};

// std::invalid_argument where offered and capacity differ in length.
LinkState link_state(std::span<const double> offered, std::span<const double> capacity, const Curve& curve);

}  // namespace flitwatch::fluid
