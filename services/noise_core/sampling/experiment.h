// A sampling experiment over given paths: exact counts next to the estimates of both variants. The inner loop of the
// studies.
#pragma once

#include <cstdint>
#include <vector>

namespace flitwatch::sampling {

struct Flow {
  std::uint64_t packets;
  std::uint32_t set;                 // kind of path: index in `sets`
  std::vector<std::uint32_t> paths;  // indices in `paths`; each packet takes a random one
};

struct Experiment {
  std::uint32_t links = 0;
  std::vector<std::vector<std::uint32_t>> paths;  // links in the order in which a packet passes them
  std::vector<std::vector<std::uint32_t>> sets;   // links on the possible paths of a packet of a flow
  std::vector<Flow> flows;
  std::vector<float> congested_share;  // probability that a packet finds the link congested
  std::uint32_t downsampling = 1;      // one of this many packets carries a mark
  std::uint32_t g = 0;                 // 0: the default
  std::uint32_t id_bits = 16;
  std::uint64_t seed = 1;
};

struct Counts {
  std::vector<double> traffic, congested, tested;
};
struct ExperimentResult {
  Counts exact, standard, one_bit;
  std::uint64_t packets = 0, sampled = 0, tests = 0;
};

ExperimentResult run(const Experiment& experiment);

}  // namespace flitwatch::sampling
