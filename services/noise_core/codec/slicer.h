// Which slice of a topic's devices a record belongs to, from its bytes alone: writers that share a topic must agree
// before they know its plans.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "codec/avro.h"

namespace flitwatch::codec {

// A device is named by the first of these that a record holds: its component, in blocks of four because the nodes of
// one Aries router are one device, and not 0, which is what nobody set, unless the set is of an Aries; one of the texts
// that say whose counters they are, in the order of `kNames`. Where nothing names a device, all are one.
class Slicer {
 public:
  static constexpr std::int32_t kUnknown = -1;
  static constexpr std::string_view kComponent = "component_id";
  static constexpr std::string_view kNames[] = {"guid",       "node_guid",    "port_guid", "aries_rtr_id",
                                                "node_name",  "hostname",     "host",      "producer",
                                                "M_producer", "ProducerName", "instance",  "M_instance"};

  // `component`: index of the field, or -1; `names`: indexes of the fields that name a device, the best first; `aries`:
  // whether it is of an Aries.
  void add_avro(std::uint32_t schema_id, std::vector<AvroField> fields, std::int32_t component,
                std::vector<std::int32_t> names, bool aries);
  // The slice of each record, or `kUnknown` where its Avro schema was not told.
  void slices(std::span<const std::string_view> records, std::uint32_t count, std::int32_t* out) const;

 private:
  struct Head {
    std::vector<AvroField> fields;  // to the last that is needed
    std::int32_t component;
    std::vector<std::int32_t> names;
    bool aries;
  };
  std::unordered_map<std::uint32_t, Head> heads_;
};

}  // namespace flitwatch::codec
