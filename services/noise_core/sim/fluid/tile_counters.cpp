#include "sim/fluid/tile_counters.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

namespace flitwatch::fluid {

namespace {

constexpr std::size_t kNetworkRows = 3, kProcessorRows = 7, kNicRows = 6;

void require(bool holds, const char* otherwise) {
  if (!holds) throw std::invalid_argument(otherwise);
}

void require_below(const std::vector<std::int64_t>& values, std::size_t end, const char* otherwise) {
  for (const std::int64_t v : values) require(v >= 0 && static_cast<std::size_t>(v) < end, otherwise);
}

}  // namespace

TileCounters::TileCounters(std::size_t links, std::size_t routers, std::size_t network_tiles,
                           std::size_t processor_tiles, CounterMap map, CounterScale scale)
    : links_(links),
      routers_(routers),
      network_tiles_(network_tiles * routers),
      processor_tiles_(processor_tiles * routers),
      map_(std::move(map)),
      scale_(scale),
      sent_(routers),
      waited_(routers) {
  const std::size_t ends = map_.inject.size();
  require(map_.wire.size() == map_.tile.size(), "wires and tiles differ in length");
  require(map_.eject.size() == ends && map_.home.size() == ends && map_.slot.size() == ends,
          "arrays of the endpoints differ in length");
  require(map_.out_first.size() == routers + 1 && std::is_sorted(map_.out_first.begin(), map_.out_first.end()) &&
              map_.out_first.front() == 0 && map_.out_first.back() == static_cast<std::int64_t>(map_.out.size()),
          "out_first does not divide the leaving links among the routers");
  for (const auto* link : {&map_.wire, &map_.out, &map_.inject, &map_.eject})
    require_below(*link, links, "a link is outside the fabric");
  require_below(map_.tile, network_tiles_, "a network tile lies outside the fabric");
  require_below(map_.home, routers, "a router lies outside the fabric");
  for (const std::int64_t s : map_.slot)
    require(s >= 0 && static_cast<std::size_t>(s) + 1 < processor_tiles_, "a processor tile lies outside the fabric");
  pair_cables();
}

void TileCounters::pair_cables() {
  const std::size_t tiles_a_router = network_tiles_ / std::max<std::size_t>(routers_, 1);
  std::vector<std::size_t> from(links_, routers_);  // the router that a link leaves; none: the last
  for (std::size_t r = 0; r < routers_; ++r)
    for (auto i = static_cast<std::size_t>(map_.out_first[r]); i < static_cast<std::size_t>(map_.out_first[r + 1]); ++i)
      from[static_cast<std::size_t>(map_.out[i])] = r;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> bundles;
  std::vector<std::pair<std::size_t, std::size_t>> ends;
  for (std::size_t i = 0; i < map_.wire.size(); ++i) {
    ends.emplace_back(from[static_cast<std::size_t>(map_.wire[i])],
                      static_cast<std::size_t>(map_.tile[i]) / tiles_a_router);
    bundle_.push_back(bundles.try_emplace(ends.back(), bundles.size()).first->second);
  }
  for (const auto& [src, dst] : ends) {
    const auto back = bundles.find({dst, src});
    back_.push_back(back == bundles.end() ? bundles.size() : back->second);
  }
  bundle_sent_.resize(bundles.size() + 1);
  bundle_waited_.resize(bundles.size() + 1);
}

void TileCounters::check(const Carried& c, const CounterRows& rows) const {
  require(c.bytes.size() == links_ && c.utilisation.size() == links_ && c.wait.size() == links_,
          "the state is not one of this fabric's links");
  require(c.noise.size() == routers_, "the noise is not one a router");
  require(rows.network.size() == kNetworkRows * network_tiles_ &&
              rows.processor.size() == kProcessorRows * processor_tiles_ &&
              rows.nic.size() == kNicRows * map_.inject.size(),
          "the counters' arrays are not those of this fabric");
}

void TileCounters::update(const Carried& carried, const CounterRows& rows) {
  check(carried, rows);
  wait_ahead(carried);
  network(carried, rows.network.data());
  processor(carried, rows.processor.data(), rows.nic.data());
}

void TileCounters::wait_ahead(const Carried& c) {
  for (std::size_t r = 0; r < routers_; ++r) {
    double sent = 0, waited = 0;
    for (auto i = static_cast<std::size_t>(map_.out_first[r]); i < static_cast<std::size_t>(map_.out_first[r + 1]);
         ++i) {
      const std::int64_t l = map_.out[i];
      const double flits = c.bytes[l] * scale_.flits_per_byte;
      sent += flits;
      waited += flits * c.wait[l];
    }
    sent_[r] = sent;
    waited_[r] = waited;
  }
  std::ranges::fill(bundle_sent_, 0.0);
  std::ranges::fill(bundle_waited_, 0.0);
  for (std::size_t i = 0; i < map_.wire.size(); ++i) {
    const double flits = c.bytes[map_.wire[i]] * scale_.flits_per_byte;
    bundle_sent_[bundle_[i]] += flits;
    bundle_waited_[bundle_[i]] += flits * c.wait[map_.wire[i]];
  }
}

// A flit waits in the input buffer at its link's far end for the links that it goes on to, as `stall_fit` fits it, and
// never straight back: a full link stalls what leads to it. 2X cycles are both row buses busy at once.
void TileCounters::network(const Carried& c, double* rows) const {
  double* const flits = rows;
  double* const stalls = rows + network_tiles_;
  double* const twice = rows + 2 * network_tiles_;
  const double clock = 0.25 * scale_.clock_hz * c.dt_s;
  const std::size_t tiles_a_router = network_tiles_ / std::max<std::size_t>(routers_, 1);
  std::size_t router = routers_, first = 1, last = 0;  // of the tile before: none
  double per_wait = 0;
  for (std::size_t i = 0; i < map_.wire.size(); ++i) {
    const std::int64_t l = map_.wire[i];
    const auto t = static_cast<std::size_t>(map_.tile[i]);
    if (t < first || t >= last) {
      router = t / tiles_a_router;
      first = router * tiles_a_router;
      last = first + tiles_a_router;
      per_wait = c.noise[router] * scale_.cycles_per_wait;
    }
    const double came = c.bytes[l] * scale_.flits_per_byte;
    const double busy = std::min(c.utilisation[l], 1.0);
    flits[t] += came;
    const double onward = sent_[router] - bundle_sent_[back_[i]];
    const double waited = waited_[router] - bundle_waited_[back_[i]];
    stalls[t] += came * per_wait * std::max(waited, 0.0) / std::max(onward, 1.0);
    twice[t] += clock * busy * busy;
  }
}

void TileCounters::processor(const Carried& c, double* rows, double* nic) const {
  const std::size_t ends = map_.inject.size();
  const double clock = 0.25 * scale_.clock_hz * c.dt_s;
  for (std::size_t e = 0; e < ends; ++e) {
    const std::int64_t in = map_.inject[e], out = map_.eject[e], router = map_.home[e];
    const double per_wait = scale_.cycles_per_wait * c.noise[router];
    const double ahead = waited_[router] / std::max(sent_[router], 1.0);
    const double sent = c.bytes[in] * scale_.flits_per_byte, received = c.bytes[out] * scale_.flits_per_byte,
                 answers = 0.25 * received;
    const double held = c.wait[in] + ahead, blocked = c.wait[out] * per_wait, stalled = sent * held * per_wait;
    const double busy = std::min(c.utilisation[in], 1.0);
    const double amounts[kProcessorRows] = {sent,
                                            answers,
                                            stalled,
                                            answers * ahead * per_wait,
                                            clock * busy * busy,
                                            received * blocked,
                                            0.25 * sent * blocked};
    double* tile = rows + map_.slot[e];
    for (const double amount : amounts) {  // an endpoint's two processor tiles share its traffic
      tile[0] += amount / 2;
      tile[1] += amount / 2;
      tile += processor_tiles_;
    }
    const double packets = sent / scale_.flits_per_packet;
    const double counted[kNicRows] = {packets,     sent,         stalled,
                                      c.bytes[in], c.bytes[out], packets * scale_.alone_latency_us * (1 + held)};
    for (std::size_t k = 0; k < kNicRows; ++k) nic[k * ends + e] += counted[k];
  }
}

}  // namespace flitwatch::fluid
