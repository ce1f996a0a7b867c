// A row schema with a field of every kind and role, and the invariants of a decoded row.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "codec/fault.h"
#include "codec/plan.h"

namespace flitwatch::fuzz {

inline codec::Plan ldms_plan() {
  using codec::Kind, codec::Role;
  return codec::Plan({
      {.name = "timestamp", .kind = Kind::kReal, .role = Role::kTime},
      {.name = "component_id", .kind = Kind::kUnsigned, .role = Role::kComponent},
      {.name = "producer", .kind = Kind::kText, .role = Role::kIdentity},
      {.name = "hfi1_0", .kind = Kind::kUnsigned, .counter = true},
      {.name = "tiles", .kind = Kind::kUnsigned, .length = 4},
      {.name = "state", .kind = Kind::kUnsigned},
      {.name = "load", .kind = Kind::kReal},
      {.name = "lanes", .kind = Kind::kReal, .length = 2},
      {.name = "router", .kind = Kind::kText},
  });
}

inline void check_row(const codec::Plan& plan, const codec::Row& row, std::string_view record,
                      const codec::Fault& fault) {
  if (fault) {
    if (fault.at > record.size() || fault.field >= static_cast<std::int32_t>(plan.fields().size())) std::abort();
    return;
  }
  if (row.integers.size() != plan.integers() || row.reals.size() != plan.reals() || row.texts.size() != plan.texts())
    std::abort();
  if (row.time_us < 0 || row.time_us >= codec::kTimeEndUs) std::abort();
  std::size_t total = 0;
  for (std::string_view text : row.texts)
    for (char c : text) total += static_cast<unsigned char>(c);  // every byte is read
  if (total > 255 * (record.size() + row.unescaped.size())) std::abort();
}

}  // namespace flitwatch::fuzz
