// Decodes and counts the records of one topic: the writer's inner loop.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "codec/avro.h"
#include "codec/engine.h"
#include "codec/plan.h"

namespace flitwatch::codec {

// What a record is waiting for. The caller adds it and passes the record again.
enum class Need : std::uint8_t { kPlan, kAvroSchema, kAvroLists, kInstance };

struct Pending {
  std::uint32_t record;
  Need need;
  std::uint32_t number;  // the Avro schema's id, or an index into `strangers`
};

struct Stranger {
  std::uint32_t plan;
  bool has_component;
  std::int64_t component;
  std::string identity;
  std::string hint;  // the text of the plan's hint field, which is a router's name
};

struct Refused {
  std::uint32_t record;
  std::int32_t plan;
  Fault fault;
  std::int64_t time_us;
};

struct Consumed {
  std::uint64_t first = 0, repeats = 0, held = 0, values = 0;
  std::vector<std::uint64_t> accepted;  // by plan
  std::int64_t newest_us = -1;
  std::vector<Pending> pending;
  std::vector<Stranger> strangers;
  std::vector<Refused> refused;
};

// Rows stored unchanged, for one plan.
struct Observations {
  std::vector<std::int64_t> component, time_us;
  std::vector<std::uint8_t> has_component;
  std::vector<std::string> identity, texts;
  std::vector<std::uint64_t> integers;
  std::vector<std::uint8_t> unknown;
  std::vector<double> reals;
};

struct Batch {
  std::span<const std::string_view> records;
  std::span<const std::int32_t> partitions;
  std::span<const std::int64_t> offsets;
  std::span<const std::uint32_t> chosen;  // indices of the records to read, in this order
};

class Feed {
 public:
  Feed(Ledger& ledger, Limits limits) : engine_(ledger, limits) {}

  // `hint`: index of the field whose text helps to locate an instance, or -1. An Avro plan is not tried on JSON
  // records.
  std::uint32_t add_plan(std::vector<Field> fields, Chart chart, std::int32_t hint, bool json);
  void add_avro(std::uint32_t schema_id, std::uint32_t plan, std::vector<AvroField> fields);
  std::uint32_t add_instance(std::uint32_t plan, const Stranger& who, const Target& target, bool observed);
  // Sets the new target of an instance. `observed`: its rows are stored unchanged.
  void retarget(std::uint32_t instance, const Target& target, bool observed);
  Consumed consume(const Batch& batch, bool replaying);
  // Reason why a plan does not fit a record.
  Fault fault_of(std::uint32_t plan, std::string_view record);

  // Records of a later time are refused: a clock that is years ahead must not create partitions there.
  std::int64_t latest_us = kTimeEndUs;

  Engine& engine() { return engine_; }
  const Engine& engine() const { return engine_; }
  const Chart& chart(std::uint32_t plan) const { return entries_[plan]->chart; }
  const Plan& plan(std::uint32_t index) const { return *entries_[index]->plan; }
  Observations& observations(std::uint32_t plan) { return entries_[plan]->observations; }
  std::size_t plans() const { return entries_.size(); }

 private:
  struct Entry {
    std::unique_ptr<Plan> plan;
    Chart chart;
    std::int32_t hint;
    Observations observations;
  };
  struct Place {
    std::uint32_t plan;
    bool observed;
  };

  // Returns the plan of the row in `row_`, or -1 after extending `pending` or `refused`.
  std::int32_t decode(std::string_view record, std::uint32_t index, Consumed& out);
  std::int32_t decode_avro(std::string_view record, std::uint32_t index, Consumed& out);
  std::int32_t decode_json(std::string_view record, std::uint32_t index, Consumed& out);
  void book(std::uint32_t plan, std::uint32_t index, const Batch& batch, bool replaying, Consumed& out,
            std::map<std::string, std::uint32_t>& strangers);
  void observe(std::uint32_t plan);
  void revive(bool replaying);
  void key_of(std::uint32_t plan, const Row& row);

  std::vector<std::unique_ptr<Entry>> entries_;  // outlives the engine, which refers to its charts
  Engine engine_;
  std::vector<std::uint32_t> json_order_;  // plans in the order to try, the last match first
  std::unordered_map<std::uint32_t, std::vector<std::pair<std::uint32_t, AvroSchema>>> avro_;
  std::unordered_map<std::string, std::uint32_t> by_key_;
  std::vector<Place> places_;
  Row row_;
  std::string key_;
};

// Returns a 64-bit digest of a row's values (without its time), to distinguish repeats from conflicts.
std::uint64_t digest(const Row& row);

}  // namespace flitwatch::codec
