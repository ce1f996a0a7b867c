// Source and destination of frames: an interface's packet socket, or a TAP device whose kernel side the host's programs
// use.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace flitwatch::packet_path {

struct Arrived {
  std::span<std::uint8_t> frame;     // valid until the next receive; includes VLAN tags that the kernel removed
  std::int64_t epoch_ns = 0;         // time when the kernel received it
  bool unfinished_checksum = false;  // the sender left its transport checksum to a network card that does not exist
};

class Device {
 public:
  // `network_namespace`: its path, or empty for the caller's own. Throw std::system_error that names the interface.
  static Device packet_socket(const std::string& network_namespace, const std::string& interface);
  static Device tap(const std::string& network_namespace, const std::string& interface);
  Device(Device&& other) noexcept;
  Device& operator=(Device&&) = delete;
  ~Device();

  int fd() const { return fd_; }
  bool receive(Arrived& arrived);                        // false: no frame is available
  bool send(std::span<const std::uint8_t> frame) const;  // false: the interface did not accept it
  std::uint64_t overruns();  // frames that the kernel dropped because they were not read in time, since the start

 private:
  Device(int fd, bool tap);
  int fd_;
  bool tap_;
  std::uint64_t overruns_ = 0;
  std::vector<std::uint8_t> buffer_;
};

}  // namespace flitwatch::packet_path
