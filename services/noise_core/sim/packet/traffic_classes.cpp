#include "sim/packet/traffic_classes.h"

#include <string>

namespace flitwatch::sim::packet {

void check_classes(const ClassOptions& options, std::uint32_t jobs) {
  if (options.classes.size() > kMaxClasses)
    throw std::invalid_argument("there are at most " + std::to_string(kMaxClasses) + " traffic classes");
  double sum = 0;
  for (const TrafficClass& one : options.classes) {
    if (!(one.minimum >= 0 && one.minimum <= one.maximum && one.maximum > 0 && one.maximum <= 1))
      throw std::invalid_argument("a traffic class's minimum lies between 0 and its maximum, the maximum at most at 1");
    sum += one.minimum;
  }
  if (sum > 1 + 1e-9) throw std::invalid_argument("the minima of the traffic classes add up to more than 1");
  if (options.of_job.size() != jobs) throw std::invalid_argument("every job needs a traffic class");
  for (std::uint8_t k : options.of_job)
    if (k >= options.classes.size()) throw std::invalid_argument("a job's traffic class does not exist");
}

}  // namespace flitwatch::sim::packet
