#include "sim/flow/pattern.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "sim/flow/random.h"

namespace flitwatch::sim {
namespace {

class StoredPattern final : public Pattern {
 public:
  StoredPattern(std::uint32_t ranks, std::vector<Message> messages, std::vector<std::uint64_t> first)
      : ranks_(ranks), messages_(std::move(messages)), first_(std::move(first)) {
    for (std::uint32_t k = 0; k < rounds(); ++k)
      largest_ = std::max(largest_, static_cast<std::uint32_t>(first_[k + 1] - first_[k]));
  }
  std::uint32_t ranks() const override { return ranks_; }
  std::uint32_t rounds() const override { return static_cast<std::uint32_t>(first_.size() - 1); }
  std::span<const Message> round(std::uint32_t k, std::vector<Message>&) const override {
    return {messages_.data() + first_[k], messages_.data() + first_[k + 1]};
  }
  bool repeats(std::uint32_t k) const override {
    std::vector<Message> none;
    return k > 0 && std::ranges::equal(round(k, none), round(k - 1, none));
  }
  std::uint32_t largest_round() const override { return largest_; }
  std::uint64_t messages() const override { return messages_.size(); }

 private:
  std::uint32_t ranks_, largest_ = 0;
  std::vector<Message> messages_;
  std::vector<std::uint64_t> first_;
};

// Every rank sends in every round, to a peer that a formula gives: too many messages to store.
class RotatingPattern final : public Pattern {
 public:
  RotatingPattern(std::uint32_t ranks, bool same_peer) : ranks_(ranks), same_peer_(same_peer) {}
  std::uint32_t ranks() const override { return ranks_; }
  std::uint32_t rounds() const override { return ranks_ - 1; }
  std::span<const Message> round(std::uint32_t k, std::vector<Message>& scratch) const override {
    const std::uint32_t step = same_peer_ ? 1 : k + 1;
    scratch.resize(ranks_);
    for (std::uint32_t r = 0; r < ranks_; ++r) scratch[r] = {r, r + step < ranks_ ? r + step : r + step - ranks_};
    return scratch;
  }
  bool repeats(std::uint32_t k) const override { return same_peer_ && k > 0; }
  std::uint32_t largest_round() const override { return ranks_; }
  std::uint64_t messages() const override { return std::uint64_t{ranks_} * (ranks_ - 1); }

 private:
  std::uint32_t ranks_;
  bool same_peer_;
};

class Rounds {
 public:
  explicit Rounds(std::uint32_t ranks) : ranks_(ranks) {}
  void send(std::uint32_t src, std::uint32_t dst) { messages_.push_back({src, dst}); }
  void end_round() {
    if (first_.back() < messages_.size()) first_.push_back(messages_.size());
  }
  std::unique_ptr<Pattern> done() {
    end_round();
    return std::make_unique<StoredPattern>(ranks_, std::move(messages_), std::move(first_));
  }

