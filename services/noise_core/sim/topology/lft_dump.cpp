#include "sim/topology/lft_dump.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <optional>
#include <unordered_map>

namespace flitwatch::sim {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const auto begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// The beginning of a line, for a message: whole characters of UTF-8.
std::string quoted(std::string_view line) {
  std::size_t end = std::min<std::size_t>(line.size(), 40);
  while (end > 0 && end < line.size() && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;
  return "'" + std::string(line.substr(0, end)) + "'";
}

// Takes a number off the front; `text` then begins after it.
template <class Number>
std::optional<Number> take(std::string_view& text, int base) {
  if (base == 16) {
    if (!text.starts_with("0x") && !text.starts_with("0X")) return std::nullopt;
    text.remove_prefix(2);
  }
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<std::uint64_t> guid_after(std::string_view text, std::string_view word) {
  const auto at = text.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  auto rest = trimmed(text.substr(at + word.size()));
  return take<std::uint64_t>(rest, 16);
}

LftDump::Switch header(std::string_view line, std::size_t number) {
  const auto guid = guid_after(line, " guid ");
  if (!guid) throw LftSyntaxError(number, "the switch has no guid");
  const auto open = line.find('(', line.find(" guid ")), close = line.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    throw LftSyntaxError(number, "the switch has no name");
  std::string_view name = line.substr(open + 1, close - open - 1);
  if (name.size() >= 2 && name.front() == '\'' && name.back() == '\'') name = name.substr(1, name.size() - 2);
  return {*guid, std::string(name)};
}

bool is_decoration(std::string_view line) {
  constexpr std::array kWords{"#", "Lid", "Port", "Switch path"};
  for (const std::string_view word : kWords)
    if (line.starts_with(word)) return true;
  return line.ends_with("lids dumped") || line.ends_with("lids dumped ");
}

std::string hex(std::uint64_t value, int digits) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%0*llx", digits, static_cast<unsigned long long>(value));
  return "0x" + std::string(text.data());
}

// What was read so far, so that a line which contradicts another is found: a table has one port a LID, a LID one owner,
// and an owner the LIDs of one aligned block (LMC at most 7).
class Seen {
 public:
  void open(std::uint64_t switch_guid) { table_ = &tables_[switch_guid]; }

  void add(std::size_t line, std::uint16_t lid, std::uint16_t port, std::uint64_t port_guid) {
    if (table_->size() <= lid) table_->resize(lid + 1u, kNone);
    std::int16_t& before = (*table_)[lid];
    if (before != kNone && before != port)
      throw LftSyntaxError(line, "LID " + hex(lid, 4) + " leaves by port " + std::to_string(port) + ", but by port " +
                                     std::to_string(before) + " in an earlier line of this switch");
    before = static_cast<std::int16_t>(port);
    if (port_guid == 0) return;
    const auto [owner, fresh] = owners_.emplace(lid, port_guid);
    if (!fresh && owner->second != port_guid)
      throw LftSyntaxError(line, "LID " + hex(lid, 4) + " belongs to port GUID " + hex(port_guid, 16) + ", but to " +
                                     hex(owner->second, 16) + " in an earlier line");
    const auto [first, unseen] = lids_.emplace(port_guid, lid);
    if (!unseen && (first->second ^ lid) >= kMostLids)
      throw LftSyntaxError(line, "port GUID " + hex(port_guid, 16) + " has LID " + hex(lid, 4) + ", but " +
                                     hex(first->second, 4) + " in an earlier line");
  }

 private:
  static constexpr std::int16_t kNone = -1;
  static constexpr int kMostLids = 128;
  std::vector<std::int16_t>* table_ = nullptr;
  std::unordered_map<std::uint64_t, std::vector<std::int16_t>> tables_;
  std::unordered_map<std::uint16_t, std::uint64_t> owners_;
  std::unordered_map<std::uint64_t, std::uint16_t> lids_;
};

void entry(std::string_view line, std::size_t number, LftDump& dump, Seen& seen) {
  if (dump.switches.empty()) throw LftSyntaxError(number, "an entry before any switch");
  std::string_view rest = line;
  const auto lid = take<std::uint16_t>(rest, 16);
  rest = trimmed(rest);
  const auto port = take<std::uint16_t>(rest, 10);
  if (!lid || !port || *port > 255) throw LftSyntaxError(number, quoted(line) + " is not a LID with an output port");
  rest = trimmed(rest);
  if (!rest.empty() && rest.front() != '#' && rest.front() != ':')
    throw LftSyntaxError(number, "unexpected text after the output port");
  dump.at_switch.push_back(static_cast<std::uint32_t>(dump.switches.size() - 1));
  dump.lid.push_back(*lid);
  dump.port.push_back(*port);
  dump.port_guid.push_back(guid_after(rest, "portguid ").value_or(0));
  seen.add(number, *lid, *port, dump.port_guid.back());
}

// A bare entry takes the GUID that another switch gives for its LID.
void complete(LftDump& dump) {
  std::unordered_map<std::uint16_t, std::uint64_t> known;
  for (std::size_t i = 0; i < dump.lid.size(); ++i)
    if (dump.port_guid[i] != 0) known.emplace(dump.lid[i], dump.port_guid[i]);
  for (std::size_t i = 0; i < dump.lid.size(); ++i)
    if (dump.port_guid[i] == 0)
      if (const auto at = known.find(dump.lid[i]); at != known.end()) dump.port_guid[i] = at->second;
}

}  // namespace

LftDump parse_lft_dump(std::string_view text) {
  LftDump dump;
  Seen seen;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // some editors begin with a byte order mark
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const auto line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.starts_with("Unicast lids")) {
      dump.switches.push_back(header(line, number));
      seen.open(dump.switches.back().guid);
    } else if (line.starts_with("0x")) {
      entry(line, number, dump, seen);
    } else if (!line.empty() && !is_decoration(line)) {
      throw LftSyntaxError(number, quoted(line) + " is neither a switch nor an entry");
    }
  }
  if (dump.switches.empty()) throw LftSyntaxError(1, "no switch: this is not a dump of forwarding tables");
  complete(dump);
  return dump;
}

}  // namespace flitwatch::sim
