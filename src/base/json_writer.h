// JsonWriter: appends JSON text to a string. Used for header text, where the bytes must equal the
// reference writer's (serde_json's escaping, no white space), and for every reply of the session.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace wb {

class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }

  /// The next value belongs to this key. `name` must be valid UTF-8.
  JsonWriter& key(std::string_view name);
  /// The same of a name of ours, in which nothing needs an escape.
  template <size_t N>
  JsonWriter& key(const char (&name)[N]) {
    char text[N + 3];  // in one piece: the string's own bookkeeping costs more than the bytes
    size_t size = 0;
    if (!first_ && !after_key_) text[size++] = ',';
    text[size++] = '"';
    std::memcpy(text + size, name, N - 1);
    size += N - 1;
    text[size++] = '"';
    text[size++] = ':';
    out_.append(text, size);
    first_ = false;
    after_key_ = true;
    return *this;
  }

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool truth);
  JsonWriter& value(uint64_t number);
  JsonWriter& value(int64_t number);
  JsonWriter& value(uint32_t number) { return value(static_cast<uint64_t>(number)); }
  JsonWriter& value(int number) { return value(static_cast<int64_t>(number)); }
  /// The shortest text that reads back as this float; NaN and the infinities become strings, since
  /// JSON has no spelling for them.
  JsonWriter& value(float number);

  template <class Name, class T>
  JsonWriter& field(const Name& name, const T& content) {
    return key(name).value(content);
  }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate() {
    if (!first_ && !after_key_) out_ += ',';
    first_ = after_key_ = false;
  }
  void quote(std::string_view text);
  void digits(uint64_t number);

  std::string& out_;
  bool first_ = true;       // nothing stands yet in the innermost container
  bool after_key_ = false;  // a key was written and waits for its value
};

}  // namespace wb
