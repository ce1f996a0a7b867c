#include "codec/plan.h"

#include <algorithm>
#include <stdexcept>

namespace flitwatch::codec {

namespace {

std::uint32_t places(const Field& field) { return std::max<std::uint32_t>(1, field.length); }

}  // namespace

Plan::Plan(std::vector<Field> fields) : fields_(std::move(fields)) {
  bool timed = false;
  for (const Field& field : fields_) {
    if (field.counter && (field.kind != Kind::kUnsigned || field.length != 0 || field.role != Role::kValue))
      throw std::invalid_argument("counter " + field.name + " is not an integer");
    if (field.role == Role::kComponent && (field.kind != Kind::kUnsigned || field.length != 0))
      throw std::invalid_argument("component " + field.name + " is not an integer");
    if (field.role == Role::kTime && timed) throw std::invalid_argument("two fields have the role of time");
    timed |= field.role == Role::kTime;
    has_identity_ |= field.role == Role::kIdentity;
    counters_ += field.counter;
  }
  if (!timed) throw std::invalid_argument("no field has the role of time");
  std::uint32_t counter = 0;
  integers_ = counters_;
  for (Field& field : fields_) {
    if (field.role == Role::kTime || field.role == Role::kComponent) continue;
    if (field.counter) {
      field.slot = counter++;
      continue;
    }
    std::uint32_t& next = field.kind == Kind::kUnsigned ? integers_ : field.kind == Kind::kReal ? reals_ : texts_;
    field.slot = next;
    next += places(field);
  }
  literal_begin_.push_back(0);
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    literals_ += i == 0 ? "{\"" : ",\"";
    literals_ += fields_[i].name + "\":";
    literal_begin_.push_back(static_cast<std::uint32_t>(literals_.size()));
    if (!by_name_.emplace(fields_[i].name, static_cast<std::int32_t>(i)).second)
      throw std::invalid_argument("metric " + fields_[i].name + " stands twice");
  }
}

std::int32_t Plan::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? -1 : found->second;
}

void Row::reset(const Plan& plan) {
  time_us = -1;
  component = 0;
  has_component = false;
  integers.resize(plan.integers());
  unknown.clear();
  reals.resize(plan.reals());
  texts.resize(plan.texts());
  identity.clear();
  unescaped.clear();
}

}  // namespace flitwatch::codec
