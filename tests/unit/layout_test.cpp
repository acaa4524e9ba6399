// validate_layout: rules 20..25. The ranges cover the data section exactly once.
#include <catch2/catch.hpp>

#include "safetensors/header.h"

using namespace wb;

namespace {

TensorEntry entry(const std::string& name, Dtype dtype, Shape shape, uint64_t begin, uint64_t end) {
  TensorEntry each;
  each.name = name;
  each.dtype = dtype;
  each.shape = std::move(shape);
  each.begin = begin;
  each.end = end;
  return each;
}

constexpr uint64_t kMax = UINT64_MAX;

}  // namespace

TEST_CASE("layout: what is refused, with both numbers") {
  struct Row {
    const char* name;
    std::vector<TensorEntry> tensors;
    uint64_t data_bytes;
    const char* code;
    std::vector<const char*> mentions;
  };
  const Row rows[] = {
      {"ends before it begins", {entry("a", Dtype::U8, {0}, 4, 2)}, 4, "offsets_reversed", {"`a`", "4..2"}},
      {"hole at the start", {entry("a", Dtype::U8, {2}, 1, 3)}, 3, "hole_in_data", {"1 byte before `a`", "0..1"}},
      {"hole between",
       {entry("a", Dtype::U8, {2}, 0, 2), entry("b", Dtype::U8, {2}, 10, 12)},
       12,
       "hole_in_data",
       {"8 bytes", "`b`", "2..10"}},
      {"overlap",
       {entry("a", Dtype::U8, {4}, 0, 4), entry("b", Dtype::U8, {4}, 2, 6)},
       6,
       "tensors_overlap",
       {"`a` (bytes 0..4)", "`b` (bytes 2..6)"}},
      {"the same range",
       {entry("a", Dtype::U8, {4}, 0, 4), entry("b", Dtype::U8, {4}, 0, 4)},
       4,
       "tensors_overlap",
       {"`a`", "`b`"}},
      {"empty inside another",
       {entry("a", Dtype::U8, {4}, 0, 4), entry("b", Dtype::U8, {0}, 2, 2)},
       4,
       "tensors_overlap",
       {"`b`", "`a`"}},
      {"empty past the end",
       {entry("a", Dtype::U8, {4}, 0, 4), entry("b", Dtype::U8, {0}, 9, 9)},
       4,
       "hole_in_data",
       {"5 bytes"}},
      {"too short a range",
       {entry("a", Dtype::F32, {3}, 0, 11)},
       11,
       "size_mismatch",
       {"F32 [3]", "12 bytes", "11 bytes"}},
      {"too long a range", {entry("a", Dtype::BF16, {1}, 0, 3)}, 3, "size_mismatch", {"2 bytes", "3 bytes"}},
      {"scalar of no bytes", {entry("a", Dtype::U8, {}, 0, 0)}, 0, "size_mismatch", {"1 byte", "0 bytes"}},
      {"half a byte", {entry("a", Dtype::F4, {3}, 0, 2)}, 2, "misaligned_sub_byte", {"3 elements of 4 bits"}},
      {"three quarters", {entry("a", Dtype::F6_E2M3, {5}, 0, 4)}, 4, "misaligned_sub_byte", {"5 elements of 6 bits"}},
      {"elements beyond 64 bits", {entry("a", Dtype::U8, {kMax, 2}, 0, 1)}, 1, "shape_overflow", {"2^64 elements"}},
      {"overflow before the zero", {entry("a", Dtype::U8, {kMax, kMax, 0}, 0, 0)}, 0, "shape_overflow", {}},
      {"bits beyond 64 bits", {entry("a", Dtype::U8, {uint64_t{1} << 61}, 0, 1)}, 1, "shape_overflow", {"2^64 bits"}},
      {"one byte too many", {entry("a", Dtype::U8, {4}, 0, 4)}, 5, "trailing_bytes", {"1 byte after", "byte 112"}},
      {"no tensors but bytes", {}, 5, "trailing_bytes", {"5 bytes"}},
      {"cut off",
       {entry("a", Dtype::U8, {4}, 0, 4), entry("b", Dtype::U8, {6}, 4, 10)},
       7,
       "truncated_data",
       {"3 bytes short", "118 bytes", "115", "cut in `b`"}},
      {"to the end of numbers",
       {entry("a", Dtype::U8, {1}, 0, 1), entry("b", Dtype::U8, {1}, 1, kMax)},
       10,
       "size_mismatch",
       {"18446744073709551614"}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    Header header;
    header.tensors = row.tensors;
    validate_layout(header, 100, row.data_bytes);
    REQUIRE(header.error);
    CHECK(errc_name(header.error->code) == row.code);
    for (const char* const text : row.mentions) CHECK_THAT(header.error->message, Catch::Contains(text));
  }
}

TEST_CASE("layout: what is accepted, in offset order, with its elements counted") {
  struct Row {
    const char* name;
    std::vector<TensorEntry> tensors;
    uint64_t data_bytes;
    std::string order;
  };
  const Row rows[] = {
      {"nothing", {}, 0, ""},
      {"header order is free", {entry("b", Dtype::U8, {4}, 4, 8), entry("a", Dtype::F32, {}, 0, 4)}, 8, "ab"},
      {"zero-size tensors share a border",
       {entry("c", Dtype::U8, {2}, 2, 4), entry("x", Dtype::F64, {0}, 2, 2), entry("y", Dtype::U8, {5, 0}, 2, 2),
        entry("a", Dtype::U8, {2}, 0, 2), entry("z", Dtype::U8, {0}, 4, 4)},
       4,
       "axycz"},
      {"zero after huge dims", {entry("a", Dtype::U8, {0, kMax, kMax}, 0, 0)}, 0, "a"},
      {"rows of half bytes", {entry("a", Dtype::F4, {2, 3}, 0, 3)}, 3, "a"},
      {"odd places", {entry("a", Dtype::U8, {1}, 0, 1), entry("b", Dtype::F64, {1}, 1, 9)}, 9, "ab"},
      {"beyond 4 GiB", {entry("a", Dtype::F32, {uint64_t{1} << 40}, 0, uint64_t{1} << 42)}, uint64_t{1} << 42, "a"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    Header header;
    header.tensors = row.tensors;
    validate_layout(header, 64, row.data_bytes);
    CHECK_FALSE(header.error);
    std::string order;
    for (const TensorEntry& tensor : header.tensors) {
      order += tensor.name;
      uint64_t elements = 1;
      for (const uint64_t dim : tensor.shape) elements *= dim;
      CHECK(tensor.elements == elements);
    }
    CHECK(order == row.order);
  }
}

TEST_CASE("layout: an earlier error stays, and elements are counted all the same") {
  Header header;
  header.error = Error{Errc::unknown_dtype, "a", "first"};
  header.tensors = {entry("a", Dtype::U8, {3}, 5, 6)};
  header.tensors[0].dtype.reset();
  validate_layout(header, 8, 100);
  CHECK(header.error->code == Errc::unknown_dtype);
  CHECK(header.tensors[0].elements == 3);
}

TEST_CASE("layout: sizes of the sub-byte and the widest types") {
  CHECK(tensor_bytes(Dtype::F4, 2).bytes == 1);
  CHECK(tensor_bytes(Dtype::F4, 1).error == Errc::misaligned_sub_byte);
  CHECK(tensor_bytes(Dtype::F6_E3M2, 4).bytes == 3);
  CHECK(tensor_bytes(Dtype::F64, (uint64_t{1} << 58) - 1).bytes == ((uint64_t{1} << 58) - 1) * 8);
  CHECK(tensor_bytes(Dtype::F64, uint64_t{1} << 58).error == Errc::shape_overflow);
}
