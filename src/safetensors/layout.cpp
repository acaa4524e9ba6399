// The layout rules: after sorting by (begin, end) the ranges must cover the data section exactly once.
#include <algorithm>

#include "base/checked.h"
#include "safetensors/header.h"

namespace wb {

SizeResult tensor_bytes(Dtype dtype, uint64_t elements) {
  // Rule 22: in bits first, so 2^61 bytes and more overflow; sub-byte totals must be whole bytes.
  const auto bits = checked_mul(elements, dtype_info(dtype).bits);
  if (!bits) return {0, Errc::shape_overflow};
  if (*bits % 8 != 0) return {0, Errc::misaligned_sub_byte};
  return {*bits / 8, std::nullopt};
}

namespace {

// Left to right, as the reference does: [0, huge, huge] passes, [huge, huge, 0] overflows.
std::optional<uint64_t> element_count(const Shape& shape) {
  uint64_t elements = 1;
  for (const uint64_t dim : shape) {
    const auto product = checked_mul(elements, dim);
    if (!product) return std::nullopt;
    elements = *product;
  }
  return elements;
}

std::string bytes_text(uint64_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

class Layout {
 public:
  Layout(Header& header, uint64_t header_bytes, uint64_t data_bytes)
      : header_(header), header_bytes_(header_bytes), data_bytes_(data_bytes) {}

  void check() {
    const auto before = [](const TensorEntry& a, const TensorEntry& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    };
    // Nearly every writer lists tensors as they lie; a sort would hold all of them twice.
    if (!std::is_sorted(header_.tensors.begin(), header_.tensors.end(), before))
      std::stable_sort(header_.tensors.begin(), header_.tensors.end(), before);
    uint64_t covered = 0;  // everything before this offset belongs to exactly one tensor
    const TensorEntry* last = nullptr;
    for (TensorEntry& tensor : header_.tensors) {
      check_range(tensor, covered, last);
      check_size(tensor);
      covered = std::max(covered, tensor.end);
      if (tensor.begin != tensor.end) last = &tensor;
    }
    check_end(covered);
  }

 private:
  void refuse(Errc code, const std::string& where, std::string message) {
    if (!header_.error) header_.error = Error{code, where, std::move(message)};
  }

  void check_range(const TensorEntry& tensor, uint64_t covered, const TensorEntry* last) {
    if (tensor.begin == covered && tensor.begin <= tensor.end) return;  // without making the words for all others
    const std::string range = std::to_string(tensor.begin) + ".." + std::to_string(tensor.end);
    if (tensor.end < tensor.begin) {
      refuse(Errc::offsets_reversed, tensor.name, "`" + tensor.name + "` ends before it begins: bytes " + range);
    } else if (tensor.begin > covered) {
      refuse(Errc::hole_in_data, tensor.name,
             bytes_text(tensor.begin - covered) + " before `" + tensor.name + "` belong to no tensor: bytes " +
                 std::to_string(covered) + ".." + std::to_string(tensor.begin));
    } else if (tensor.begin < covered) {
      const std::string other = last ? last->name : tensor.name;
      refuse(Errc::tensors_overlap, tensor.name,
             "`" + tensor.name + "` (bytes " + range + ") and `" + other + "` (bytes " +
                 (last ? std::to_string(last->begin) + ".." + std::to_string(last->end) : range) +
                 ") occupy the same bytes");
    }
  }

  void check_size(TensorEntry& tensor) {
    const auto elements = element_count(tensor.shape);
    if (!elements) {
      refuse(Errc::shape_overflow, tensor.name,
             "`" + tensor.name + "` has shape " + shape_text(tensor.shape) + ", more than 2^64 elements");
      return;
    }
    tensor.elements = *elements;
    if (!tensor.dtype) return;  // refused already: unknown_dtype
    const DtypeInfo& info = dtype_info(*tensor.dtype);
    const SizeResult size = tensor_bytes(*tensor.dtype, *elements);
    if (!size.error && size.bytes == tensor.end - tensor.begin) return;
    const std::string what = "`" + tensor.name + "` is " + std::string(info.name) + " " + shape_text(tensor.shape);
    if (size.error == Errc::shape_overflow) {
      refuse(Errc::shape_overflow, tensor.name, what + ", more than 2^64 bits");
    } else if (size.error) {
      refuse(Errc::misaligned_sub_byte, tensor.name,
             what + ": " + std::to_string(*elements) + " elements of " + std::to_string(info.bits) +
                 " bits are not a whole number of bytes");
    } else if (tensor.end >= tensor.begin && size.bytes != tensor.end - tensor.begin) {
      refuse(Errc::size_mismatch, tensor.name,
             what + ", which takes " + bytes_text(size.bytes) + ", but its range has " +
                 bytes_text(tensor.end - tensor.begin));
    }
  }

  // Rule 23, without forming 8 + N + end, which can wrap.
  void check_end(uint64_t covered) {
    const uint64_t header_end = 8 + header_bytes_;
    if (covered < data_bytes_) {
      refuse(Errc::trailing_bytes, {},
             bytes_text(data_bytes_ - covered) + " after the last tensor, from byte " +
                 std::to_string(header_end + covered) + " of the file on");
    } else if (covered > data_bytes_) {
      const auto cut = std::find_if(header_.tensors.begin(), header_.tensors.end(),
                                    [this](const TensorEntry& tensor) { return tensor.end > data_bytes_; });
      const auto expected = checked_add(header_end, covered);
      const std::string size = expected ? std::to_string(*expected) + " bytes" : "more than 2^64 bytes";
      refuse(Errc::truncated_data, cut->name,
             "the file is " + bytes_text(covered - data_bytes_) + " short: the header describes " + size +
                 ", the file has " + std::to_string(header_end + data_bytes_) + "; it is cut in `" + cut->name + "`");
    }
  }

  Header& header_;
  uint64_t header_bytes_;
  uint64_t data_bytes_;
};

}  // namespace

void validate_layout(Header& header, uint64_t header_bytes, uint64_t data_bytes) {
  Layout(header, header_bytes, data_bytes).check();
}

}  // namespace wb
