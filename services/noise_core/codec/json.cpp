#include "codec/json.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <string>

#include "codec/number.h"

namespace flitwatch::codec {

namespace {

constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
constexpr bool ends_value(char c) { return c == ',' || c == '}' || c == ']' || is_space(c); }

class Reader {
 public:
  Reader(const Plan& plan, std::string_view record, Row& row)
      : plan_(plan), row_(row), begin_(record.data()), end_(record.data() + record.size()), p_(begin_) {}

  Fault run() {
    const std::size_t fields = plan_.fields().size();
    std::size_t field = 0;
    // The usual case: every key where it is expected.
    for (; field < fields; ++field) {
      const std::string_view literal = plan_.literal(field);
      if (static_cast<std::size_t>(end_ - p_) < literal.size() || std::memcmp(p_, literal.data(), literal.size()) != 0)
        break;
      p_ += literal.size();
      if (p_ < end_ && *p_ <= ' ') skip_space();
      if (!value(field)) return fault_;
    }
    if (field < fields) {
      if (!any_order(field)) return fault_;
    } else if (!close()) {
      return fault_;
    }
    if (row_.time_us < 0) return {Code::kNoTime, -1, 0};
    return {};
  }

 private:
  bool fail(Code code, std::int32_t field = -1) {
    const bool at_end = p_ >= end_ && code == Code::kSyntax;
    fault_ = {at_end ? Code::kTruncated : code, field, static_cast<std::uint32_t>((p_ < end_ ? p_ : end_) - begin_)};
    return false;
  }
  void skip_space() {
    while (p_ < end_ && is_space(*p_)) ++p_;
  }
  bool take(char c) {
    skip_space();
    if (p_ >= end_ || *p_ != c) return fail(Code::kSyntax);
    ++p_;
    return true;
  }
  // A key after all fields were read: one of them again, or one that the plan does not know.
  bool fail_beyond() {
    const char* const comma = p_++;
    skip_space();
    const std::size_t mark = row_.unescaped.size();
    std::string_view key;
    const std::int32_t field =
        read_string(p_, begin_, end_, row_.unescaped, key, fault_) == nullptr ? -1 : plan_.find(key);
    row_.unescaped.resize(mark);
    p_ = comma;
    return field < 0 ? fail(Code::kUnknownKey) : fail(Code::kRepeatedKey, field);
  }
  bool close() {
    if (p_ >= end_ || *p_ != '}') {
      skip_space();
      if (p_ < end_ && *p_ == ',') return fail_beyond();
      if (!take('}')) return false;
    } else {
      ++p_;
    }
    skip_space();
    return p_ == end_ || fail(Code::kTrailing);
  }

  // Reads the rest key by key; the first `done` fields have their values.
  bool any_order(std::size_t done) {
    std::vector<bool> seen(plan_.fields().size(), false);
    std::map<std::int32_t, std::string> identity;  // of what comes from here on, by field
    const std::string before = row_.identity;
    std::fill_n(seen.begin(), done, true);
    std::size_t expected = done, count = done;
    skip_space();
    if (done == 0 && !take('{')) return false;
    for (bool first = done == 0;; first = false) {
      skip_space();
      if (p_ >= end_) return fail(Code::kTruncated);
      if (*p_ == '}') break;
      if (!first && !take(',')) return false;
      skip_space();
      if (p_ >= end_ || *p_ != '"') return fail(Code::kSyntax);
      const char* const key_at = p_;
      const std::size_t mark = row_.unescaped.size();
      std::string_view key;
      const char* const after = read_string(p_, begin_, end_, row_.unescaped, key, fault_);
      if (after == nullptr) return false;
      const auto& fields = plan_.fields();
      std::int32_t field = expected < fields.size() && fields[expected].name == key
                               ? static_cast<std::int32_t>(expected)
                               : plan_.find(key);
      row_.unescaped.resize(mark);
      if (field < 0) {
        p_ = key_at;
        return fail(Code::kUnknownKey);
      }
      if (seen[static_cast<std::size_t>(field)]) {
        p_ = key_at;
        return fail(Code::kRepeatedKey, field);
      }
      p_ = after;
      if (!take(':')) return false;
      skip_space();
      const std::size_t known = row_.identity.size();
      if (!value(static_cast<std::size_t>(field))) return false;
      if (row_.identity.size() != known) identity[field] = row_.identity.substr(known);
      seen[static_cast<std::size_t>(field)] = true;
      ++count;
      expected = static_cast<std::size_t>(field) + 1;
    }
    ++p_;
    skip_space();
    if (p_ != end_) return fail(Code::kTrailing);
    if (count == seen.size()) {
      // Who sends does not depend on the order of the keys.
      row_.identity = before;
      for (const auto& [field, text] : identity) row_.identity += text;
      return true;
    }
    std::int32_t missing = 0;
    while (seen[static_cast<std::size_t>(missing)]) ++missing;
    return fail(Code::kMissingKey, missing);
  }

  bool value(std::size_t index) {
    const Field& field = plan_.fields()[index];
    const auto at = static_cast<std::int32_t>(index);
    if (field.counter) return integer(row_.integers[field.slot], at);
    if (field.role == Role::kTime) return time(at);
    if (field.length != 0) return list(field, at);
    const char* const from = p_;
    if (!scalar(field, field.slot, at)) return false;
    if (field.role == Role::kComponent) row_.has_component = true;
    if (field.role == Role::kIdentity) {
      if (field.kind == Kind::kText)
        row_.identity += row_.texts[field.slot];
      else
        row_.identity.append(from, p_);
      row_.identity += '\x1f';
    }
    return true;
  }

