// match_grid: every row of formats.md section 4, and the index formula against a map of every element.
#include <catch2/catch.hpp>

#include "oracle/kernel_cases.h"
#include "quant/grid.h"

using namespace wb;

namespace {

struct Row {
  const char* name;
  Shape weight;
  Shape scale;
  const char* granularity;
  uint64_t group_rows;
  uint64_t group_cols;
  const char* notes = "";
  GridHints hints = {};
};

std::string codes(const GridMatch& match) {
  std::string all;
  for (const Error& note : match.notes) all += (all.empty() ? "" : " ") + std::string(errc_name(note.code));
  if (match.problem) all += (all.empty() ? "!" : " !") + std::string(errc_name(match.problem->code));
  return all;
}

GridHints block(uint64_t rows, uint64_t cols) { return {{{rows, cols}}, 1}; }

GridHints outputs_last() {
  GridHints hints;
  hints.outputs_last = true;
  return hints;
}

GridHints parts(uint64_t n) {
  GridHints hints;
  hints.parts = n;
  return hints;
}

}  // namespace

TEST_CASE("grid: which reading a pair of shapes gets") {
  const Row rows[] = {
      {"tensor, []", {4, 6}, {}, "per_tensor", 4, 6},
      {"tensor, [1]", {4, 6}, {1}, "per_tensor", 4, 6},
      {"tensor, [1, 1]", {4, 6}, {1, 1}, "per_tensor", 4, 6},
      {"tensor, of a scalar", {}, {}, "per_tensor", 1, 1},
      {"tensor, of a vector", {7}, {1}, "per_tensor", 7, 1},
      {"tensor, of a stack", {2, 4, 6}, {1}, "per_tensor", 8, 6},
      {"tensor, of a convolution", {4, 3, 2, 2}, {}, "per_tensor", 4, 12},
      {"tensor, whatever the config says", {300, 300}, {1}, "per_tensor", 300, 300, "", block(128, 128)},
      {"rows, [N]", {4, 6}, {4}, "per_row", 1, 6},
      {"rows, [N, 1]", {4, 6}, {4, 1}, "per_row", 1, 6},
      {"rows where N == K", {6, 6}, {6}, "per_row", 1, 6},
      {"rows of a vector", {6}, {6}, "per_row", 1, 1},
      {"rows of a convolution", {4, 3, 2, 2}, {4, 1, 1, 1}, "per_row", 1, 12},
      {"rows of a stack, [E, N]", {2, 4, 6}, {2, 4}, "per_row", 1, 6},
      {"rows of a stack, [E, N, 1]", {2, 4, 6}, {2, 4, 1}, "per_row", 1, 6},
      {"rows of one column", {6, 1}, {6, 1}, "per_row", 1, 1},
      {"rows against a config of blocks", {300, 300}, {300, 1}, "per_row", 1, 300, "config_disagrees", block(128, 128)},
      {"columns", {4, 6}, {1, 6}, "per_column", 4, 1, "per_column_scale"},
      {"columns of a square", {6, 6}, {1, 6}, "per_column", 6, 1, "per_column_scale"},
      {"columns of a stack", {2, 4, 6}, {2, 1, 6}, "per_column", 4, 1, "per_column_scale"},
      {"one row, scale a column", {1, 6}, {1, 6}, "per_column", 1, 1, "per_column_scale"},
      {"outputs of FBGEMM's experts, [E, H, 1]",
       {2, 4, 6},
       {2, 6, 1},
       "per_column",
       4,
       1,
       "per_column_scale",
       outputs_last()},
      {"outputs where I == H", {2, 6, 6}, {2, 6, 1}, "per_column", 6, 1, "per_column_scale", outputs_last()},
      {"[E, H, 1] without FBGEMM's config", {2, 4, 6}, {2, 6, 1}, "unknown", 0, 0, "!scale_shape_mismatch"},
      {"experts, [E]", {3, 4, 6}, {3}, "per_expert", 4, 6},
      {"experts, [E, 1, 1]", {3, 4, 6}, {3, 1, 1}, "per_expert", 4, 6},
      {"experts where E == N", {4, 4, 6}, {4}, "per_expert", 4, 6},
      {"parts of gate_up", {4, 2}, {2}, "per_part", 2, 2, "fused_parts", parts(2)},
      {"parts of qkv, [3, 1]", {9, 2}, {3, 1}, "per_part", 3, 2, "fused_parts", parts(3)},
      {"as many rows as parts", {2, 5}, {2}, "per_row", 1, 5, "", parts(2)},
      {"parts that cannot be equal", {5, 2}, {3}, "unknown", 0, 0, "!scale_shape_ambiguous", parts(3)},
      {"no blocks behind unequal parts", {301, 64}, {3, 1}, "unknown", 0, 0, "!scale_shape_ambiguous", parts(3)},
      {"two rows of stated blocks are no parts", {200, 100}, {2, 1}, "block", 128, 128, "", {{{128, 128}}, 2}},
      {"groups, [N, nb, 1]", {6, 192}, {6, 3, 1}, "group", 1, 64},
      {"groups that do not divide", {6, 190}, {6, 3, 1}, "unknown", 0, 0, "!scale_shape_mismatch"},
      {"groups of a row, [N, K/64]", {6, 192}, {6, 3}, "group", 1, 64, "assumed_block_size"},
      {"groups of a row, [N, cd(K, 16)]", {7, 100}, {7, 7}, "group", 1, 16, "assumed_block_size"},
      {"blocks by config", {256, 256}, {2, 2}, "block", 128, 128, "", block(128, 128)},
      {"blocks of odd sizes by config", {10, 10}, {4, 2}, "block", 3, 7, "", block(3, 7)},
      {"blocks, assumed", {256, 256}, {2, 2}, "block", 128, 128, "assumed_block_size"},
      {"576 rows and 5 scale rows", {576, 7168}, {5, 56}, "block", 128, 128, "assumed_block_size"},
      {"130 x 129", {130, 129}, {2, 2}, "block", 128, 128, "assumed_block_size"},
      {"blocks of 64", {130, 129}, {3, 3}, "block", 64, 64, "assumed_block_size"},
      {"blocks of 32", {64, 96}, {2, 3}, "block", 32, 32, "assumed_block_size"},
      {"blocks of 256", {300, 600}, {2, 3}, "block", 256, 256, "assumed_block_size"},
      {"ModelOpt's four dimensions", {200, 130}, {2, 1, 2, 1}, "block", 128, 128, "assumed_block_size"},
      {"blocks of a stack", {2, 130, 140}, {2, 2, 2}, "block", 128, 128, "assumed_block_size"},
      {"blocks unlike the config", {256, 256}, {4, 4}, "block", 64, 64, "config_disagrees", block(128, 128)},
      {"another stack", {2, 130, 140}, {3, 2, 2}, "unknown", 0, 0, "!scale_shape_mismatch"},
      {"no custom", {100, 100}, {3, 5}, "unknown", 0, 0, "!scale_shape_mismatch"},
      {"a vector of neither", {4, 6}, {5}, "unknown", 0, 0, "!scale_shape_mismatch"},
      {"a vector of columns", {4, 6}, {6}, "unknown", 0, 0, "!scale_shape_mismatch"},
      {"transposed blocks look like columns",
       {300, 3},
       {1, 3},
       "per_column",
       300,
       1,
       "config_disagrees !scale_shape_ambiguous",
       block(128, 128)},
      {"no rows, one scale", {0, 4}, {}, "per_tensor", 1, 4},
      {"no columns, one scale", {4, 0}, {1}, "per_tensor", 4, 1},
      {"no rows, a scale a row", {0, 4}, {0, 1}, "per_row", 1, 4},
      {"no columns, a scale a row", {4, 0}, {4, 1}, "per_row", 1, 1},
      {"no experts", {0, 4, 6}, {0}, "per_expert", 4, 6},
      {"a scale of no groups", {6, 192}, {6, 0, 1}, "unknown", 0, 0, "!scale_shape_mismatch"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const GridMatch match = match_grid("w", row.weight, row.scale, row.hints);
    CHECK(granularity_name(match.granularity) == row.granularity);
    CHECK(codes(match) == row.notes);
    CHECK(match.grid.group_rows == row.group_rows);
    CHECK(match.grid.group_cols == row.group_cols);
    if (match.problem)
      CHECK_THAT(match.problem->message,
                 Catch::Contains(shape_text(row.scale)) && Catch::Contains(shape_text(row.weight)));
  }
}

TEST_CASE("grid: the index formula is the naive map of every element") {
  oracle::Random random(3);
  for (int round = 0; round < 400; ++round) {
    const uint64_t batches = 1 + random.below(3);
    const uint64_t rows = 1 + random.below(300);
    const uint64_t cols = 1 + random.below(300);
    const uint64_t block_rows = 1 + random.below(140);
    const uint64_t block_cols = 1 + random.below(140);
    const uint64_t grid_rows = (rows + block_rows - 1) / block_rows;
    const uint64_t grid_cols = (cols + block_cols - 1) / block_cols;
    const bool stack = round % 2 == 0;
    const Shape weight = stack ? Shape{batches, rows, cols} : Shape{rows, cols};
    const Shape scale = stack ? Shape{batches, grid_rows, grid_cols} : Shape{grid_rows, grid_cols};
    const GridMatch match = match_grid("w", weight, scale, block(block_rows, block_cols));
    if (match.problem || match.granularity != Granularity::block) continue;  // few scales: an earlier reading
    INFO(shape_text(weight) << " " << shape_text(scale) << " " << block_rows << " " << block_cols);
    uint64_t wrong = 0;
    const uint64_t matrices = stack ? batches : 1;
    for (uint64_t e = 0; e < matrices; ++e) {
      for (uint64_t r = 0; r < rows; ++r) {
        for (uint64_t c = 0; c < cols; ++c) {
          const uint64_t naive = (e * grid_rows + r / block_rows) * grid_cols + c / block_cols;
          wrong += match.grid.scale_row(e * rows + r) * match.grid.grid_cols + c / match.grid.group_cols != naive;
        }
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("grid: shapes of a hostile header make no trouble") {
  const uint64_t huge = uint64_t{1} << 32;
  for (const Shape& scale :
       {Shape{}, Shape{1}, Shape{0}, Shape{0, huge}, Shape{huge}, Shape{1, huge}, Shape{0, 1, 1}}) {
    for (const Shape& weight :
         {Shape{0, huge, huge}, Shape{0, huge, huge, huge}, Shape{huge, 0, huge}, Shape{0}, Shape{}}) {
      const GridMatch match = match_grid("w", weight, scale, block(huge, huge));
      CHECK((match.problem || match.grid.group_cols > 0));
      CHECK((match.problem || match.grid.batch_rows > 0));
    }
  }
}
