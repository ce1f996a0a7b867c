#include "codec/avro.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "codec/json.h"
#include "codec/number.h"

namespace flitwatch::codec {

namespace {

Kind kind_of(Wire wire) {
  switch (wire) {
    case Wire::kFloat:
    case Wire::kDouble:
      return Kind::kReal;
    case Wire::kString:
    case Wire::kBytes:
      return Kind::kText;
    default:
      return Kind::kUnsigned;
  }
}

struct Value {
  std::uint64_t integer = 0;
  double real = 0;
  std::string_view text;
};

class Cursor {
 public:
  explicit Cursor(std::string_view record) : begin_(record.data()), end_(begin_ + record.size()), p_(begin_) {}

  Fault fault(Code code, std::size_t field) const {
    return {code, static_cast<std::int32_t>(field), static_cast<std::uint32_t>(p_ - begin_)};
  }
  bool at_end() const { return p_ == end_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - p_); }

  Code varint(std::uint64_t& value) {
    const char* const after = left() >= 10 ? read_varint_wide(p_, value) : read_varint_checked(p_, end_, value);
    if (after == nullptr) return left() < 10 ? Code::kTruncated : Code::kTooLarge;
    p_ = after;
    return Code::kNone;
  }
  Code number(std::int64_t& value) {
    std::uint64_t word;
    const Code code = varint(word);
    if (code == Code::kNone) value = static_cast<std::int64_t>(unzigzag(word));
    return code;
  }
  // Reads longs into out[0..count); `done` says how many were read.
  Code longs(std::uint64_t* out, std::uint32_t count, std::uint32_t& done) {
    const char* p = p_;
    std::uint32_t i = 0;
    for (; i < count && end_ - p >= 10; ++i) {
      std::uint64_t word;
      const char* const after = read_varint_wide(p, word);
      if (after == nullptr) break;
      p = after;
      out[i] = unzigzag(word);
    }
    p_ = p;
    done = i;
    for (; done < count; ++done) {
      std::uint64_t word;
      if (const Code code = varint(word); code != Code::kNone) return code;
      out[done] = unzigzag(word);
    }
    return Code::kNone;
  }
  Code block(std::int64_t& count) {
    if (const Code code = number(count); code != Code::kNone) return code;
    if (count < 0) {
      std::int64_t bytes;
      if (const Code code = number(bytes); code != Code::kNone) return code;
      if (count == INT64_MIN || bytes < 0) return Code::kBranch;
      count = -count;
    }
    return Code::kNone;
  }
  Code value(Wire wire, Value& out) {
    switch (wire) {
      case Wire::kLong:
      case Wire::kInt: {
        std::int64_t value = 0;
        const Code code = number(value);
        out.integer = static_cast<std::uint64_t>(value);
        return code;
      }
      case Wire::kFloat: {
        float value;
        if (const Code code = raw(&value, sizeof value); code != Code::kNone) return code;
        out.real = value;
        return Code::kNone;
      }
      case Wire::kDouble:
        return raw(&out.real, sizeof out.real);
      case Wire::kBoolean: {
        unsigned char value;
        if (const Code code = raw(&value, 1); code != Code::kNone) return code;
        out.integer = value;
        return value > 1 ? Code::kSyntax : Code::kNone;
      }
      case Wire::kNull:
        return Code::kNone;
      case Wire::kString:
      case Wire::kBytes:
        break;
    }
    std::int64_t length;
    if (const Code code = number(length); code != Code::kNone) return code;
    if (length < 0) return Code::kSyntax;
    if (static_cast<std::uint64_t>(length) > left()) return Code::kTruncated;
    out.text = {p_, static_cast<std::size_t>(length)};
    if (!is_clean_utf8(out.text)) return Code::kBadText;
    p_ += length;
    return Code::kNone;
  }

 private:
  Code raw(void* out, std::size_t bytes) {
    if (left() < bytes) return Code::kTruncated;
    std::memcpy(out, p_, bytes);
    p_ += bytes;
    return Code::kNone;
  }
  const char* const begin_;
  const char* const end_;
  const char* p_;
};

class Filler {
 public:
  Filler(const Plan& plan, Row& row, Cursor& in) : plan_(plan), row_(row), in_(in) {}

  Code fill(const AvroField& wire, const Field& field) {
    if (wire.list) return list(wire, field);
    Value value;
    if (const Code code = read(wire, value); code != Code::kNone) return code;
    if (field.role == Role::kTime) return time(wire, value);
    if (missing_) {
      if (field.counter || field.role != Role::kValue) return Code::kNull;
      return leave_unknown(field);
    }
    return store(wire, field, field.slot, value);
  }

