// Codes of errors in a record. The Python interface has their texts.
#pragma once

#include <cstdint>

namespace flitwatch::codec {

enum class Code : std::uint8_t {
  kNone,
  // The record is unreadable.
  kTruncated,    // ends inside a value
  kSyntax,       // a byte that the format does not allow here
  kTrailing,     // bytes after the record's end
  kBadText,      // a string with a bad escape, a control character or bytes that are not UTF-8
  kWrongType,    // a value of a different type than its column
  kTooLarge,     // an integer beyond 64 bits
  kNotFinite,    // NaN or infinity where a number is needed
  kNull,         // no value although one is required
  kRepeatedKey,  // a metric that occurs twice
  kNoTime,       // no timestamp
  kTimeRange,    // a timestamp outside 1970 to 2106
  kBranch,       // an Avro union branch or block count that does not exist
  // The record has a different row than the plan: another plan may fit.
  kUnknownKey,
  kMissingKey,
  kListLength,
  kOtherNumber,  // a real number although the plan has an integer
  // The record is valid but does not fit its instance's history.
  kConflict,  // repeats a timestamp with other values
  kLate,      // older than all samples kept
  kFuture,    // far ahead of the current time
};

// Returns whether another plan may fit.
constexpr bool is_mismatch(Code code) { return code >= Code::kUnknownKey && code <= Code::kOtherNumber; }

struct Fault {
  Code code = Code::kNone;
  std::int32_t field = -1;  // index into the plan's fields, -1 unknown
  std::uint32_t at = 0;     // byte of the record

  explicit operator bool() const { return code != Code::kNone; }
};

}  // namespace flitwatch::codec
