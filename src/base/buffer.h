// Buffer: the only big allocation. Under -fno-exceptions both new and new(nothrow) abort when memory
// is short (measured, reference/style.md 2.4); malloc returns null, so this type can report it.
#pragma once

#include <cstdlib>
#include <utility>

#include "base/bytes.h"
#include "base/result.h"

namespace wb {

class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Buffer() { std::free(data_); }

  /// size_bytes > 0 uninitialised bytes, or out_of_memory.
  static Result<Buffer> create(uint64_t size_bytes) {
    Buffer buffer;
    if (size_bytes <= SIZE_MAX) buffer.data_ = static_cast<uint8_t*>(std::malloc(static_cast<size_t>(size_bytes)));
    if (!buffer.data_) {
      return fail(Errc::out_of_memory, {}, "could not get " + std::to_string(size_bytes) + " bytes of memory");
    }
    buffer.size_ = static_cast<size_t>(size_bytes);
    return buffer;
  }

  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  MutableBytes span() { return {data_, size_}; }
  ByteView view() const { return {data_, size_}; }

 private:
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace wb
