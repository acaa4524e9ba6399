#include "plan/output_files.h"

#include <algorithm>
#include <numeric>

#include "base/json_writer.h"
#include "safetensors/header_write.h"
#include "safetensors/shard_index.h"

namespace wb {
namespace {

constexpr std::string_view kEnding = ".safetensors";
constexpr std::string_view kIndexEnding = ".safetensors.index.json";

struct ShardName {
  std::string prefix;
  size_t digits = 0;        // of the number
  size_t total_digits = 0;  // of the total, which may have one more
};

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

size_t digits_at_end(std::string_view text) {
  size_t n = 0;
  while (n < text.size() && text[text.size() - 1 - n] >= '0' && text[text.size() - 1 - n] <= '9') ++n;
  return n;
}

// "model-00001-of-000163.safetensors" taken apart; digits 0 when the name is of another kind.
ShardName shard_name(const std::string& file) {
  const std::string stem =
      file.size() > kEnding.size() && file.ends_with(kEnding) ? file.substr(0, file.size() - kEnding.size()) : file;
  constexpr std::string_view kOf = "-of-";
  const size_t total = digits_at_end(stem);
  const std::string_view before = std::string_view(stem).substr(0, stem.size() - total);
  if (total < 5 || !before.ends_with(kOf)) return {stem, 0, 0};
  const std::string_view numbered = before.substr(0, before.size() - kOf.size());
  const size_t number = digits_at_end(numbered);
  const size_t dash = numbered.size() - number;
  if (number < 5 || dash < 2 || numbered[dash - 1] != '-') return {stem, 0, 0};
  return {std::string(numbered.substr(0, dash - 1)), number, total};
}

std::string padded(size_t number, size_t digits) {
  const std::string text = std::to_string(number);
  return std::string(digits > text.size() ? digits - text.size() : 0, '0') + text;
}

std::string numbered_name(const ShardName& parts, size_t number, size_t total) {
  return parts.prefix + "-" + padded(number, parts.digits) + "-of-" + padded(total, parts.total_digits) +
         std::string(kEnding);
}

// Sets step.file to 0, 1, ... by size, in the order in which the input is read.
size_t cut_by_size(uint64_t bytes_max, Plan& plan) {
  std::vector<uint32_t> order(plan.steps.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    // Tensors of an inventory stand by source, then by offset.
    return plan.steps[a].tensor < plan.steps[b].tensor;
  });
  size_t file = 0;
  uint64_t bytes = 0;
  for (const uint32_t at : order) {
    Step& step = plan.steps[at];
    if (bytes > 0 && step.out_bytes > bytes_max - std::min(bytes, bytes_max)) {
      ++file;
      bytes = 0;
    }
    bytes += step.out_bytes;
    step.file = static_cast<uint32_t>(file);
  }
  return file + 1;
}

// Sets step.file to its payload's source, sources without a step left out. The sources that remain.
std::vector<uint32_t> cut_like_input(const Inventory& inventory, Plan& plan) {
  std::vector<uint32_t> file_of_source(inventory.sources.size(), 0);
  for (const Step& step : plan.steps) file_of_source[inventory.tensors[step.tensor].source] = 1;
  std::vector<uint32_t> kept;
  for (uint32_t i = 0; i < file_of_source.size(); ++i) {
    if (file_of_source[i] == 0) continue;
    file_of_source[i] = static_cast<uint32_t>(kept.size());
    kept.push_back(i);
  }
  for (Step& step : plan.steps) step.file = file_of_source[inventory.tensors[step.tensor].source];
  if (kept.empty()) kept.push_back(0);
  return kept;
}

// Names of the input stay; where a file was left out, the numbers in them would lie, so they are given anew.
std::vector<std::string> names_like_input(const Inventory& inventory, const std::vector<uint32_t>& kept, bool partial) {
  std::vector<std::string> names;
  const bool renumber = partial || kept.size() != inventory.sources.size();
  for (size_t i = 0; i < kept.size(); ++i) {
    const std::string name = base_name(inventory.sources[kept[i]].name);
    const ShardName parts = shard_name(name);
    names.push_back(renumber && parts.digits > 0 ? numbered_name(parts, i + 1, kept.size()) : name);
  }
  return names;
}

std::vector<std::string> names_by_number(const Inventory& inventory, size_t count) {
  ShardName parts = shard_name(base_name(inventory.sources[0].name));
  if (count == 1) return {parts.prefix + std::string(kEnding)};
  parts.digits = parts.total_digits = 5;
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back(numbered_name(parts, i + 1, count));
  return names;
}

Status write_headers(const Metadata& metadata, Plan& plan) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < plan.files.size(); ++i) {
    OutputFile& file = plan.files[i];
    std::vector<WrittenTensor> entries;
    uint64_t offset = 0;
    file.first_step = at;
    const auto end =
        std::find_if(plan.steps.begin() + at, plan.steps.end(), [i](const Step& s) { return s.file != i; });
    entries.reserve(static_cast<size_t>(end - plan.steps.begin()) - at);
    for (; at < plan.steps.size() && plan.steps[at].file == i; ++at) {
      const Step& step = plan.steps[at];
      entries.push_back({*step.name, step.dtype, step.shape, offset, offset + step.out_bytes});
      offset += step.out_bytes;
    }
    WB_TRY(file.header, write_header(entries, metadata));
    file.bytes = file.header.size() + offset;
    plan.output_bytes += file.bytes;
  }
  return {};
}

}  // namespace

