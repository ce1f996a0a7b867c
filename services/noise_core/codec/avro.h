// One Avro record, its schema compiled to a list of steps, into a row.
//
// Format: Apache Avro 1.11 specification, "Binary Encoding"; the registry's five-byte prefix is taken off before.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "codec/fault.h"
#include "codec/plan.h"

namespace flitwatch::codec {

enum class Wire : std::uint8_t { kLong, kInt, kFloat, kDouble, kString, kBytes, kBoolean, kNull };

// How one field of the plan (same index) stands in the record.
struct AvroField {
  Wire wire = Wire::kLong;
  std::int8_t null_branch = -1;   // the union branch that is null; -1: no union
  std::int8_t value_branch = -1;  // the union branch of the value
  bool list = false;
  bool zero_is_unknown = false;   // the producer writes 0 for what it cannot send
  std::int32_t time_unit_us = 0;  // of the time field: microseconds a unit
};

class AvroSchema {
 public:
  // The plan must outlive the schema. Throws std::invalid_argument where a field and its column do not fit.
  AvroSchema(const Plan& plan, std::vector<AvroField> fields);

  // Decodes the record after the prefix.
  Fault decode(std::string_view record, Row& row) const;
  const Plan& plan() const { return plan_; }

 private:
  // A step reads `count` plain longs into neighbouring integers (count > 0), or one field of any other kind (count 0).
  struct Step {
    std::uint32_t field;
    std::uint32_t count;
    std::uint32_t slot;
  };
  const Plan& plan_;
  std::vector<AvroField> fields_;
  std::vector<Step> steps_;
};

// Elements of every list of a record, in field order, for a plan that does not know them yet (0: not a list).
Fault measure_lists(const std::vector<AvroField>& fields, std::string_view record, std::vector<std::uint32_t>& lengths);

}  // namespace flitwatch::codec