  bool scalar(const Field& field, std::uint32_t slot, std::int32_t at) {
    switch (field.kind) {
      case Kind::kUnsigned: {
        std::uint64_t number;
        if (!integer(number, at)) return false;
        if (field.role == Role::kComponent)
          row_.component = static_cast<std::int64_t>(number);
        else
          row_.integers[slot] = number;
        return true;
      }
      case Kind::kReal:
        return real(row_.reals[slot], at);
      case Kind::kText:
        break;
    }
    if (p_ >= end_) return fail(Code::kTruncated, at);
    if (*p_ != '"') return wrong_type(at);
    const char* const after = read_string(p_, begin_, end_, row_.unescaped, row_.texts[slot], fault_);
    if (after == nullptr) {
      fault_.field = at;
      return false;
    }
    p_ = after;
    return true;
  }

  bool list(const Field& field, std::int32_t at) {
    if (p_ >= end_) return fail(Code::kTruncated, at);
    if (*p_ != '[') return fail(Code::kWrongType, at);
    ++p_;
    for (std::uint32_t i = 0; i < field.length; ++i) {
      skip_space();
      if (p_ < end_ && *p_ == ']') return fail(Code::kListLength, at);
      if (i > 0) {
        if (!take(',')) return false;
        skip_space();
      }
      if (!scalar(field, field.slot + i, at)) return false;
    }
    skip_space();
    if (p_ < end_ && *p_ == ',') return fail(Code::kListLength, at);
    return take(']');
  }

  // What stands here instead of a number or a string.
  bool wrong_type(std::int32_t at) {
    if (p_ >= end_) return fail(Code::kTruncated, at);
    const std::string_view rest(p_, static_cast<std::size_t>(end_ - p_));
    if (rest.starts_with("null")) return fail(Code::kNull, at);
    const char first = static_cast<char>(p_[*p_ == '-' && rest.size() > 1] | 0x20);
    const bool not_finite = rest.size() > 2 && (first == 'n' || first == 'i');
    return fail(not_finite ? Code::kNotFinite : Code::kWrongType, at);
  }

  bool integer(std::uint64_t& number, std::int32_t at) {
    const char* const from = p_;
    const bool negative = p_ < end_ && *p_ == '-';
    p_ += negative;
    int digits = 0;
    bool overflow = false;
    const char* const after = read_digits(p_, end_, number, digits, overflow);
    if (digits == 0) {
      p_ = from;
      return wrong_type(at);
    }
    if (digits > 1 && *p_ == '0') return fail(Code::kSyntax, at);
    if (after >= end_) {
      p_ = after;
      return fail(Code::kTruncated, at);
    }
    if (!ends_value(*after)) {
      const bool is_real = *after == '.' || *after == 'e' || *after == 'E';
      p_ = is_real ? from : after;
      return fail(is_real ? Code::kOtherNumber : Code::kSyntax, at);
    }
    p_ = after;
    if (negative) {
      overflow |= number > std::uint64_t{1} << 63;
      number = ~number + 1;
    }
    if (overflow) {
      p_ = from;
      return fail(Code::kTooLarge, at);
    }
    return true;
  }

  bool real(double& number, std::int32_t at) {
    const bool signed_ = p_ < end_ && *p_ == '-';
    if (p_ + signed_ >= end_ || p_[signed_] < '0' || p_[signed_] > '9') return wrong_type(at);
    const auto [after, error] = std::from_chars(p_, end_, number);
    if (error != std::errc() || !std::isfinite(number)) return fail(Code::kTooLarge, at);
    if (after >= end_) {
      p_ = after;
      return fail(Code::kTruncated, at);
    }
    if (!ends_value(*after)) {
      p_ = after;
      return fail(Code::kSyntax, at);
    }
    p_ = after;
    return true;
  }

  // Seconds with a fraction, exact to the microsecond.
  bool time(std::int32_t at) {
    const char* const from = p_;
    std::uint64_t seconds = 0, micros = 0;
    int digits = 0;
    bool overflow = false;
    p_ = read_digits(p_, end_, seconds, digits, overflow);
    if (digits == 0 || (p_ < end_ && (*p_ == 'e' || *p_ == 'E'))) {
      p_ = from;
      return time_by_real(at);
    }
    if (p_ < end_ && *p_ == '.') {
      int scale = 100'000;
      for (++p_; p_ < end_ && *p_ >= '0' && *p_ <= '9'; ++p_, scale /= 10)
        micros += static_cast<std::uint64_t>(*p_ - '0') * static_cast<std::uint64_t>(scale);
    }
    if (p_ >= end_) return fail(Code::kTruncated, at);
    if (!ends_value(*p_)) {
      p_ = from;
      return time_by_real(at);
    }
    if (overflow || seconds >= std::uint64_t{1} << 32) {
      p_ = from;
      return fail(Code::kTimeRange, at);
    }
    row_.time_us = static_cast<std::int64_t>(seconds * 1'000'000 + micros);
    return true;
  }

  bool time_by_real(std::int32_t at) {
    const char* const from = p_;
    double seconds = 0;
    if (!real(seconds, at)) return false;
    if (seconds < 0 || seconds >= static_cast<double>(std::uint64_t{1} << 32)) {
      p_ = from;
      return fail(Code::kTimeRange, at);
    }
    row_.time_us = std::llround(seconds * 1e6);
    if (row_.time_us >= kTimeEndUs) return fail(Code::kTimeRange, at);
    return true;
  }

  const Plan& plan_;
  Row& row_;
  const char* const begin_;
  const char* const end_;
  const char* p_;
  Fault fault_;
};

}  // namespace

Fault decode_json(const Plan& plan, std::string_view record, Row& row) {
  row.reset(plan);
  return Reader(plan, record, row).run();
}

}  // namespace flitwatch::codec
