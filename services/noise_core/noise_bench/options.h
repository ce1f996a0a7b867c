#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace flitwatch::bench {

struct Options {
  std::vector<double> ratios{0.25, 0.5, 0.75};  // number of perturbing processes divided by all processes
  int splits = 16;                              // random splits of the world per ratio
  int repetitions = 8;                          // timed operations per split, perturbed and quiet
  std::string collective = "allreduce";         // allreduce, reduce, bcast or barrier
  std::size_t collective_bytes = 8;
  std::size_t perturbation_bytes = 10u << 20;
  std::uint64_t seed = 1;
  double window_s = 0.05;  // from the announcement of a start to the start
  std::string network = "unnamed";
};

// Throws std::invalid_argument with advice.
Options parse_options(int argc, char** argv);
std::string usage();

}  // namespace flitwatch::bench
