#include "codec/json.h"

#include <cstdint>

#include "codec/number.h"

namespace flitwatch::codec {

namespace {

// Length of the UTF-8 sequence at `p`, 0 where there is none.
int sequence(const unsigned char* p, const unsigned char* end) {
  const unsigned lead = *p;
  if (lead < 0x80) return lead == 0 ? 0 : 1;
  const int length = lead >= 0xC2 && lead < 0xE0   ? 2
                     : lead >= 0xE0 && lead < 0xF0 ? 3
                     : lead >= 0xF0 && lead < 0xF5 ? 4
                                                   : 0;
  if (length == 0 || end - p < length) return 0;
  for (int i = 1; i < length; ++i)
    if ((p[i] & 0xC0) != 0x80) return 0;
  if ((lead == 0xE0 && p[1] < 0xA0) || (lead == 0xED && p[1] > 0x9F) || (lead == 0xF0 && p[1] < 0x90) ||
      (lead == 0xF4 && p[1] > 0x8F))
    return 0;
  return length;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Four hexadecimal digits, or -1.
int read_hex(const char* p, const char* end) {
  if (end - p < 4) return -1;
  int value = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = hex_digit(p[i]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

// Reads the escape after a backslash at `p`; nullptr where it is none.
const char* read_escape(const char* p, const char* end, std::string& out) {
  if (p >= end) return nullptr;
  switch (*p) {
    case '"':
    case '\\':
    case '/':
      out += *p;
      return p + 1;
    case 'b':
      out += '\b';
      return p + 1;
    case 'f':
      out += '\f';
      return p + 1;
    case 'n':
      out += '\n';
      return p + 1;
    case 'r':
      out += '\r';
      return p + 1;
    case 't':
      out += '\t';
      return p + 1;
    case 'u':
      break;
    default:
      return nullptr;
  }
  const int high = read_hex(p + 1, end);
  if (high <= 0) return nullptr;  // a NUL cannot be stored
  p += 5;
  if (high < 0xD800 || high > 0xDFFF) {
    append_utf8(out, static_cast<std::uint32_t>(high));
    return p;
  }
  if (high > 0xDBFF || end - p < 6 || p[0] != '\\' || p[1] != 'u') return nullptr;
  const int low = read_hex(p + 2, end);
  if (low < 0xDC00 || low > 0xDFFF) return nullptr;
  append_utf8(out, 0x10000u + ((static_cast<std::uint32_t>(high) - 0xD800u) << 10) +
                       (static_cast<std::uint32_t>(low) - 0xDC00u));
  return p + 6;
}

}  // namespace

bool is_clean_utf8(std::string_view bytes) {
  const auto* p = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto* const end = p + bytes.size();
  while (p < end) {
    const int length = sequence(p, end);
    if (length == 0) return false;
    p += length;
  }
  return true;
}

const char* read_string(const char* p, const char* begin, const char* end, std::string& unescaped,
                        std::string_view& text, Fault& fault) {
  const char* const first = ++p;
  bool plain = true, ascii = true;
  for (;; ++p) {
    if (p >= end) {
      fault = {Code::kTruncated, -1, static_cast<std::uint32_t>(end - begin)};
      return nullptr;
    }
    const auto c = static_cast<unsigned char>(*p);
    if (c == '"') break;
    if (c == '\\') {
      plain = false;
      if (++p >= end) continue;
    }
    if (c < 0x20) {
      fault = {Code::kBadText, -1, static_cast<std::uint32_t>(p - begin)};
      return nullptr;
    }
    ascii &= c < 0x80;
  }
  if (!ascii && !is_clean_utf8({first, static_cast<std::size_t>(p - first)})) {
    fault = {Code::kBadText, -1, static_cast<std::uint32_t>(first - begin)};
    return nullptr;
  }
  if (plain) {
    text = {first, static_cast<std::size_t>(p - first)};
    return p + 1;
  }
  // Reserved at once by the caller's record size, so that earlier views stay valid.
  if (unescaped.capacity() < static_cast<std::size_t>(end - begin))
    unescaped.reserve(static_cast<std::size_t>(end - begin));
  const std::size_t at = unescaped.size();
  for (const char* q = first; q < p;) {
    if (*q != '\\') {
      unescaped += *q++;
      continue;
    }
    const char* const after = read_escape(q + 1, p, unescaped);
    if (after == nullptr) {
      fault = {Code::kBadText, -1, static_cast<std::uint32_t>(q - begin)};
      return nullptr;
    }
    q = after;
  }
  text = std::string_view(unescaped).substr(at);
  return p + 1;
}

}  // namespace flitwatch::codec
