// The report: everything that opening a checkpoint found, without its rows.
#include <algorithm>
#include <map>

#include "base/json_writer.h"
#include "session/json_parts.h"
#include "session/ram_reply.h"
#include "session/replies.h"

namespace wb {
namespace {

class Report {
 public:
  Report(const Inspection& inspection, const Pairing& pairing, const QuantConfig& config, const ModelFacts& model,
         const std::vector<Error>& warnings, const ShardSet* set)
      : inspection_(inspection),
        inventory_(inspection.inventory),
        pairing_(pairing),
        config_(config),
        model_(model),
        warnings_(warnings),
        set_(set),
        sums_(checkpoint_sums(inventory_, pairing)),
        json_(text_) {}

  std::string write() {
    json_.begin_object().field("format", "weighbridge.report").field("version", 1);
    verdict();
    sources();
    if (set_) write_set(json_, *set_);
    totals();
    dtypes();
    scheme_rows();
    pair_counts();
    side_information();
    issue_lists();
    decisions();
    dropped();
    write_ram(json_, sums_, model_);
    write_readers(json_, inventory_, judge_readers(inventory_, pairing_, config_, model_.family));
    json_.end_object();
    return std::move(text_);
  }

 private:
  static std::string counted(uint64_t n, const std::string& one) {
    return std::to_string(n) + " " + one + (n == 1 ? "" : "s");
  }

  void verdict() {
    const uint64_t problems = count_problems();
    const char* word = inspection_.refusal ? "refused" : problems > 0 ? "problems" : "sound";
    std::string says;
    if (inspection_.refusal) {
      says = inspection_.refusal->message;
    } else if (problems > 0) {
      says = counted(problems, "weight") + (problems == 1 ? " needs" : " need") + " a decision or cannot be converted";
    } else {
      says = pairing_.pairs.empty() ? "nothing is quantized"
                                    : counted(pairing_.pairs.size(), "quantized weight") + ", every one understood";
    }
    json_.field("verdict", word).field("verdict_text", std::string_view(says));
    if (inspection_.refusal) {
      json_.key("error");
      write_issue(json_, *inspection_.refusal);
    }
  }

  static bool is_problem(const Pair& pair) {
    return pair.state() == PairState::undecided || pair.state() == PairState::refused;
  }

  uint64_t count_problems() const {
    return static_cast<uint64_t>(std::count_if(pairing_.pairs.begin(), pairing_.pairs.end(), is_problem));
  }

  void sources() {
    json_.key("sources").begin_array();
    for (const Source& source : inventory_.sources) {
      json_.begin_object().field("name", std::string_view(source.name)).field("size_bytes", source.size_bytes);
      json_.field("header_bytes", source.header_bytes)
          .field("data_bytes", source.data_bytes)
          .field("tensors", source.tensors)
          .end_object();
      file_bytes_ += source.size_bytes;
      header_bytes_ += source.header_bytes;
    }
    json_.end_array();
  }

  void totals() {
    uint64_t stored = 0;
    for (const Tensor& tensor : inventory_.tensors) stored += tensor.elements;
    json_.field("file_bytes", file_bytes_)
        .field("header_bytes", header_bytes_)
        .field("data_bytes", sums_.all.stored_bytes);
    json_.field("tensor_count", static_cast<uint64_t>(inventory_.tensors.size()))
        .field("parameters", sums_.all.parameters);
    json_.field("stored_elements", stored).field("bf16_data_bytes", bytes_as(sums_.all, HeldAs::bf16));
  }

  void dtypes() {
    struct Row {
      uint64_t tensors = 0, elements = 0, bytes = 0;
    };
    Row rows[kDtypeCount];
    for (const Tensor& tensor : inventory_.tensors) {
      if (!tensor.unknown_dtype.empty()) continue;
      Row& row = rows[static_cast<uint8_t>(tensor.dtype)];
      ++row.tensors;
      row.elements += tensor.elements;
      row.bytes += tensor.bytes();
    }
    json_.key("dtypes").begin_array();
    for (int i = 0; i < kDtypeCount; ++i) {
      if (rows[i].tensors == 0) continue;
      const DtypeInfo& info = dtype_info(static_cast<Dtype>(i));
      json_.begin_object()
          .field("dtype", info.name)
          .field("kind", dtype_kind_name(info.kind))
          .field("tensors", rows[i].tensors);
      json_.field("elements", rows[i].elements).field("bytes", rows[i].bytes).end_object();
    }
    json_.end_array();
  }

