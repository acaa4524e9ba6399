// How fast a header becomes a list of tensors: parse_header() and validate_layout() on the text of a file, the best and
// the middle of some runs. Prints JSON.   node wb_header_bench.cjs FILE [RUNS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/bytes.h"
#include "safetensors/header.h"

namespace {

std::vector<uint8_t> header_of(const char* path) {
  std::FILE* file = std::fopen(path, "rb");
  uint8_t prefix[8] = {};
  if (!file || std::fread(prefix, 1, 8, file) != 8) return {};
  std::vector<uint8_t> text(static_cast<size_t>(wb::load_le<uint64_t>(prefix)));
  if (std::fread(text.data(), 1, text.size(), file) != text.size()) text.clear();
  std::fclose(file);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const int runs = argc > 2 ? std::atoi(argv[2]) : 7;
  const std::vector<uint8_t> text = argc > 1 ? header_of(argv[1]) : std::vector<uint8_t>();
  if (text.empty()) return std::fputs("no header there\n", stderr), 1;
  std::vector<double> parses;
  std::vector<double> layouts;
  size_t tensors = 0;
  for (int run = 0; run < runs; ++run) {
    using Clock = std::chrono::steady_clock;
    const auto ms = [](Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); };
    const auto begun = Clock::now();
    wb::Header header = wb::parse_header(text);
    const auto parsed = Clock::now();
    uint64_t data_bytes = 0;
    for (const wb::TensorEntry& each : header.tensors) data_bytes = std::max(data_bytes, each.end);
    wb::validate_layout(header, text.size(), data_bytes);
    const auto checked = Clock::now();
    if (header.error) return std::fprintf(stderr, "%s\n", header.error->message.c_str()), 1;
    tensors = header.tensors.size();
    parses.push_back(ms(parsed - begun));
    layouts.push_back(ms(checked - parsed));
  }
  std::sort(parses.begin(), parses.end());
  std::sort(layouts.begin(), layouts.end());
  const auto middle = [](const std::vector<double>& sorted) { return sorted[sorted.size() / 2]; };
  std::printf("{\"bytes\":%zu,\"tensors\":%zu,\"parse_ms\":%.1f,\"parse_ms_min\":%.1f,\"layout_ms\":%.1f}\n",
              text.size(), tensors, middle(parses), parses[0], middle(layouts));
  return 0;
}
