// Readers: which programs turn the weights of this checkpoint into the right numbers, which do not and what then
// happens, and of which nothing is known. Every answer comes from a row of a table (table.cpp) that names its source;
// where no row matches the answer is "unknown", never a guess. It is about numbers: whether a program knows the
// model's architecture at all is another question.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quant/pairs.h"
#include "readers/facts.h"
#include "safetensors/inventory.h"

namespace wb {

enum class ReadAnswer : uint8_t { reads_wrong, unknown, reads_right };  // the worst first

std::string_view answer_name(ReadAnswer answer);

/// What becomes of the weights.
enum class ReadOutcome : uint8_t {
  correct,
  scale_ignored,     ///< the codes are used as if they were the weights
  wrong_scale,       ///< a scale is applied, but not to the weights it belongs to
  wrong_layout,      ///< nibbles or tiles in another order: noise
  codes_as_numbers,  ///< packed or integer codes are taken for weights
  precision_lost,
  refused,  ///< a message, and nothing is loaded
  crash,    ///< it stops with an error that does not name the cause
  unknown
};

std::string_view outcome_name(ReadOutcome outcome);

enum class Models : uint8_t { image, language, any };

std::string_view models_name(Models models);

/// One program in one range of its versions.
struct Reader {
  std::string_view id;
  std::string_view title;
  std::string_view versions;
  Models models;
};

struct ReaderSource {
  std::string_view url;
  std::string_view place;  ///< the function, section or commit there
};

/// One row of the table: what it asks of a weight and its file, and what the reader then makes of it. Lists are words
/// separated by spaces, one of which must be there; an empty list asks nothing.
struct ReaderRule {
  std::string_view id;
  std::string_view readers;
  struct Condition {
    std::string_view schemes = {};
    std::string_view scales = {};  ///< how the scale that is used is spelled, as in scale_rules(); "-": none of these
    FactSet all = 0;
    FactSet none = 0;
    std::string_view methods = {};   ///< quant_method of the config; "-": no config says anything
    std::string_view formats = {};   ///< format of the config
    std::string_view families = {};  ///< InvokeAI has a loader for each
  } when;
  ReadAnswer answer;
  ReadOutcome outcome;
  std::string_view says;
  ReaderSource source;
};

std::span<const Reader> readers();
/// Of one reader the first that matches decides.
std::span<const ReaderRule> reader_rules();

/// The condition in words: "scheme fp8_scaled; scale under .scale_weight; no scaled_fp8 marker".
std::string condition_text(const ReaderRule& rule);

/// What one rule says about some of the weights; without a rule: nobody knows.
struct ReaderFinding {
  const ReaderRule* rule = nullptr;
  ReadAnswer answer = ReadAnswer::unknown;
  uint64_t weights = 0;
  std::string_view scheme;
  uint32_t example = kNoTensor;  ///< the first of those weights
};

struct ReaderVerdict {
  const Reader* reader = nullptr;
  ReadAnswer answer = ReadAnswer::unknown;  ///< the worst of the findings
  std::vector<ReaderFinding> findings;      ///< the worst first, then by count
};

/// One verdict per row of readers(), in that order; none for an empty checkpoint. `family`: of ModelFacts, empty when
/// the names do not tell. Pure.
std::vector<ReaderVerdict> judge_readers(const Inventory& inventory, const Pairing& pairing, const QuantConfig& config,
                                         std::string_view family);

}  // namespace wb
