// What a segment comes to, and the sums and gaps it adds to.
#include <algorithm>
#include <cmath>
#include <optional>

#include "codec/deltas.h"
#include "codec/engine.h"

namespace flitwatch::codec {

namespace {

// What counts come to in the unit of their column. A time becomes the data that could have been sent at `rate`; nothing
// where the rate is unknown. The same counts always come to the same amount, so that they can be taken back.
std::optional<std::int64_t> amount_of(const Cell& cell, std::int64_t counts, std::int32_t scale, double rate) {
  if (cell.stall_ns == 0) return counts * scale;
  const double amount = static_cast<double>(counts) * cell.stall_ns * rate;
  if (!(std::abs(amount) < static_cast<double>(kPlausible))) return std::nullopt;
  return std::llround(amount);
}

}  // namespace

std::int64_t Engine::limit_us(const Instance& in, int i) const {
  const std::int64_t usual = in.history.usual_interval_us(i);
  return usual == 0 ? limits_.first_gap_us : std::max(limits_.least_gap_us, limits_.usual_intervals * usual);
}

void Engine::classify_segment(Instance& in, std::uint32_t index, int i) {
  if (!in.ordered) return;
  History& h = in.history;
  Sample& sample = h[i];
  sample.tally = in.tally;
  sample.timed = 1u << kOwnEndpoint;
  if (in.target.wiring != nullptr && in.tally >= 0) {
    const unsigned nics = tallies_[static_cast<std::size_t>(in.tally)]->nics();
    for (unsigned nic = 0; nic < kNics; ++nic) {
      const std::int32_t endpoint = in.target.endpoints[nic];
      if ((nics >> nic & 1) && endpoint >= 0 && in.target.wiring->own_sets[static_cast<std::size_t>(endpoint)] == 0)
        sample.timed |= static_cast<std::uint8_t>(1u << nic);
    }
  }
  sample.implausible = !take_deltas(h.values(i - 1), h.values(i), deltas_.data());
  // A value that cannot be, a negative one for instance, is left again over the end of 64 bits: that is no wrap.
  const bool plausible = !sample.implausible && !(h[i - 1].implausible && wraps(h.values(i - 1), h.values(i)));
  const std::int64_t dt_us = sample.time_us - h[i - 1].time_us;
  sample.effect = !plausible ? Effect::kReset : dt_us > limit_us(in, i) ? Effect::kSilence : Effect::kCounted;
  book(in, index, i, 1);
  track_replay_offset(in, i);
}

void Engine::take_back(Instance& in, std::uint32_t index, int i) {
  if (!in.ordered || in.history[i].effect == Effect::kNone) return;
  if (in.history[i].effect != Effect::kReset)
    take_deltas(in.history.values(i - 1), in.history.values(i), deltas_.data());
  book(in, index, i, -1);
  in.history[i].effect = Effect::kNone;
}

// Books what the segment that ends at `i` came to, or takes it back; `deltas_` holds its deltas.
void Engine::book(Instance& in, std::uint32_t index, int i, int sign) {
  const Sample& before = in.history[i - 1];
  const Sample& sample = in.history[i];
  const Tally* tally = sample.tally < 0 ? nullptr : tallies_[static_cast<std::size_t>(sample.tally)].get();
  switch (sample.effect) {
    case Effect::kNone:
      break;
    case Effect::kReset:
      note(in, index, before, sample.time_us, GapReason::kReset, sign > 0, nullptr);
      break;
    case Effect::kSilence:
      if (tally != nullptr) sum_cells(*tally, in.history.values(i - 1), in.history.values(i));
      note(in, index, before, sample.time_us, GapReason::kSilence, sign > 0, tally);
      break;
    case Effect::kCounted:
      if (tally != nullptr && !tally->empty() && in.target.counted()) {
        sum_cells(*tally, in.history.values(i - 1), in.history.values(i));
        count(in, sample, sample.time_us - before.time_us, sign);
      }
      break;
  }
}

// What `deltas_`, which lead from `before` to `after`, come to by cell.
void Engine::sum_cells(const Tally& tally, std::span<const std::uint64_t> before,
                       std::span<const std::uint64_t> after) {
  tally.sum({deltas_.data(), after.size()}, cell_sums_.data());
  tally.find_stopped(before, after, stopped_.data());
}

void Engine::count(const Instance& in, const Sample& sample, std::int64_t dt_us, int sign) {
  const Tally& tally = *tallies_[static_cast<std::size_t>(sample.tally)];
  Wiring& wiring = *in.target.wiring;
  const std::int32_t router = in.target.router;
  const std::int64_t second = sample.time_us / 1'000'000;
  const std::int64_t bucket = second - second % kPortBucketS;
  std::int64_t* values = nullptr;
  std::uint8_t* known = nullptr;
  if (router >= 0 && tally.adds_to_router() && !replaying_) {
    const std::size_t row = ledger_.routers.row({wiring.fabric, router, second});
    values = ledger_.routers.values(row);
    known = ledger_.routers.known(row);
    ledger_.routers.samples(row) += sign;
    add_to(ledger_.routers.time_us(row), sign * dt_us * tally.tiles());
  }
  std::int64_t* port_values = nullptr;
  std::uint8_t* port_known = nullptr;
  if (router >= 0 && tally.adds_to_ports() && (!replaying_ || bucket > replay_closed_s_)) {
    const std::size_t row = wiring.port_sums.row({wiring.fabric, router, bucket});
    port_values = wiring.port_sums.values(row);
    port_known = wiring.port_sums.known(row);
    wiring.port_sums.samples(row) += sign;
    add_to(wiring.port_sums.time_us(row), sign * dt_us * tally.counted_ports());
  }
  for (const std::uint16_t c : tally.active()) {
    if (stopped_[c]) continue;
    const Cell& cell = tally.cells()[c];
    const double rate = router >= 0 && cell.stall_ns != 0 ? wiring.port_rate(router, in.target.port_of(cell)) : 0;
    const std::optional<std::int64_t> counted = amount_of(cell, cell_sums_[c], cell.port_scale, rate);
    if (!counted) continue;
    const std::int64_t amount = sign * *counted;
    if (values != nullptr) {
      for (const std::int8_t column : cell.columns) {
        if (column < 0) break;
        add_to(values[column], amount);
        known[column] = 1;
      }
      if (cell.class_part >= 0) {
        if (const int link_class = wiring.class_at(router, in.target.port_of(cell)); link_class > 0) {
          const int column = kClassColumns + 2 * (link_class - 1) + cell.class_part;
          add_to(values[column], amount);
          known[column] = 1;
        }
      }
    }
    if (port_values != nullptr && cell.array >= 0) {
      const int place = cell.array * wiring.ports + in.target.port_of(cell);
      add_to(port_values[place], amount);
      port_known[place] = 1;
    }
  }
  if (tally.adds_to_lanes() && (!replaying_ || bucket > replay_closed_s_))
    count_lanes(in.target, tally, bucket, dt_us, sign);
  if (!replaying_) count_endpoints(in, tally, sample, dt_us, sign);
}

void Engine::count_lanes(const Target& target, const Tally& tally, std::int64_t bucket, std::int64_t dt_us, int sign) {
  Wiring& wiring = *target.wiring;
  const bool switched = target.router >= 0;
  RowSums& sums = switched ? wiring.port_lanes : wiring.endpoint_lanes;
  const int lanes = switched ? wiring.ports * kLanes : kLanes, first = switched ? target.port * kLanes : 0;
  const std::size_t row = sums.row({wiring.fabric, switched ? target.router : target.endpoints[kOwnEndpoint], bucket});
  const double rate =
      switched ? wiring.port_rate(target.router, target.port) : wiring.endpoint_rate(target.endpoints[kOwnEndpoint]);
  sums.samples(row) += sign;
  if (tally.timed()) add_to(sums.time_us(row), sign * dt_us);
  for (const std::uint16_t c : tally.laned()) {
    if (stopped_[c]) continue;
    const Cell& cell = tally.cells()[c];
    const std::optional<std::int64_t> amount = amount_of(cell, cell_sums_[c], cell.port_scale, rate);
    if (!amount) continue;
    const int place = cell.lane_array * lanes + first + cell.lane;
    add_to(sums.values(row)[place], sign * *amount);
    sums.known(row)[place] = 1;
  }
}

void Engine::count_endpoints(const Instance& in, const Tally& tally, const Sample& sample, std::int64_t dt_us,
                             int sign) {
  std::array<std::ptrdiff_t, kEndpointPlaces> rows;
  rows.fill(-1);
  RowSums& sums = ledger_.endpoints;
  for (const std::uint16_t c : tally.active()) {
    const Cell& cell = tally.cells()[c];
    if (cell.place < 0) continue;
    const auto place = static_cast<std::size_t>(cell.place);
    const std::int32_t endpoint = in.target.endpoints[place];
    if (endpoint < 0) continue;
    if (rows[place] < 0) {
      rows[place] =
          static_cast<std::ptrdiff_t>(sums.row({in.target.wiring->fabric, endpoint, sample.time_us / 1'000'000}));
      if (sample.timed >> place & 1) {
        sums.samples(static_cast<std::size_t>(rows[place])) += sign;
        if (tally.timed()) add_to(sums.time_us(static_cast<std::size_t>(rows[place])), sign * dt_us);
      }
    }
    if (stopped_[c]) continue;
    const double rate = cell.stall_ns != 0 ? in.target.wiring->endpoint_rate(endpoint) : 0;
    const std::optional<std::int64_t> amount = amount_of(cell, cell_sums_[c], cell.scale, rate);
    if (!amount) continue;
    const auto row = static_cast<std::size_t>(rows[place]);
    add_to(sums.values(row)[cell.endpoint_column], sign * *amount);
    sums.known(row)[cell.endpoint_column] = 1;
  }
}

// `sum_cells` received what was counted meanwhile if `tally` is given.
void Engine::note(const Instance& in, std::uint32_t index, const Sample& from, std::int64_t to_us, GapReason reason,
                  bool put, const Tally* tally) {
  if (replaying_) return;
  GapNote gap{index, reason, put, from.time_us, to_us, {}, 0};
  if (tally != nullptr && put) {
    for (const std::uint16_t c : tally->active()) {
      if (stopped_[c]) continue;
      const Cell& cell = tally->cells()[c];
      const Target& target = in.target;
      const bool switched = target.router >= 0;
      if (!switched && cell.place != kOwnEndpoint) continue;
      double rate = 0;
      if (cell.stall_ns != 0 && target.counted())
        rate = switched ? target.wiring->port_rate(target.router, target.port_of(cell))
                        : target.wiring->endpoint_rate(target.endpoints[kOwnEndpoint]);
      const auto amount = amount_of(cell, cell_sums_[c], switched ? cell.port_scale : cell.scale, rate);
      if (!amount) continue;
      const auto add = [&](int column) {
        gap.counts[static_cast<std::size_t>(column)] += *amount;
        gap.known |= 1u << column;
      };
      if (!switched) {
        add(cell.endpoint_column);
        continue;
      }
      for (const std::int8_t column : cell.columns)
        if (column >= 0) add(column);
    }
  }
  gaps.push_back(gap);
}

// The port bucket of sample `i` cannot be rebuilt without the samples by which its segment was judged.
void Engine::track_replay_offset(const Instance& in, int i) {
  const Sample& sample = in.history[i];
  if (sample.effect != Effect::kCounted || sample.tally < 0 || !in.target.counted()) return;
  const Tally& tally = *tallies_[static_cast<std::size_t>(sample.tally)];
  if (!tally.adds_to_lanes() && (in.target.router < 0 || !tally.adds_to_ports())) return;
  const std::int64_t second = sample.time_us / 1'000'000;
  const std::int64_t bucket = second - second % kPortBucketS;
  if (bucket <= ledger_.ports_closed_s) return;
  auto& least = open_[bucket];
  for (int k = std::max(0, i - 1 - History::kOlder); k <= i; ++k) {
    const Sample& other = in.history[k];
    const auto [found, added] = least.try_emplace(other.partition, other.offset);
    if (!added) found->second = std::min(found->second, other.offset);
  }
}

}  // namespace flitwatch::codec