Status lay_out_files(const Inventory& inventory, const PlanOptions& options, const Metadata& metadata, Plan& plan) {
  std::vector<std::string> names;
  if (options.shards == Shards::same) {
    names = names_like_input(inventory, cut_like_input(inventory, plan), options.partial_set);
  } else {
    const size_t count = options.shards == Shards::by_size ? cut_by_size(options.shard_bytes_max, plan) : size_t{1};
    if (count > kShardsMax) {
      return fail(Errc::invalid_option, "shards",
                  "shards of " + std::to_string(options.shard_bytes_max) + " bytes would make " +
                      std::to_string(count) + " files; the limit is " + std::to_string(kShardsMax));
    }
    names = names_by_number(inventory, count);
  }
  for (std::string& name : names) plan.files.push_back({std::move(name), {}, 0, 0});
  if (options.shards == Shards::same && !options.index_name.empty()) {
    plan.index_name = options.index_name;
  } else if (plan.files.size() > 1) {
    plan.index_name = shard_name(plan.files[0].name).prefix + std::string(kIndexEnding);
  }
  std::sort(plan.steps.begin(), plan.steps.end(), [](const Step& a, const Step& b) {
    return a.file != b.file ? a.file < b.file : written_before(a.dtype, *a.name, b.dtype, *b.name);
  });
  return write_headers(metadata, plan);
}

size_t files_begun(const Plan& plan, uint32_t step) {
  const auto after = std::upper_bound(plan.files.begin(), plan.files.end(), step,
                                      [](uint32_t at, const OutputFile& file) { return at < file.first_step; });
  return static_cast<size_t>(after - plan.files.begin());
}

uint64_t bytes_before(const Plan& plan, uint32_t step) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < files_begun(plan, step); ++i) bytes += plan.files[i].header.size();
  for (size_t i = 0; i < step; ++i) bytes += plan.steps[i].out_bytes;
  return bytes;
}

std::string index_text(const Plan& plan) {
  std::vector<const Step*> by_name;
  uint64_t total_bytes = 0;
  for (const Step& step : plan.steps) {
    by_name.push_back(&step);
    total_bytes += step.out_bytes;
  }
  std::sort(by_name.begin(), by_name.end(), [](const Step* a, const Step* b) { return *a->name < *b->name; });
  std::string text =
      "{\n  \"metadata\": {\n    \"total_size\": " + std::to_string(total_bytes) + "\n  },\n  \"weight_map\": {\n";
  const char* separator = "    ";
  for (const Step* step : by_name) {
    text += separator;
    JsonWriter(text).value(std::string_view(*step->name));
    text += ": ";
    JsonWriter(text).value(std::string_view(plan.files[step->file].name));
    separator = ",\n    ";
  }
  return text + "\n  }\n}\n";
}

}  // namespace wb
