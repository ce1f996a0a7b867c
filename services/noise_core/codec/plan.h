// The layout of one row schema: the position of each metric, and its column.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace flitwatch::codec {

enum class Kind : std::uint8_t { kUnsigned, kReal, kText };
enum class Role : std::uint8_t { kValue, kTime, kComponent, kIdentity };

struct Field {
  std::string name;
  Kind kind = Kind::kUnsigned;
  Role role = Role::kValue;
  bool counter = false;      // a cumulative counter, converted to deltas
  std::uint32_t length = 0;  // elements of a list; 0: a scalar
  std::uint32_t slot = 0;    // first index in the row's array of its kind; set by Plan
};

// Slots: counters are the first integers, in field order, followed by the other integers. Time and component have no
// slot.
class Plan {
 public:
  explicit Plan(std::vector<Field> fields);

  const std::vector<Field>& fields() const { return fields_; }
  std::uint32_t counters() const { return counters_; }
  std::uint32_t integers() const { return integers_; }
  std::uint32_t reals() const { return reals_; }
  std::uint32_t texts() const { return texts_; }
  bool has_identity() const { return has_identity_; }
  // The bytes `,"name":` of a field as written by the JSON writer (the first begins with a brace).
  std::string_view literal(std::size_t field) const {
    return {literals_.data() + literal_begin_[field], literal_begin_[field + 1] - literal_begin_[field]};
  }
  // Returns the index of the field of that name, or -1.
  std::int32_t find(std::string_view name) const;

 private:
  std::vector<Field> fields_;
  std::uint32_t counters_ = 0, integers_ = 0, reals_ = 0, texts_ = 0;
  bool has_identity_ = false;
  std::string literals_;
  std::vector<std::uint32_t> literal_begin_;
  std::unordered_map<std::string_view, std::int32_t> by_name_;
};

// One decoded record. Views refer to the record or to `unescaped`.
struct Row {
  std::int64_t time_us = 0;
  std::int64_t component = 0;
  bool has_component = false;
  std::vector<std::uint64_t> integers;
  std::vector<std::uint8_t> unknown;  // integers that the producer could not send; empty: none
  std::vector<double> reals;
  std::vector<std::string_view> texts;
  std::string identity;  // the identity fields, joined by a unit separator
  std::string unescaped;

  // Resizes the arrays for a plan's row and reuses memory.
  void reset(const Plan& plan);
};

constexpr std::int64_t kTimeEndUs = (std::int64_t{1} << 32) * 1'000'000;

}  // namespace flitwatch::codec
