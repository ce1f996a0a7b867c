#include "routes/cables.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace flitwatch::routes {

namespace {

constexpr double kRounding = 1e-9;  // of a link's bytes: a smaller gain is none
constexpr int kMostMoves = 4096;    // of entries of one link after the first pass
constexpr int kMostForPairs =
    128;  // entries of a link among which exchanges are looked for: with more of them the first pass is nearly even

// The cables of one link.
class Link {
 public:
  Link(const Entries& all, int link, std::vector<std::int32_t>& cable)
      : all_(all),
        first_(all.first[link]),
        last_(all.first[link + 1]),
        cables_(all.cables[link]),
        cable_(cable),
        load_(cables_ * all.slots),
        count_(cables_) {}

  void share(std::span<const double> limit) {
    if (cables_ == 1) return std::fill(cable_.begin() + first_, cable_.begin() + last_, 0);
    if (holds_any()) {
      lay(true);
      if (within(limit)) return;
    }
    lay(false);
    improve();
  }

 private:
  const double* bytes(std::int64_t entry) const { return &all_.bytes[entry * all_.slots]; }

  double largest(std::int64_t entry) const { return *std::max_element(bytes(entry), bytes(entry) + all_.slots); }

  // The largest slot of a cable if the entry came to it.
  double with(int cable, std::int64_t entry) const {
    double most = 0;
    for (int t = 0; t < all_.slots; ++t) most = std::max(most, load_[cable * all_.slots + t] + bytes(entry)[t]);
    return most;
  }

  double busiest(int cable) const {
    return *std::max_element(&load_[cable * all_.slots], &load_[cable * all_.slots] + all_.slots);
  }

  void put(std::int64_t entry, int cable, int sign) {
    for (int t = 0; t < all_.slots; ++t) load_[cable * all_.slots + t] += sign * bytes(entry)[t];
    count_[cable] += sign;
    cable_[entry] = cable;
  }

  bool holds_any() const {
    return std::any_of(all_.held.begin() + first_, all_.held.begin() + last_,
                       [](std::int32_t cable) { return cable >= 0; });
  }

  bool within(std::span<const double> limit) const {
    for (int cable = 0; cable < cables_; ++cable)
      for (int t = 0; t < all_.slots; ++t)
        if (load_[cable * all_.slots + t] > limit[t] * (1 + kRounding)) return false;
    return true;
  }

  // The largest entry first, to the cable that then carries least; entries without bytes to the cable with the fewest
  // entries.
  void lay(bool keep) {
    std::fill(load_.begin(), load_.end(), 0.0);
    std::fill(count_.begin(), count_.end(), 0);
    order_.clear();
    for (std::int64_t entry = first_; entry < last_; ++entry) {
      const int held = all_.held[entry];
      if (keep && held >= 0 && held < cables_)
        put(entry, held, 1);
      else
        order_.push_back(entry);
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::int64_t a, std::int64_t b) { return largest(a) > largest(b); });
    for (const std::int64_t entry : order_) {
      int best = 0;
      for (int cable = 1; cable < cables_; ++cable) {
        const double now = with(cable, entry), then = with(best, entry);
        if (now < then || (now == then && count_[cable] < count_[best])) best = cable;
      }
      put(entry, best, 1);
    }
  }

  // Takes an entry off the busiest cable, or exchanges it for one of another cable, as long as that lowers the larger
  // of the two.
  void improve() {
    const double least = kRounding * std::accumulate(load_.begin(), load_.end(), 0.0);
    for (int moves = 0; moves < kMostMoves; ++moves) {
      int from = 0;
      for (int cable = 1; cable < cables_; ++cable)
        if (busiest(cable) > busiest(from)) from = cable;
      if (!relieve(from, least)) return;
    }
  }

  bool relieve(int from, double least) {
    const double now = busiest(from);
    double best = now - least;
    std::int64_t leaves = -1, comes = -1;
    int to = -1;
    for (std::int64_t one = first_; one < last_; ++one) {
      if (cable_[one] != from || largest(one) <= least) continue;
      for (int cable = 0; cable < cables_; ++cable) {
        if (cable == from) continue;
        const double after = std::max(with(cable, one), without(from, one));
        if (after < best) best = after, leaves = one, comes = -1, to = cable;
      }
      if (last_ - first_ > kMostForPairs) continue;
      for (std::int64_t other = first_; other < last_; ++other) {
        if (cable_[other] == from) continue;
        const double after = exchanged(from, one, other);
        if (after < best) best = after, leaves = one, comes = other, to = cable_[other];
      }
    }
    if (leaves < 0) return false;
    put(leaves, from, -1);
    put(leaves, to, 1);
    if (comes >= 0) {
      put(comes, to, -1);
      put(comes, from, 1);
    }
    return true;
  }

  double without(int cable, std::int64_t entry) const {
    double most = 0;
    for (int t = 0; t < all_.slots; ++t) most = std::max(most, load_[cable * all_.slots + t] - bytes(entry)[t]);
    return most;
  }

  double exchanged(int from, std::int64_t one, std::int64_t other) const {
    double most = 0;
    const int to = cable_[other];
    for (int t = 0; t < all_.slots; ++t) {
      const double d = bytes(other)[t] - bytes(one)[t];
      most = std::max({most, load_[from * all_.slots + t] + d, load_[to * all_.slots + t] - d});
    }
    return most;
  }

  const Entries& all_;
  const std::int64_t first_, last_;
  const int cables_;
  std::vector<std::int32_t>& cable_;
  std::vector<double> load_;
  std::vector<int> count_;
  std::vector<std::int64_t> order_;
};

}  // namespace

std::vector<std::int32_t> share_cables(const Entries& entries, std::span<const double> limit) {
  const std::size_t links = entries.cables.size(), number = entries.held.size();
  if (entries.first.size() != links + 1 || entries.bytes.size() != number * entries.slots ||
      limit.size() != static_cast<std::size_t>(entries.slots))
    throw std::invalid_argument("entries, cables, bytes and limits differ in length");
  if (entries.first.front() != 0 || entries.first.back() != static_cast<std::int64_t>(number) ||
      !std::is_sorted(entries.first.begin(), entries.first.end()))
    throw std::invalid_argument("the entries of the links must follow one another");
  if (std::any_of(entries.cables.begin(), entries.cables.end(), [](std::int32_t cables) { return cables < 1; }))
    throw std::invalid_argument("a link without a cable cannot have entries");
  std::vector<std::int32_t> cable(number, 0);
  for (std::size_t link = 0; link < links; ++link) Link(entries, static_cast<int>(link), cable).share(limit);
  return cable;
}

}  // namespace flitwatch::routes
