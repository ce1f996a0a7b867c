// Strict JSON strings and UTF-8.
#pragma once

#include <string>
#include <string_view>

#include "codec/fault.h"

namespace flitwatch::codec {

// Returns whether the bytes are UTF-8 that a database accepts: no overlong forms, no surrogates, no NUL.
bool is_clean_utf8(std::string_view bytes);

// Reads a JSON string whose opening quote is at `p`. Returns its end, or nullptr with `fault` set. `text` refers to the
// record, or to `unescaped` if the string contains escapes.
const char* read_string(const char* p, const char* begin, const char* end, std::string& unescaped,
                        std::string_view& text, Fault& fault);

}  // namespace flitwatch::codec
