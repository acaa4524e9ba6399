// Any bytes as a safetensors file: sniffing, parsing and layout checks must neither crash nor disagree with
// themselves. A header that is accepted is written again and must read back the same.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/bytes.h"
#include "safetensors/header.h"
#include "safetensors/header_write.h"
#include "safetensors/sniff.h"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

// What the rest of the core relies on once a header has no error.
void check_sound(const wb::Header& header, uint64_t data_bytes) {
  uint64_t position = 0;
  for (const wb::TensorEntry& tensor : header.tensors) {
    check(tensor.dtype.has_value());
    check(tensor.begin == position && tensor.end >= tensor.begin);
    const wb::SizeResult size = wb::tensor_bytes(*tensor.dtype, tensor.elements);
    check(!size.error && size.bytes == tensor.end - tensor.begin);
    position = tensor.end;
  }
  check(position == data_bytes);
}

bool same_entry(const wb::TensorEntry& a, const wb::TensorEntry& b) {
  return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape && a.elements == b.elements &&
         a.begin == b.begin && a.end == b.end;
}

// What is accepted can be written, and says the same then.
void check_rewritten(const wb::Header& header, uint64_t data_bytes) {
  std::vector<wb::WrittenTensor> tensors;
  for (const wb::TensorEntry& each : header.tensors) {
    tensors.push_back({each.name, *each.dtype, &each.shape, each.begin, each.end});
  }
  const auto written = wb::write_header(tensors, header.metadata);
  if (!written) return;  // escapes can make the text longer than the limit
  const wb::ByteView text{reinterpret_cast<const uint8_t*>(written->data()) + 8, written->size() - 8};
  check(wb::load_le<uint64_t>(written->data()) == text.size() && text.size() % 8 == 0);
  wb::Header again = wb::parse_header(text);
  wb::validate_layout(again, text.size(), data_bytes);
  check(!again.error);
  check(
      std::equal(header.tensors.begin(), header.tensors.end(), again.tensors.begin(), again.tensors.end(), same_entry));
  wb::Metadata sorted = header.metadata;
  std::sort(sorted.begin(), sorted.end());
  check(again.metadata == sorted);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const wb::ByteView file{data, size};
  wb::sniff(file.first(size < wb::kSniffBytes ? size : static_cast<size_t>(wb::kSniffBytes)), size);
  if (size < 8) return 0;
  const uint64_t length = wb::load_le<uint64_t>(data);
  // A length that does not fit: the rest is taken as header text, so that the parser is reached often.
  const uint64_t text_bytes = length <= size - 8 ? length : size - 8;
  wb::Header header = wb::parse_header(file.subspan(8, static_cast<size_t>(text_bytes)));
  const uint64_t data_bytes = size - 8 - text_bytes;
  wb::validate_layout(header, text_bytes, data_bytes);
  if (!header.error) {
    check_sound(header, data_bytes);
    check_rewritten(header, data_bytes);
  }
  return 0;
}
