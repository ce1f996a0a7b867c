// One flat JSON object, as store_avro_kafka writes it, into a row.
#pragma once

#include <string_view>

#include "codec/fault.h"
#include "codec/plan.h"

namespace flitwatch::codec {

// Decodes strictly by RFC 8259. Keys are expected in the plan's order, which costs a comparison each; another order is
// looked up. A fault that `is_mismatch` says that another plan may fit. `row` is reset first; its views end with the
// record.
Fault decode_json(const Plan& plan, std::string_view record, Row& row);

}  // namespace flitwatch::codec
