// libFuzzer target: the first byte chooses how the fields stand in an Avro record, the rest is the record.
#include "codec/avro.h"
#include "fuzz/ldms_plan.h"

using namespace flitwatch::codec;

namespace {

// Three schemas of one plan: plain, with unions of null, and with zeros that stand for unknown.
AvroSchema schema(const Plan& plan, int layout) {
  std::vector<AvroField> fields;
  for (const Field& field : plan.fields()) {
    AvroField avro;
    avro.wire = field.kind == Kind::kText ? Wire::kString : field.kind == Kind::kReal ? Wire::kDouble : Wire::kLong;
    if (field.role == Role::kTime) {
      avro.wire = layout == 1 ? Wire::kDouble : Wire::kLong;
      avro.time_unit_us = layout == 1 ? 1'000'000 : 1'000;
    }
    avro.list = field.length > 0;
    if (layout == 1 && field.role == Role::kValue && !avro.list) avro.null_branch = 0, avro.value_branch = 1;
    avro.zero_is_unknown = layout == 2 && field.kind == Kind::kUnsigned;
    fields.push_back(avro);
  }
  return AvroSchema(plan, std::move(fields));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Plan plan = flitwatch::fuzz::ldms_plan();
  static const AvroSchema schemas[] = {schema(plan, 0), schema(plan, 1), schema(plan, 2)};
  static Row row;
  if (size == 0) return 0;
  const std::string record(reinterpret_cast<const char*>(data + 1), size - 1);
  flitwatch::fuzz::check_row(plan, row, record, schemas[data[0] % 3].decode(record, row));
  return 0;
}