 private:
  std::uint32_t ranks_;
  std::vector<Message> messages_;
  std::vector<std::uint64_t> first_{0};
};

using Maker = std::function<std::unique_ptr<Pattern>(std::uint32_t ranks, std::uint32_t argument)>;

std::unique_ptr<Pattern> binomial_bcast(std::uint32_t n, std::uint32_t) {
  Rounds rounds(n);
  for (std::uint64_t distance = 1; distance < n; distance *= 2, rounds.end_round())
    for (std::uint32_t r = 0; r < distance && r + distance < n; ++r)
      rounds.send(r, r + static_cast<std::uint32_t>(distance));
  return rounds.done();
}

std::unique_ptr<Pattern> binomial_reduce(std::uint32_t n, std::uint32_t) {
  Rounds rounds(n);
  for (std::uint64_t distance = std::bit_ceil(std::uint64_t{n}) / 2; distance > 0; distance /= 2, rounds.end_round())
    for (std::uint32_t r = 0; r < distance && r + distance < n; ++r)
      rounds.send(r + static_cast<std::uint32_t>(distance), r);
  return rounds.done();
}

// Ranks beyond the largest power of two fold onto a partner first and get the result from it at the end.
std::unique_ptr<Pattern> recursive_doubling(std::uint32_t n, std::uint32_t) {
  const std::uint32_t power = std::bit_floor(n);
  Rounds rounds(n);
  for (std::uint32_t r = power; r < n; ++r) rounds.send(r, r - power);
  rounds.end_round();
  for (std::uint32_t distance = 1; distance < power; distance *= 2, rounds.end_round())
    for (std::uint32_t r = 0; r < power; ++r) rounds.send(r, r ^ distance);
  for (std::uint32_t r = power; r < n; ++r) rounds.send(r - power, r);
  return rounds.done();
}

std::unique_ptr<Pattern> dissemination(std::uint32_t n, std::uint32_t) {
  Rounds rounds(n);
  for (std::uint64_t distance = 1; distance < n; distance *= 2, rounds.end_round())
    for (std::uint32_t r = 0; r < n; ++r) rounds.send(r, static_cast<std::uint32_t>((r + distance) % n));
  return rounds.done();
}

// Halo exchange on a grid: all neighbours at most one step away in each dimension, or only those along an axis.
std::unique_ptr<Pattern> halo(std::uint32_t n, std::uint32_t dimensions, bool corners) {
  auto grid = most_cubic(n, dimensions);
  grid.resize(3, 1);
  const auto inside = [&](int d, std::int64_t x) { return x >= 0 && x < grid[d]; };
  Rounds rounds(n);
  for (std::uint32_t r = 0; r < n; ++r) {
    const std::int64_t x = r % grid[0], y = r / grid[0] % grid[1], z = r / grid[0] / grid[1];
    for (int dz = -1; dz <= 1; ++dz)
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          const int steps = dx * dx + dy * dy + dz * dz;
          if (steps == 0 || (!corners && steps > 1)) continue;
          if (!inside(0, x + dx) || !inside(1, y + dy) || !inside(2, z + dz)) continue;
          rounds.send(r, static_cast<std::uint32_t>(x + dx + grid[0] * (y + dy + grid[1] * (z + dz))));
        }
  }
  return rounds.done();
}

// A wavefront over a 2D decomposition: rank (i, j) sends right and down once it has what comes from left and above.
std::unique_ptr<Pattern> sweep(std::uint32_t n, std::uint32_t) {
  const auto grid = most_cubic(n, 2);
  Rounds rounds(n);
  for (std::uint32_t diagonal = 0; diagonal + 1 < grid[0] + grid[1]; ++diagonal, rounds.end_round())
    for (std::uint32_t j = 0; j < grid[1] && j <= diagonal; ++j) {
      const std::uint32_t i = diagonal - j;
      if (i >= grid[0]) continue;
      if (i + 1 < grid[0]) rounds.send(j * grid[0] + i, j * grid[0] + i + 1);
      if (j + 1 < grid[1]) rounds.send(j * grid[0] + i, (j + 1) * grid[0] + i);
    }
  return rounds.done();
}

std::unique_ptr<Pattern> one_round(std::uint32_t n, const std::function<std::uint32_t(std::uint32_t)>& peer) {
  Rounds rounds(n);
  for (std::uint32_t r = 0; r < n; ++r)
    if (peer(r) != r) rounds.send(r, peer(r));
  return rounds.done();
}

std::unique_ptr<Pattern> transpose(std::uint32_t n, std::uint32_t) {
  const auto grid = most_cubic(n, 2);
  return one_round(n, [&](std::uint32_t r) { return r % grid[0] * grid[1] + r / grid[0]; });
}

std::unique_ptr<Pattern> bit_reversal(std::uint32_t n, std::uint32_t) {
  if (!std::has_single_bit(n))
    throw std::invalid_argument("bit-reversal needs a number of ranks that is a power of two");
  return one_round(n, [n](std::uint32_t r) {
    std::uint32_t reversed = 0;
    for (std::uint32_t bit = 1; bit < n; bit *= 2, r /= 2) reversed = 2 * reversed + r % 2;
    return reversed;
  });
}

std::unique_ptr<Pattern> permutation(std::uint32_t n, std::uint32_t seed) {
  std::vector<std::uint32_t> peers(n);
  std::iota(peers.begin(), peers.end(), 0u);
  Random random(seed, 0);
  shuffle(peers, random);
  return one_round(n, [&](std::uint32_t r) { return peers[r]; });
}

struct Entry {
  std::string_view name;
  bool takes_argument;
  Maker make;
};

const std::vector<Entry>& table() {
  static const std::vector<Entry> entries{
      {"binomial-bcast", false, binomial_bcast},
      {"binomial-reduce", false, binomial_reduce},
      {"recursive-doubling-allreduce", false, recursive_doubling},
      {"dissemination-barrier", false, dissemination},
      {"ring", false, [](std::uint32_t n, std::uint32_t) { return std::make_unique<RotatingPattern>(n, true); }},
      {"pairwise-alltoall", false,
       [](std::uint32_t n, std::uint32_t) { return std::make_unique<RotatingPattern>(n, false); }},
      {"halo-2d", false, [](std::uint32_t n, std::uint32_t) { return halo(n, 2, false); }},
      {"halo-3d", false, [](std::uint32_t n, std::uint32_t) { return halo(n, 3, false); }},
      {"halo-27", false, [](std::uint32_t n, std::uint32_t) { return halo(n, 3, true); }},
      {"sweep-3d", false, sweep},
      {"shift", true,
       [](std::uint32_t n, std::uint32_t by) {
         return one_round(n, [=](std::uint32_t r) { return static_cast<std::uint32_t>((std::uint64_t{r} + by) % n); });
       }},
      {"transpose", false, transpose},
      {"bit-reversal", false, bit_reversal},
      {"permutation", true, permutation},
  };
  return entries;
}

}  // namespace

