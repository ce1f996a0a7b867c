// Decodes one flat JSON object, in the format of store_avro_kafka, into a row.
#pragma once

#include <string_view>

#include "codec/fault.h"
#include "codec/plan.h"

namespace flitwatch::codec {

// Decodes strictly by RFC 8259. Keys in the plan's order take one comparison each; other keys are looked up. A fault
// accepted by `is_mismatch` means that another plan may fit. `row` is reset first. Its views are valid as long as the
// record.
Fault decode_json(const Plan& plan, std::string_view record, Row& row);

}  // namespace flitwatch::codec
