// Strict JSON: strings and UTF-8, and one flat object in the format of store_avro_kafka as a row.
#pragma once

#include <string>
#include <string_view>

#include "codec/fault.h"
#include "codec/plan.h"

namespace flitwatch::codec {

// Strict JSON strings and UTF-8.

// Returns whether the bytes are UTF-8 that a database accepts: no overlong forms, no surrogates, no NUL.
bool is_clean_utf8(std::string_view bytes);

// Reads a JSON string whose opening quote is at `p`. Returns its end, or nullptr with `fault` set. `text` refers to the
// record, or to `unescaped` if the string contains escapes.
const char* read_string(const char* p, const char* begin, const char* end, std::string& unescaped,
                        std::string_view& text, Fault& fault);

// Decodes strictly by RFC 8259. Keys in the plan's order take one comparison each; other keys are looked up. A fault
// accepted by `is_mismatch` means that another plan may fit. `row` is reset first. Its views are valid as long as the
// record.
Fault decode_json(const Plan& plan, std::string_view record, Row& row);

}  // namespace flitwatch::codec
