#include "codec/engine.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "codec/deltas.h"

namespace flitwatch::codec {

namespace {

// So many consecutive samples that go on from the newest in value but not in time show a clock that was set back ...
constexpr std::size_t kEvident = 3;
// ... if the step into them is at most so many times what the samples around it moved by. Else they are old data.
constexpr double kStep = 16;
constexpr std::size_t kMostHeld = History::kKept;
// An interval of at most so many times the shortest one holds no further sample: where a regular sampler's line lacks a
// sample, its interval is twice the others.
constexpr double kAlike = 1.5;

bool same(std::span<const std::uint64_t> a, const std::uint64_t* b) {
  return std::memcmp(a.data(), b, a.size_bytes()) == 0;
}

}  // namespace

Engine::~Engine() {
  for (std::uint32_t i = 0; i < instances_.size(); ++i) leave(i);
}

std::uint32_t Engine::add_instance(std::uint32_t width, bool ordered, const Chart* chart, std::int64_t component,
                                   const Target& target) {
  const auto index = static_cast<std::uint32_t>(instances_.size());
  instances_.push_back(Instance{chart, component, target, ordered, false, false, false, false, -1, History(width), {}});
  if (deltas_.size() < width) deltas_.resize(width);
  if (cell_sums_.size() < chart->cells.size()) cell_sums_.resize(chart->cells.size());
  stopped_.resize(cell_sums_.size());
  join(index);
  return index;
}

void Engine::retarget(std::uint32_t index, const Target& target) {
  leave(index);
  // What was counted for the old target cannot be taken back from the new one.
  instances_[index].history.park();
  instances_[index].target = target;
  if (!instances_[index].silent) join(index);
}

void Engine::join(std::uint32_t index) {
  const Instance& in = instances_[index];
  if (!in.target.counted()) return;
  const Claims::Device device = in.target.device();
  if (device.endpoint) ++in.target.wiring->own_sets[static_cast<std::size_t>(device.device)];
  ledger_.claims.join(device, {this, index, in.component});
}

void Engine::leave(std::uint32_t index) {
  Instance& in = instances_[index];
  if (in.silent || !in.target.counted()) return;
  const Claims::Device device = in.target.device();
  if (device.endpoint) --in.target.wiring->own_sets[static_cast<std::size_t>(device.device)];
  in.tally = -1;
  ledger_.claims.leave(device, this, index);
}

void Engine::set_tally(std::uint32_t index, const std::vector<bool>& mine) {
  const auto [found, added] =
      tally_index_.try_emplace({instances_[index].chart, mine}, static_cast<std::int32_t>(tallies_.size()));
  if (added) tallies_.push_back(std::make_unique<Tally>(*instances_[index].chart, mine));
  instances_[index].tally = found->second;
}

Outcome Engine::push(std::uint32_t index, const Arrival& a) {
  Instance& in = instances_[index];
  History& h = in.history;
  if (h.size() == 0) {
    append(in, index, a);
    return Outcome::kFirst;
  }
  for (const Held& held : in.held)
    if (held.time_us == a.time_us && same(held.values, a.values)) return Outcome::kRepeat;
  if (a.time_us > h.newest().time_us) {
    if (passed_by(in, a)) {
      restart(in, index);
      return push(index, a);
    }
    flush_held(in, index);
    append(in, index, a);
    in.refused = false;
    return Outcome::kAccepted;
  }
  const int at = h.place(a.time_us);
  if (h[at].time_us == a.time_us) {
    if (same(h.values(at), a.values)) return Outcome::kRepeat;
    return in.ordered && went_on(in, a) ? hold(in, index, a, Code::kConflict) : Outcome::kConflict;
  }
  if (at == h.first() && h.full()) {
    if (!in.ordered || went_on(in, a)) return hold(in, index, a, Code::kLate);
    in.refused = true;
    return Outcome::kLate;
  }
  // A late sample lies between its neighbours in value too. One that does not, while they agree, was taken after a
  // clock went back, or before a reset.
  const std::span<const std::uint64_t> values(a.values, h.width());
  if (in.ordered && !follows(values, h.values(at)) && (at == h.first() || follows(h.values(at - 1), h.values(at))) &&
      went_on(in, a))
    return hold(in, index, a, Code::kNone);
  if (!in.held.empty()) {
    flush_held(in, index);
    return push(index, a);
  }
  insert(in, index, at, a);
  in.refused = false;
  return Outcome::kAccepted;
}

void Engine::append(Instance& in, std::uint32_t index, const Arrival& a) {
  resume_from_silence(in, index);
  History& h = in.history;
  std::memcpy(h.insert(h.size(), a.time_us, a.offset, a.partition), a.values, h.width() * sizeof(std::uint64_t));
  if (h.size() > 1) classify_segment(in, index, h.size() - 1);
  h.trim();
}

void Engine::insert(Instance& in, std::uint32_t index, int at, const Arrival& a) {
  resume_from_silence(in, index);
  History& h = in.history;
  // The segments whose usual interval this sample changes: its two, and those that look back on them.
  const int last = std::min(at + History::kOlder, h.size() - 1);
  for (int i = std::max(at, h.first() + 1); i <= last; ++i) take_back(in, index, i);
  std::memcpy(h.insert(at, a.time_us, a.offset, a.partition), a.values, h.width() * sizeof(std::uint64_t));
  for (int i = std::max(at, h.first() + 1); i <= last + 1; ++i) classify_segment(in, index, i);
  h.trim();
}

// Whether an arrival goes on from the last one that was not refused.
bool Engine::went_on(const Instance& in, const Arrival& a) const {
  if (in.refused) return false;
  const History& h = in.history;
  const std::span<const std::uint64_t> values(a.values, h.width());
  if (in.held.empty()) return follows(h.values(h.size() - 1), values);
  return a.time_us > in.held.back().time_us && follows(in.held.back().values, values);
}

Outcome Engine::hold(Instance& in, std::uint32_t index, const Arrival& a, Code code) {
  in.held.push_back(
      {a.time_us, a.offset, a.partition, code, {a.values, a.values + in.history.width()}, std::string(a.record)});
  if (clock_is_back(in)) {
    restart(in, index);
  } else if (in.held.size() >= kMostHeld) {
    flush_held(in, index);
    in.refused = true;
  }
  return Outcome::kHeld;
}

bool Engine::clock_is_back(const Instance& in) const {
  const auto& held = in.held;
  if (!in.ordered)
    return held.size() >= kMostHeld &&
           std::is_sorted(held.begin(), held.end(), [](const Held& x, const Held& y) { return x.time_us < y.time_us; });
  if (held.size() < kEvident || (held.size() < kMostHeld && !no_room(in, false))) return false;
  return goes_on(in);
}

// Whether the step into the held samples is like the steps around it.
bool Engine::goes_on(const Instance& in) const {
  const auto& held = in.held;
  const History& h = in.history;
  const double step = moved(h.values(h.size() - 1), held.front().values);
  const double around =
      std::max(moved(held.front().values, held.back().values), moved(h.values(h.first()), h.values(h.size() - 1)));
  // Where nothing moves, old data and a clock set back look alike until many have come.
  return step + around == 0 ? held.size() >= kMostHeld : step <= kStep * around;
}

// Whether held samples came where the time line has no room for another. Samples from before a reset that arrive after
// it go on in value, too, but each of them fills a place of its own. `passed`: an arrival is after the newest sample.
bool Engine::no_room(const Instance& in, bool passed) const {
  const History& h = in.history;
  bool in_order = h.size() - h.first() > History::kOlder;
  for (int i = h.first() + 1; i < h.size(); ++i)
    in_order &= h[i - 1].partition == h[i].partition && h[i - 1].offset < h[i].offset;
  for (const Held& held : in.held) {
    if (held.code != Code::kNone) return true;
    const int at = h.place(held.time_us);
    if (at == h.first()) continue;
    // The intervals that the held sample does not divide.
    std::vector<std::int64_t> intervals;
    for (int i = 1; i < h.size(); ++i)
      if (i != at) intervals.push_back(h[i].time_us - h[i - 1].time_us);
    for (std::size_t i = 1; i < in.held.size(); ++i) intervals.push_back(in.held[i].time_us - in.held[i - 1].time_us);
    if (intervals.size() < 2) continue;
    const double most = kAlike * static_cast<double>(*std::min_element(intervals.begin(), intervals.end()));
    const auto usual = [most](std::int64_t interval) { return static_cast<double>(interval) <= most; };
    const auto regular = 2 * static_cast<std::size_t>(std::count_if(intervals.begin(), intervals.end(), usual));
    // A line without a usual interval may have room anywhere: samples that all came in order tell of a clock.
    if (regular >= intervals.size() ? usual(h[at].time_us - h[at - 1].time_us) : passed && in_order) return true;
  }
  return false;
}

// A clock set back by little has passed the newest sample again: what was held leads on to this arrival.
bool Engine::passed_by(const Instance& in, const Arrival& a) const {
  if (in.held.empty() || !in.ordered || !no_room(in, true)) return false;
  for (const Held& held : in.held)
    if (held.code == Code::kLate) return false;
  const History& h = in.history;
  const std::span<const std::uint64_t> values(a.values, h.width());
  if (!follows(in.held.back().values, values)) return false;
  const double step = moved(h.values(h.size() - 1), in.held.front().values);
  return step <=
         kStep * std::max(moved(in.held.front().values, values), moved(h.values(h.first()), h.values(h.size() - 1)));
}

void Engine::restart(Instance& in, std::uint32_t index) {
  resume_from_silence(in, index);
  const std::vector<Held> held = std::move(in.held);
  in.held.clear();
  History& h = in.history;
  Sample from = h.newest();
  from.time_us = held.front().time_us;
  const Tally* tally = nullptr;
  if (in.ordered && in.tally >= 0 && take_deltas(h.values(h.size() - 1), held.front().values, deltas_.data()))
    tally = tallies_[static_cast<std::size_t>(in.tally)].get();
  if (tally != nullptr) sum_cells(*tally, h.values(h.size() - 1), held.front().values);
  note(in, index, from, h.newest().time_us, GapReason::kClockBack, true, tally);
  h.clear();
  for (const Held& sample : held) insert_held(in, index, sample);
}

// An arrival fits the time line: what was held before it is not a clock set back.
void Engine::flush_held(Instance& in, std::uint32_t index) {
  if (in.held.empty()) return;
  const std::vector<Held> held = std::move(in.held);
  in.held.clear();
  for (const Held& sample : held) {
    if (sample.code == Code::kNone)
      insert_held(in, index, sample);
    else
      letters.push_back({sample.partition, sample.offset, sample.code, sample.time_us, sample.record});
  }
}

// Takes a held sample in by its time alone.
void Engine::insert_held(Instance& in, std::uint32_t index, const Held& sample) {
  History& h = in.history;
  const int at = h.place(sample.time_us);
  const bool repeats = at < h.size() && h[at].time_us == sample.time_us;
  if (repeats || (at == h.first() && h.full())) {
    letters.push_back(
        {sample.partition, sample.offset, repeats ? Code::kConflict : Code::kLate, sample.time_us, sample.record});
    return;
  }
  const Arrival a{sample.time_us, sample.offset, sample.partition, sample.values.data(), sample.record};
  if (at == h.size())
    append(in, index, a);
  else
    insert(in, index, at, a);
  revived.emplace_back(index, sample.record);
}

// A silent instance is heard again: its gap ends with the segment to come.
void Engine::resume_from_silence(Instance& in, std::uint32_t index) {
  const bool rebuilt = std::exchange(in.rebuilt, replaying_);
  if (!in.silent && (!rebuilt || replaying_ || in.history.size() == 0)) return;
  note(in, index, in.history.newest(), in.history.newest().time_us, GapReason::kSilence, false, nullptr);
  if (!in.silent) return;
  in.silent = in.parked = false;
  join(index);
}

std::int64_t Engine::clock_us(double fraction) const {
  std::vector<std::int64_t> times;
  times.reserve(instances_.size());
  for (const Instance& in : instances_)
    if (!in.silent && in.history.size() > 0) times.push_back(in.history.newest().time_us);
  if (times.empty()) return -1;
  const auto place = times.begin() + static_cast<std::ptrdiff_t>(std::clamp(fraction, 0.0, 1.0) *
                                                                 static_cast<double>(times.size() - 1));
  std::nth_element(times.begin(), place, times.end());
  return *place;
}

void Engine::check_silence(std::int64_t now_us) {
  for (std::uint32_t index = 0; index < instances_.size(); ++index) {
    Instance& in = instances_[index];
    if (!in.ordered || in.history.size() == 0 || (in.parked && in.held.empty())) continue;
    const std::int64_t quiet_us = now_us - in.history.newest().time_us;
    if (quiet_us <= std::max(limits_.stopped_us, limit_us(in, in.history.size()))) continue;
    // Its samples are all older than the newest one: its clock was set back to where the time line has room.
    if (in.held.size() >= kEvident && goes_on(in)) {
      restart(in, index);
      continue;
    }
    if (!in.silent) {
      flush_held(in, index);
      note(in, index, in.history.newest(), now_us, GapReason::kSilence, true, nullptr);
      leave(index);
      in.silent = true;
    }
    if (quiet_us > limits_.parked_us + limit_us(in, in.history.size())) {
      in.history.park();
      in.parked = true;
    }
  }
}

void Engine::give_up_held() {
  for (std::uint32_t index = 0; index < instances_.size(); ++index) flush_held(instances_[index], index);
}

std::size_t Engine::silent() const {
  return static_cast<std::size_t>(
      std::count_if(instances_.begin(), instances_.end(), [](const Instance& in) { return in.silent; }));
}

std::int64_t Engine::replay_from(std::int32_t partition, std::int64_t position) const {
  std::int64_t from = position;
  for (const Instance& in : instances_) {
    if (in.parked) continue;
    for (int i = 0; i < in.history.size(); ++i)
      if (in.history[i].partition == partition) from = std::min(from, in.history[i].offset);
    for (const Held& held : in.held)
      if (held.partition == partition) from = std::min(from, held.offset);
  }
  for (const auto& [bucket, least] : open_)
    if (const auto found = least.find(partition); found != least.end()) from = std::min(from, found->second);
  return from;
}

}  // namespace flitwatch::codec