std::unique_ptr<Pattern> make_pattern(std::string_view name, std::uint32_t ranks) {
  if (ranks < 2) throw std::invalid_argument("a pattern needs at least 2 ranks");
  const std::size_t colon = name.find(':');
  const std::string_view base = name.substr(0, colon);
  const auto entry = std::ranges::find(table(), base, &Entry::name);
  if (entry == table().end()) throw std::invalid_argument("unknown pattern '" + std::string(name) + "'");
  std::uint32_t argument = 1;
  if (colon != std::string_view::npos) {
    const std::string_view text = name.substr(colon + 1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), argument);
    if (!entry->takes_argument || error != std::errc{} || end != text.data() + text.size())
      throw std::invalid_argument("pattern '" + std::string(name) + "': '" + std::string(text) +
                                  "' is no argument of it");
  }
  auto pattern = entry->make(ranks, argument);
  if (pattern->rounds() == 0) throw std::invalid_argument("pattern '" + std::string(name) + "' sends no message");
  return pattern;
}

std::vector<std::string> pattern_names() {
  std::vector<std::string> names;
  for (const Entry& entry : table()) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<Pattern> explicit_pattern(std::uint32_t ranks, std::vector<Message> messages,
                                          std::vector<std::uint64_t> first) {
  if (first.empty() || first.front() != 0 || first.back() != messages.size() || !std::ranges::is_sorted(first))
    throw std::invalid_argument("round offsets must ascend from 0 to the number of messages");
  for (const Message& m : messages)
    if (m.src >= ranks || m.dst >= ranks || m.src == m.dst)
      throw std::invalid_argument("a message names a rank that does not exist, or its own sender");
  return std::make_unique<StoredPattern>(ranks, std::move(messages), std::move(first));
}

std::vector<std::uint32_t> most_cubic(std::uint32_t n, std::uint32_t dimensions) {
  if (dimensions <= 1) return {n};
  std::vector<std::uint32_t> best;
  for (std::uint32_t last = 1; std::uint64_t{last} * last <= n; ++last) {
    if (n % last != 0) continue;
    auto factors = most_cubic(n / last, dimensions - 1);
    factors.push_back(last);
    if (best.empty() || *std::ranges::max_element(factors) <= *std::ranges::max_element(best)) best = factors;
  }
  std::ranges::sort(best, std::greater{});
  return best;
}

}  // namespace flitwatch::sim
