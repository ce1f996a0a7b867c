// Decodes one Avro record into a row. The schema is compiled to a list of steps.
//
// Format: Apache Avro 1.11 specification, "Binary Encoding". The caller removes the registry's five-byte prefix.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "codec/fault.h"
#include "codec/plan.h"

namespace flitwatch::codec {

enum class Wire : std::uint8_t { kLong, kInt, kFloat, kDouble, kString, kBytes, kBoolean, kNull };

// Encoding of one field of the plan (same index) in the record.
struct AvroField {
  Wire wire = Wire::kLong;
  std::int8_t null_branch = -1;   // the union branch that is null; -1: no union
  std::int8_t value_branch = -1;  // the union branch of the value
  bool list = false;
  bool zero_is_unknown = false;   // the producer writes 0 for values that it cannot send
  std::int32_t time_unit_us = 0;  // of the time field: microseconds per unit
};

class AvroSchema {
 public:
  // The plan must outlive the schema. Throws std::invalid_argument if a field and its column do not match.
  AvroSchema(const Plan& plan, std::vector<AvroField> fields);

  // Decodes the record after the prefix.
  Fault decode(std::string_view record, Row& row) const;
  const Plan& plan() const { return plan_; }

 private:
  // A step reads `count` plain longs into consecutive integers (count > 0), or one field of another kind (count 0).
  struct Step {
    std::uint32_t field;
    std::uint32_t count;
    std::uint32_t slot;
  };
  const Plan& plan_;
  std::vector<AvroField> fields_;
  std::vector<Step> steps_;
};

// Number of elements of every list in a record, in field order, before a plan has them (0: not a list).
Fault measure_lists(const std::vector<AvroField>& fields, std::string_view record, std::vector<std::uint32_t>& lengths);

}  // namespace flitwatch::codec
