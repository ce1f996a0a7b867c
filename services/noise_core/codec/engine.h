// Converts samples to additive sums for all instances of one topic: docs/contracts/deltas.md.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codec/fault.h"
#include "codec/history.h"
#include "codec/ledger.h"
#include "codec/tally.h"

namespace flitwatch::codec {

struct Limits {
  std::int64_t least_gap_us = 5'000'000;    // no shorter segment counts as silence
  int usual_intervals = 3;                  // nor one shorter than this many usual intervals
  std::int64_t first_gap_us = 180'000'000;  // limit while the usual interval is unknown
  std::int64_t stopped_us = 10'000'000;     // an instance is not reported as silent earlier
  std::int64_t parked_us = 60'000'000;      // after this much silence, only the last sample is kept
};

enum class Outcome : std::uint8_t { kFirst, kAccepted, kRepeat, kConflict, kHeld, kLate };
enum class GapReason : std::uint8_t { kSilence, kReset, kRestart, kClockBack };

struct Arrival {
  std::int64_t time_us;
  std::int64_t offset;
  std::int32_t partition;
  const std::uint64_t* values;
  std::string_view record;
};

// Destination of an instance's counts. Device -1: none.
struct Target {
  Wiring* wiring = nullptr;
  std::int32_t router = -1;
  std::int32_t port = -1;  // of the router, if the instance counts one port
  std::array<std::int32_t, kEndpointPlaces> endpoints{-1, -1, -1, -1, -1};
  bool counted() const { return wiring != nullptr && (router >= 0 || endpoints[kOwnEndpoint] >= 0); }
  int port_of(const Cell& cell) const { return cell.port == kOwnPort ? port : cell.port; }
  // The device of the counters, if they are counted.
  Claims::Device device() const {
    return {wiring->fabric, router < 0, router < 0 ? endpoints[kOwnEndpoint] : router, router < 0 ? -1 : port};
  }
};

// A gap row to add or remove; its key is instance, from and reason.
struct GapNote {
  std::uint32_t instance;
  GapReason reason;
  bool put;
  std::int64_t from_us, to_us;
  std::array<std::int64_t, kRouterColumns> counts;  // of the router or of the endpoint
  std::uint32_t known;                              // bits of the known counts
};

// A record that does not fit its instance's history.
struct Letter {
  std::int32_t partition;
  std::int64_t offset;
  Code code;
  std::int64_t time_us;
  std::string record;
};

// clang-format off
// States of an instance's time line. "Goes on": its values do not fall behind those of the arrival before it. "No room":
// the time line has no place for a sample there, so it is not a late one.
//
//   state      arrival                                        next       what is done                     outcome
//   ---------  ---------------------------------------------  ---------  -------------------------------  ---------
//   empty      any                                            following  append                           kFirst
//   following  after the newest                               following  append, book its segment         kAccepted
//   following  equal to a known sample                        following  nothing                          kRepeat
//   following  at the time of a known sample, goes on         doubting   hold                             kHeld
//   following  at the time of a known sample, does not        following  nothing                          kConflict
//   following  before all samples kept, goes on               doubting   hold                             kHeld
//   following  before all samples kept, does not              refused    nothing                          kLate
//   following  between two in time, not in value, goes on     doubting   hold                             kHeld
//   following  between two in time and in value               following  insert, book its segments anew   kAccepted
//   doubting   3 held or more had no room, step as around     following  gap kClockBack, restart          kHeld
//   doubting   16 held, step as around                        following  gap kClockBack, restart          kHeld
//   doubting   after the newest, the held ones lead on to it  following  the same, then append            kAccepted
//              and had no room
//   doubting   fits the time line                             following  held: taken in, or dead letters  kAccepted
//   doubting   History::kKept are held                        refused    held: taken in, or dead letters  kHeld
//   refused    as following; nothing goes on                  refused    as following                     as there
//   refused    accepted                                       following  as following                     kAccepted
//
// In addition to whether an instance is heard:
//
//   reporting  no newer sample for limit_us, 3 or more held   reporting  gap kClockBack, restart
//              with a step as around
//   reporting  no sample for limit_us                         silent     flush held, open a gap kSilence
//   silent     no sample for parked_us more                   parked     the history keeps its newest sample
//   silent     a sample is taken in                           reporting  close the gap
//
// An instance whose values have no order (a digest of the row) has no silence. It holds only what comes before all samples kept.
// clang-format on
class Engine {
 public:
  Engine(Ledger& ledger, Limits limits) : ledger_(ledger), limits_(limits) {}
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // `width`: values per sample, at least 1. Unordered values (a digest of the row) are compared but never subtracted.
  std::uint32_t add_instance(std::uint32_t width, bool ordered, const Chart* chart, std::int64_t component,
                             const Target& target);
  // Changes the target of an instance after an import of a fabric. Its history is kept.
  void retarget(std::uint32_t instance, const Target& target);
  Outcome push(std::uint32_t instance, const Arrival& arrival);

