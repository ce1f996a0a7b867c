// libFuzzer target: lines as the records of one topic (a line that begins with a zero byte as Avro), in batches of
// four, with a batch read again now and then. Every record that was given ends in exactly one place, whatever counters
// jump, clocks do or rows repeat.
#include "codec/feed.h"

#include <cstdlib>
#include <deque>
#include <numeric>
#include <string>
#include <vector>

#include "fuzz/ldms_plan.h"

using namespace flitwatch::codec;

namespace {

constexpr std::size_t kBatch = 4;
constexpr int kRouters = 2, kPorts = 2, kEndpoints = 4;

void check(bool holds) {
  if (!holds) std::abort();
}

// Two counters: stalls and flits of a port, which feed the router, its link class and a NIC.
std::vector<Field> tile_fields() {
  return {
      {.name = "timestamp", .kind = Kind::kReal, .role = Role::kTime},
      {.name = "component_id", .kind = Kind::kUnsigned, .role = Role::kComponent},
      {.name = "flits", .kind = Kind::kUnsigned, .counter = true},
      {.name = "stalls", .kind = Kind::kUnsigned, .counter = true},
      {.name = "router", .kind = Kind::kText},
  };
}

Chart tile_chart() {
  Chart chart;
  for (std::int8_t part = 0; part < 2; ++part) {
    Cell cell;
    cell.port = part == 0 ? std::int16_t{1} : kOwnPort;
    cell.array = part;
    cell.columns[0] = part;
    cell.class_part = part;
    cell.place = kOwnEndpoint;
    cell.endpoint_column = part;
    cell.scale = 64;
    cell.tiles = 1;
    chart.cells.push_back(cell);
  }
  chart.cell_of = {0, 1};
  chart.claim_of = {0, 1};
  return chart;
}

Chart no_chart(std::size_t counters) {
  Chart chart;
  chart.cell_of.assign(counters, -1);
  chart.claim_of.resize(counters);
  std::iota(chart.claim_of.begin(), chart.claim_of.end(), 100u);
  return chart;
}

class Topic {
 public:
  Topic() : feed_(ledger_, Limits{}) {
    ledger_.wire(1, kRouters, kPorts, kEndpoints, {1, 2, 3, 1});
    const Plan plan = flitwatch::fuzz::ldms_plan();
    feed_.add_plan(plan.fields(), no_chart(plan.counters()), -1, true);
    feed_.add_plan(tile_fields(), tile_chart(), 4, true);
    feed_.add_avro(
        1, 1, {avro(Wire::kLong, 1'000), avro(Wire::kLong), avro(Wire::kLong), avro(Wire::kLong), avro(Wire::kString)});
  }

  // Gives records to the feed, and again where they waited for an instance.
  void give(const std::vector<std::string>& records, std::int64_t first_offset) {
    std::vector<std::string_view> views(records.begin(), records.end());
    std::vector<std::int32_t> partitions(records.size(), 0);
    std::vector<std::int64_t> offsets(records.size());
    std::iota(offsets.begin(), offsets.end(), first_offset);
    std::vector<std::uint32_t> chosen(records.size());
    std::iota(chosen.begin(), chosen.end(), 0u);
    while (!chosen.empty()) {
      const Consumed found = feed_.consume({views, partitions, offsets, chosen}, false);
      const std::uint64_t accepted = std::accumulate(found.accepted.begin(), found.accepted.end(), std::uint64_t{0});
      check(accepted + found.repeats + found.held + found.refused.size() + found.pending.size() == chosen.size() &&
            found.first <= accepted);
      chosen.clear();
      for (const Stranger& who : found.strangers) meet(who);
      for (const Pending& waiting : found.pending)
        if (waiting.need == Need::kInstance) chosen.push_back(waiting.record);
    }
  }

  void look(std::int64_t position) {
    Engine& engine = feed_.engine();
    engine.check_silence(engine.clock_us(0.02));
    check(engine.silent() <= engine.size() && engine.replay_from(0, position) <= position);
    engine.gaps.clear();
    engine.revived.clear();
    engine.letters.clear();
  }

  void end() {
    feed_.engine().give_up_held();
    for (RowSums* sums : {&ledger_.routers, &ledger_.endpoints})
      for (std::size_t row = 0; row < sums->size(); ++row) check(sums->samples(row) >= 0);
  }

 private:
  static AvroField avro(Wire wire, std::int32_t unit_us = 0) {
    AvroField field;
    field.wire = wire;
    field.time_unit_us = unit_us;
    return field;
  }

  void meet(const Stranger& who) {
    Target target;
    if (who.plan == 1) {
      target.wiring = ledger_.fabrics.at(1).get();
      target.router = static_cast<std::int32_t>(static_cast<std::uint64_t>(who.component) % kRouters);
      target.port = static_cast<std::int32_t>(static_cast<std::uint64_t>(who.component) % kPorts);
      target.endpoints[kOwnEndpoint] =
          static_cast<std::int32_t>(static_cast<std::uint64_t>(who.component) % kEndpoints);
    }
    feed_.add_instance(who.plan, who, target, who.plan == 0);
  }

  Ledger ledger_;
  Feed feed_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Topic topic;
  std::vector<std::string> records;
  std::int64_t offset = 0;
  const auto flush = [&] {
    topic.give(records, offset);
    if (records.size() % 2) topic.give(records, offset);  // a batch that is delivered again
    offset += static_cast<std::int64_t>(records.size());
    records.clear();
    topic.look(offset);
  };
  std::string line;
  for (std::size_t i = 0; i <= size; ++i) {
    if (i < size && data[i] != '\n') {
      line += static_cast<char>(data[i]);
      continue;
    }
    records.push_back(line);
    line.clear();
    if (records.size() == kBatch) flush();
  }
  if (!records.empty()) flush();
  topic.end();
  return 0;
}
