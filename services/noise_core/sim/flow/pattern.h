// Communication patterns: rounds of point-to-point messages between ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flitwatch::sim {

struct Message {
  std::uint32_t src, dst;  // ranks
  bool operator==(const Message&) const = default;
};

// A message of round k can be sent when its sender has received its messages of earlier rounds.
class Pattern {
 public:
  virtual ~Pattern() = default;
  virtual std::uint32_t ranks() const = 0;
  virtual std::uint32_t rounds() const = 0;
  // Returns the messages of one round. `scratch` stores them if the pattern does not.
  virtual std::span<const Message> round(std::uint32_t k, std::vector<Message>& scratch) const = 0;
  // Returns whether round k sends the same messages as round k - 1, so that their weights can be reused.
  virtual bool repeats(std::uint32_t k) const = 0;
  virtual std::uint32_t largest_round() const = 0;
  virtual std::uint64_t messages() const = 0;
};

// Names: binomial-bcast, binomial-reduce, recursive-doubling-allreduce, dissemination-barrier, ring,
// pairwise-alltoall, halo-2d, halo-3d, halo-27, sweep-3d, shift[:K], transpose, bit-reversal, permutation[:SEED].
// Grids are the most cubic factorisation of `ranks`; halos and sweeps do not wrap around.
// Throws std::invalid_argument for an unknown name or an unsuitable number of ranks.
std::unique_ptr<Pattern> make_pattern(std::string_view name, std::uint32_t ranks);
std::vector<std::string> pattern_names();

// Rounds given message by message: round k holds messages [first[k], first[k + 1]).
// Throws std::invalid_argument if offsets do not ascend, a rank is out of range, or a rank sends a message to itself.
std::unique_ptr<Pattern> explicit_pattern(std::uint32_t ranks, std::vector<Message> messages,
                                          std::vector<std::uint64_t> first);

// Returns n as `dimensions` factors in descending order, with the smallest possible largest factor.
std::vector<std::uint32_t> most_cubic(std::uint32_t n, std::uint32_t dimensions);

}  // namespace flitwatch::sim