  // While replaying, sums and gaps are already in the database; only ports of buckets after `closed_s` are added.
  void replay(bool on, std::int64_t closed_s) { replaying_ = on, replay_closed_s_ = closed_s; }
  // Returns the time that all but a `fraction` of the instances that are not silent have reached; -1 if there are none.
  std::int64_t clock_us(double fraction) const;
  // Marks instances whose last sample is too long before `now_us`, and records their gaps.
  void check_silence(std::int64_t now_us);
  // Passes held records to the dead letters.
  void give_up_held();
  // Returns the offset to replay from to restore the state in memory, given the next offset to read.
  std::int64_t replay_from(std::int32_t partition, std::int64_t position) const;
  // Drops the offsets that closed port buckets needed.
  void ports_closed(std::int64_t through_s) { open_.erase(open_.begin(), open_.upper_bound(through_s)); }

  const Chart& chart_of(std::uint32_t instance) const { return *instances_[instance].chart; }
  void set_tally(std::uint32_t instance, const std::vector<bool>& mine);
  std::size_t size() const { return instances_.size(); }
  std::size_t silent() const;

  std::vector<GapNote> gaps;
  std::vector<Letter> letters;
  std::vector<std::pair<std::uint32_t, std::string>> revived;  // held records that were accepted later, by instance

 private:
  struct Held {
    std::int64_t time_us, offset;
    std::int32_t partition;
    Code code;
    std::vector<std::uint64_t> values;
    std::string record;
  };
  struct Instance {
    const Chart* chart;
    std::int64_t component;
    Target target;
    bool ordered;
    bool silent = false, parked = false;
    bool refused = false;  // the last arrival was refused as late
    bool rebuilt =
        false;  // samples came from a replay: their first reader may have recorded a silence after the newest
    std::int32_t tally = -1;
    History history;
    std::vector<Held> held;
  };

  void join(std::uint32_t index);
  void leave(std::uint32_t index);
  void append(Instance& in, std::uint32_t index, const Arrival& a);
  void insert(Instance& in, std::uint32_t index, int at, const Arrival& a);
  Outcome hold(Instance& in, std::uint32_t index, const Arrival& a, Code code);
  bool went_on(const Instance& in, const Arrival& a) const;
  bool clock_is_back(const Instance& in) const;
  bool goes_on(const Instance& in) const;
  bool no_room(const Instance& in, bool passed) const;
  bool passed_by(const Instance& in, const Arrival& a) const;
  void restart(Instance& in, std::uint32_t index);
  void flush_held(Instance& in, std::uint32_t index);
  void insert_held(Instance& in, std::uint32_t index, const Held& held);
  void resume_from_silence(Instance& in, std::uint32_t index);
  std::int64_t limit_us(const Instance& in, int i) const;
  void classify_segment(Instance& in, std::uint32_t index, int i);
  void take_back(Instance& in, std::uint32_t index, int i);
  void book(Instance& in, std::uint32_t index, int i, int sign);
  void sum_cells(const Tally& tally, std::span<const std::uint64_t> before, std::span<const std::uint64_t> after);
  void count(const Instance& in, const Sample& sample, std::int64_t dt_us, int sign);
  void count_endpoints(const Instance& in, const Tally& tally, const Sample& sample, std::int64_t dt_us, int sign);
  void count_lanes(const Target& target, const Tally& tally, std::int64_t bucket, std::int64_t dt_us, int sign);
  void note(const Instance& in, std::uint32_t index, const Sample& from, std::int64_t to_us, GapReason reason, bool put,
            const Tally* tally);
  void track_replay_offset(const Instance& in, int i);

  Ledger& ledger_;
  Limits limits_;
  bool replaying_ = false;
  std::int64_t replay_closed_s_ = -1;
  std::vector<Instance> instances_;
  std::vector<std::unique_ptr<Tally>> tallies_;
  std::map<std::pair<const Chart*, std::vector<bool>>, std::int32_t> tally_index_;
  std::map<std::int64_t, std::map<std::int32_t, std::int64_t>>
      open_;  // port bucket -> partition -> smallest offset that it needs
  std::vector<std::uint64_t> deltas_;
  std::vector<std::int64_t> cell_sums_;
  std::vector<std::uint8_t> stopped_;  // cells whose sum is unknown
};

}  // namespace flitwatch::codec
