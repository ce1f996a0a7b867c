// Where frames come from and go to: an interface's packet socket, or a TAP device whose kernel side belongs to the
// host's programs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace flitwatch::packet_path {

struct Arrived {
  std::span<std::uint8_t> frame;     // valid until the next receive; VLAN tags that the kernel took off are back
  std::int64_t epoch_ns = 0;         // when the kernel took it in
  bool unfinished_checksum = false;  // the sender left its transport checksum to a card that is not there
};

class Device {
 public:
  // `network_namespace`: path of one, or empty for the caller's own. Throw std::system_error that names the interface.
  static Device packet_socket(const std::string& network_namespace, const std::string& interface);
  static Device tap(const std::string& network_namespace, const std::string& interface);
  Device(Device&& other) noexcept;
  Device& operator=(Device&&) = delete;
  ~Device();

  int fd() const { return fd_; }
  bool receive(Arrived& arrived);                        // false: nothing is there
  bool send(std::span<const std::uint8_t> frame) const;  // false: the interface did not take it
  std::uint64_t overruns();  // frames that the kernel dropped because nobody read them, since the beginning

 private:
  Device(int fd, bool tap);
  int fd_;
  bool tap_;
  std::uint64_t overruns_ = 0;
  std::vector<std::uint8_t> buffer_;
};

}  // namespace flitwatch::packet_path
