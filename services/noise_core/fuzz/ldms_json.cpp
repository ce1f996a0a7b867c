// libFuzzer target: any bytes as a store_avro_kafka JSON record either fill the plan's row or name a fault inside the
// record.
#include "codec/json.h"
#include "fuzz/ldms_plan.h"

using namespace flitwatch::codec;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Plan plan = flitwatch::fuzz::ldms_plan();
  static Row row;
  // A copy of the exact size lets AddressSanitizer see a read past the end.
  const std::string record(reinterpret_cast<const char*>(data), size);
  flitwatch::fuzz::check_row(plan, row, record, decode_json(plan, record, row));
  return 0;
}