  void scheme_rows() {
    struct Row {
      uint64_t weights = 0, parameters = 0, bytes = 0;
    };
    std::map<std::string_view, Row> rows;
    for (const Pair& pair : pairing_.pairs) {
      if (pair.weight == kNoTensor) continue;
      const Tensor& weight = inventory_.tensors[pair.weight];
      Row& row = rows[pair.scheme];
      ++row.weights;
      row.parameters += pair.parameters(inventory_);
      row.bytes += weight.bytes();
    }
    json_.key("schemes").begin_array();
    for (const auto& [id, row] : rows) {
      const Scheme& info = scheme(id);
      json_.begin_object()
          .field("scheme", id)
          .field("title", info.title)
          .field("weights", row.weights)
          .field("parameters", row.parameters);
      json_.field("bytes", row.bytes).field("supported", info.supported).field("formula", info.formula).end_object();
    }
    json_.end_array();
  }

  void pair_counts() {
    uint64_t weights = 0, scales = 0, states[4] = {};
    for (const Pair& pair : pairing_.pairs) {
      weights += pair.weight != kNoTensor;
      scales += pair.scales.size();
      ++states[static_cast<uint8_t>(pair.state())];
    }
    json_.key("pair_counts").begin_object().field("weights", weights).field("scales", scales).field("ok", states[0]);
    json_.field("undecided", states[2]).field("refused", states[3]).field("noted", states[1]).end_object();
  }

  void side_information() {
    json_.key("metadata").begin_array();
    for (const auto& [key, value] : inventory_.metadata) {
      json_.begin_object().field("key", std::string_view(key)).field("value", std::string_view(value)).end_object();
    }
    json_.end_array().key("config").begin_array();
    for (const auto& [name, says] : config_.files) {
      json_.begin_object().field("name", std::string_view(name)).field("says", std::string_view(says)).end_object();
    }
    json_.end_array();
  }

  void issue_lists() {
    json_.key("warnings").begin_array();
    for (const auto* list : {&warnings_, &inspection_.warnings, &pairing_.notes}) {
      for (const Error& warning : *list) write_issue(json_, warning);
    }
    json_.end_array().key("problems").begin_array();
    uint64_t left = kProblemsMax;
    for (const Pair& pair : pairing_.pairs) {
      for (const Error& issue : pair.issues) {
        if (issue_kind(issue.code) == IssueKind::note || left == 0) continue;
        write_issue(json_, issue);
        --left;
      }
    }
    json_.end_array();
  }

  void decisions() {
    std::map<Errc, OpenQuestion> questions;
    for (const Pair& pair : pairing_.pairs) {
      for (const Error& issue : pair.issues) {
        if (issue_kind(issue.code) != IssueKind::question) continue;
        OpenQuestion& question = questions[issue.code];
        question.code = issue.code;
        if (question.tensors.empty()) question.first_message = issue.message;
        question.tensors.push_back(pair_name(inventory_, pair));
      }
    }
    if (inspection_.refusal && inspection_.refusal->code == Errc::shard_missing) {
      OpenQuestion& question = questions[Errc::shard_missing];
      question.code = Errc::shard_missing;
      question.first_message = inspection_.refusal->message;
      for (const MissingShard& each : set_->missing) question.tensors.push_back(each.file);
    }
    json_.key("decisions").begin_array();
    for (const auto& [code, question] : questions) write_decision(json_, question);
    json_.end_array();
  }

  void dropped() {
    json_.key("dropped").begin_array();
    constexpr std::pair<Role, std::string_view> kGroups[] = {{Role::scale, "scales"},
                                                             {Role::activation_scale, "activation scales"},
                                                             {Role::kv_scale, "KV-cache scales"},
                                                             {Role::marker, "markers"}};
    for (const auto& [role, group] : kGroups) {
      const auto count = static_cast<uint64_t>(std::count(pairing_.roles.begin(), pairing_.roles.end(), role));
      if (count == 0) continue;
      json_.begin_object().field("group", group).field("count", count).key("names").begin_array();
      size_t left = kNamesMax;
      for (size_t i = 0; i < inventory_.tensors.size() && left > 0; ++i) {
        if (pairing_.roles[i] != role) continue;
        json_.value(std::string_view(inventory_.tensors[i].name));
        --left;
      }
      json_.end_array().end_object();
    }
    json_.end_array();
  }

  static constexpr size_t kNamesMax = 100;
  static constexpr uint64_t kProblemsMax = 200;  // all of them stand in the pairs' rows

  const Inspection& inspection_;
  const Inventory& inventory_;
  const Pairing& pairing_;
  const QuantConfig& config_;
  const ModelFacts& model_;
  const std::vector<Error>& warnings_;
  const ShardSet* set_;
  CheckpointSums sums_;
  uint64_t file_bytes_ = 0;
  uint64_t header_bytes_ = 0;
  std::string text_;
  JsonWriter json_;
};

}  // namespace

std::string report_reply(const Inspection& inspection, const Pairing& pairing, const QuantConfig& config,
                         const ModelFacts& model, const std::vector<Error>& warnings, const ShardSet* set) {
  return Report(inspection, pairing, config, model, warnings, set).write();
}

}  // namespace wb