 private:
  Code read(const AvroField& wire, Value& value) {
    missing_ = false;
    if (wire.null_branch >= 0) {
      std::int64_t branch;
      if (const Code code = in_.number(branch); code != Code::kNone) return code;
      if (branch == wire.null_branch) {
        missing_ = true;
        return Code::kNone;
      }
      if (branch != wire.value_branch) return Code::kBranch;
    }
    return in_.value(wire.wire, value);
  }
  Code time(const AvroField& wire, const Value& value) {
    if (missing_) return Code::kNoTime;
    if (kind_of(wire.wire) == Kind::kReal) {
      if (!(value.real >= 0 && value.real < 4294967296.0)) return Code::kTimeRange;
      row_.time_us = std::llround(value.real * 1e6);
      return row_.time_us < kTimeEndUs ? Code::kNone : Code::kTimeRange;
    }
    if (value.integer >= static_cast<std::uint64_t>(kTimeEndUs / wire.time_unit_us)) return Code::kTimeRange;
    row_.time_us = static_cast<std::int64_t>(value.integer) * wire.time_unit_us;
    return Code::kNone;
  }
  Code leave_unknown(const Field& field) {
    if (field.kind == Kind::kReal)
      row_.reals[field.slot] = std::nan("");
    else if (field.kind == Kind::kText)
      row_.texts[field.slot] = {};
    else
      unknown(field.slot);
    return Code::kNone;
  }
  void unknown(std::uint32_t slot) {
    if (row_.unknown.empty()) row_.unknown.assign(row_.integers.size(), 0);
    row_.integers[slot] = 0;
    row_.unknown[slot] = 1;
  }
  Code store(const AvroField& wire, const Field& field, std::uint32_t slot, const Value& value) {
    if (field.role == Role::kComponent) {
      row_.component = static_cast<std::int64_t>(value.integer);
      row_.has_component = true;
      return Code::kNone;
    }
    switch (field.kind) {
      case Kind::kUnsigned:
        row_.integers[slot] = value.integer;
        if (wire.zero_is_unknown && value.integer == 0) unknown(slot);
        break;
      case Kind::kReal:
        row_.reals[slot] = value.real;
        break;
      case Kind::kText:
        row_.texts[slot] = value.text;
        break;
    }
    if (field.role == Role::kIdentity) {
      char digits[24];
      if (field.kind == Kind::kText)
        row_.identity += value.text;
      else
        row_.identity.append(digits, std::to_chars(digits, digits + sizeof digits, value.integer).ptr);
      row_.identity += '\x1f';
    }
    return Code::kNone;
  }
  Code list(const AvroField& wire, const Field& field) {
    std::uint32_t at = 0;
    for (;;) {
      std::int64_t count;
      if (const Code code = in_.block(count); code != Code::kNone) return code;
      if (count == 0) return at == field.length ? Code::kNone : Code::kListLength;
      if (static_cast<std::uint64_t>(count) > field.length - at) return Code::kListLength;
      for (; count > 0; --count) {
        Value value;
        if (const Code code = in_.value(wire.wire, value); code != Code::kNone) return code;
        if (const Code code = store(wire, field, field.slot + at++, value); code != Code::kNone) return code;
      }
    }
  }

  const Plan& plan_;
  Row& row_;
  Cursor& in_;
  bool missing_ = false;
};

}  // namespace

AvroSchema::AvroSchema(const Plan& plan, std::vector<AvroField> fields) : plan_(plan), fields_(std::move(fields)) {
  if (fields_.size() != plan.fields().size())
    throw std::invalid_argument("the number of Avro fields must equal the number of columns");
  for (std::uint32_t i = 0; i < fields_.size(); ++i) {
    const Field& field = plan.fields()[i];
    const AvroField& wire = fields_[i];
    if (field.role == Role::kTime && (wire.list || (kind_of(wire.wire) == Kind::kUnsigned && wire.time_unit_us <= 0)))
      throw std::invalid_argument("the time " + field.name + " needs a unit");
    if (field.role != Role::kTime &&
        (kind_of(wire.wire) != field.kind || (wire.list != (field.length != 0) && !(wire.list && field.length == 0))))
      throw std::invalid_argument("column " + field.name + " is of another type than its Avro field");
    const bool plain = wire.wire == Wire::kLong && wire.null_branch < 0 && !wire.list && !wire.zero_is_unknown &&
                       field.role == Role::kValue;
    if (plain && !steps_.empty() && steps_.back().count > 0 && steps_.back().slot + steps_.back().count == field.slot)
      ++steps_.back().count;
    else
      steps_.push_back({i, plain, field.slot});
  }
}

Fault AvroSchema::decode(std::string_view record, Row& row) const {
  row.reset(plan_);
  Cursor in(record);
  Filler filler(plan_, row, in);
  for (const Step& step : steps_) {
    if (step.count > 0) {
      std::uint32_t done = 0;
      if (const Code code = in.longs(row.integers.data() + step.slot, step.count, done); code != Code::kNone)
        return in.fault(code, step.field + done);
    } else if (const Code code = filler.fill(fields_[step.field], plan_.fields()[step.field]); code != Code::kNone) {
      return in.fault(code, step.field);
    }
  }
  if (!in.at_end()) return {Code::kTrailing, -1, static_cast<std::uint32_t>(record.size() - in.left())};
  if (row.time_us < 0) return {Code::kNoTime, -1, 0};
  return {};
}

Fault measure_lists(const std::vector<AvroField>& fields, std::string_view record,
                    std::vector<std::uint32_t>& lengths) {
  constexpr std::uint64_t kMost = 1 << 16;
  Cursor in(record);
  lengths.assign(fields.size(), 0);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const AvroField& wire = fields[i];
    Value value;
    std::int64_t count = 1;
    Code code = Code::kNone;
    if (wire.null_branch >= 0) {
      code = in.number(count);
      count = count == wire.null_branch ? 0 : 1;
    }
    if (!wire.list) {
      if (code == Code::kNone && count > 0) code = in.value(wire.wire, value);
      if (code != Code::kNone) return in.fault(code, i);
      continue;
    }
    std::uint64_t elements = 0;
    for (;;) {
      if (code = in.block(count); code != Code::kNone || count == 0) break;
      elements += static_cast<std::uint64_t>(count);
      if (elements > kMost) return in.fault(Code::kListLength, i);
      for (; count > 0 && code == Code::kNone; --count) code = in.value(wire.wire, value);
      if (code != Code::kNone) break;
    }
    if (code != Code::kNone) return in.fault(code, i);
    lengths[i] = static_cast<std::uint32_t>(elements);
  }
  return {};
}

}  // namespace flitwatch::codec
