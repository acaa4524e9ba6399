#include "quant/pairs.h"

#include <algorithm>

#include "quant/resolve.h"

namespace wb {

std::string described(const Tensor& tensor) {
  return "`" + tensor.name + "` " + std::string(dtype_info(tensor.dtype).name) + " " + shape_text(tensor.shape);
}

uint32_t ResolveContext::companion(const Pair& pair, std::string_view suffix) const {
  const auto at = std::find_if(pair.scales.begin(), pair.scales.end(),
                               [&](uint32_t index) { return ends_with(tensor(index).name, suffix); });
  return at == pair.scales.end() ? kNoTensor : *at;
}

std::optional<uint64_t> ResolveContext::integer(const Pair& pair, std::string_view suffix) const {
  const uint32_t at = companion(pair, suffix);
  const Shape* const found = at == kNoTensor ? nullptr : values.integers(at);
  return found && found->size() == 1 ? std::optional((*found)[0]) : std::nullopt;
}

namespace {

bool is_scale_dtype(Dtype dtype) {
  return dtype == Dtype::F32 || dtype == Dtype::BF16 || dtype == Dtype::F16 || dtype == Dtype::F8_E8M0 ||
         dtype == Dtype::U8;
}

bool is_plain_float(Dtype dtype) { return dtype == Dtype::F32 || dtype == Dtype::BF16 || dtype == Dtype::F16; }

// "model-00001-of-00002.safetensors": one of a set.
bool named_like_a_shard(std::string_view file) {
  const size_t of = file.rfind("-of-");
  return of != std::string_view::npos && of >= 6 && file[of - 6] == '-';
}

// Schemes that are read in a way of their own; the others are codes with a grid of scales.
struct Resolver {
  std::string_view scheme;
  DtypeSet payloads;  ///< what its payload may be stored as; a marker may name a scheme beside any tensor
  void (*resolve)(const ResolveContext&, Pair&);
};
constexpr DtypeSet kPackedBytes = dtype_bit(Dtype::U8) | dtype_bit(Dtype::I8);
constexpr Resolver kResolvers[] = {
    {"quanto", ~DtypeSet{0}, resolve_quanto},
    {"int8", dtype_bit(Dtype::I8), resolve_int8},
    {"bnb_int8", dtype_bit(Dtype::I8), resolve_bnb_int8},
    {"compressed_int", dtype_bit(Dtype::I32), resolve_compressed_int},
    {"gptq_or_awq", dtype_bit(Dtype::I32), resolve_gptq_or_awq},
    {"bnb_4bit", ~DtypeSet{0}, resolve_bnb_4bit},
    {"hqq", ~DtypeSet{0}, resolve_hqq},
    {"comfy_int4", dtype_bit(Dtype::I8), resolve_comfy_int4},
    {"int4_by_outputs", dtype_bit(Dtype::U8), resolve_output_packed_int4},
    {"torchao", ~DtypeSet{0}, resolve_torchao},
    {"mxfp8", dtype_bit(Dtype::F8_E4M3) | dtype_bit(Dtype::F8_E5M2) | dtype_bit(Dtype::U8), resolve_mxfp8},
    {"mxfp4", kPackedBytes, resolve_mxfp4},
    {"nvfp4", kPackedBytes, resolve_nvfp4},
    {"fp4_native", dtype_bit(Dtype::F4), resolve_fp4_native},
};

void add_evidence(Pair& pair, Evidence evidence) {
  pair.evidence = static_cast<EvidenceSet>(pair.evidence | evidence_bit(evidence));
}

class PairFinder {
 public:
  PairFinder(const Inventory& inventory, const QuantConfig& config, const SmallValues& values)
      : inventory_(inventory), config_(config), values_(values), markers_(values.markers) {
    const auto payloads = std::count_if(inventory.tensors.begin(), inventory.tensors.end(),
                                        [](const Tensor& each) { return is_fp8_payload(each.dtype); });
    result_.pairs.reserve(static_cast<size_t>(payloads));
    result_.roles.assign(inventory.tensors.size(), Role::parameter);
    result_.pair_of.assign(inventory.tensors.size(), -1);
  }

  Pairing find() {
    read_metadata_markers();   // 1. what the file says about its layers
    claim_markers();           // 2. the marker tensors themselves
    claim_packed_payloads();   // 3. families known by a companion tensor
    claim_fp8_payloads();      // 4. everything that is fp8 by dtype and not named like a scale
    claim_scales();            // 5. scales, by name, for those weights; orphans
    claim_fp8_payloads(true);  //    and the fp8 that turned out to scale nothing
    claim_smoothing();         //    what the activations were multiplied by
    claim_auxiliaries();       // 6. activation and KV-cache scales
    any_scaled_ = std::any_of(result_.pairs.begin(), result_.pairs.end(), [](const Pair& pair) {
      return pair.weight != kNoTensor && !pair.scales.empty() && pair.scheme == "fp8_unscaled";
    });
    for (Pair& pair : result_.pairs) resolve(pair);  // 7. which scale belongs to which element
    note_missing_head();
    return std::move(result_);
  }

 private:
  size_t count() const { return inventory_.tensors.size(); }
  const Tensor& tensor(uint32_t index) const { return inventory_.tensors[index]; }
  bool free(uint32_t index) const { return result_.roles[index] == Role::parameter && result_.pair_of[index] < 0; }

  void read_metadata_markers() {
    const std::string* text = inventory_.metadata_value("_quantization_metadata");
    if (!text) return;
    if (const Status status = parse_quantization_metadata(*text, markers_); !status)
      result_.notes.push_back(status.error());
  }

  void claim_markers() {
    for (uint32_t i = 0; i < count(); ++i) {
      const std::string_view name = tensor(i).name;
      if (name == "scaled_fp8" || ends_with(name, ".scaled_fp8")) {
        result_.roles[i] = Role::marker;
        scaled_fp8_marker_ = true;
      } else if (ends_with(name, ".comfy_quant") && tensor(i).dtype == Dtype::U8) {
        result_.roles[i] = Role::marker;
      }
    }
  }

  Pair& add_pair(uint32_t weight, std::string_view scheme_id) {
    Pair pair;
    pair.weight = weight;
    pair.scheme = scheme_id;
    pair.codec = codec_of(tensor(weight).dtype);
    pair.shape = tensor(weight).shape;
    result_.roles[weight] = Role::weight;
    result_.pair_of[weight] = static_cast<int32_t>(result_.pairs.size());
    result_.pairs.push_back(std::move(pair));
    return result_.pairs.back();
  }

  void attach(uint32_t pair_index, uint32_t index, Role role) {
    result_.roles[index] = role;
    result_.pair_of[index] = static_cast<int32_t>(pair_index);
    result_.pairs[pair_index].scales.push_back(index);
  }

  // The rule that makes tensor i a packed payload, or null.
  const PackedRule* packed_rule(uint32_t i) const {
    const Tensor& payload = tensor(i);
    for (const PackedRule& rule : packed_rules()) {
      if (!(rule.dtypes & dtype_bit(payload.dtype)) || !ends_with(payload.name, rule.payload)) continue;
      if (rule.needs.empty()) return &rule;
      const int64_t at = inventory_.find_index(stem(payload.name, rule.payload) + std::string(rule.needs));
      // A companion that belongs to another payload already is none of this one.
      if (at < 0 || !free(static_cast<uint32_t>(at))) continue;
      if (rule.needs_dtypes == 0 || (rule.needs_dtypes & dtype_bit(tensor(static_cast<uint32_t>(at)).dtype)))
        return &rule;
    }
    return nullptr;
  }

  void claim_packed_payloads() {
    for (uint32_t i = 0; i < count(); ++i) {
      if (!free(i)) continue;
      const PackedRule* rule = packed_rule(i);
      if (!rule) continue;
      Pair& pair = add_pair(i, rule->scheme);
      pair.per_element = rule->per_element;
      add_evidence(pair, Evidence::name);
      add_evidence(pair, Evidence::dtypes_and_shapes);
      claim_companions(static_cast<uint32_t>(result_.pairs.size() - 1), stem(tensor(i).name, rule->payload),
                       rule->companions);
    }
  }

  void claim_companions(uint32_t pair_index, const std::string& base, std::string_view suffixes) {
    while (!suffixes.empty()) {
      const size_t space = suffixes.find(' ');
      const int64_t at = inventory_.find_index(base + std::string(suffixes.substr(0, space)));
      if (at >= 0 && free(static_cast<uint32_t>(at))) attach(pair_index, static_cast<uint32_t>(at), Role::scale);
      suffixes = space == std::string_view::npos ? std::string_view() : suffixes.substr(space + 1);
    }
  }

  void claim_fp8_payloads(bool whatever_the_name = false) {
    for (uint32_t i = 0; i < count(); ++i) {
      if (!free(i) || !is_fp8_payload(tensor(i).dtype)) continue;
      if (whatever_the_name || !may_be_fp8_scale(tensor(i).name)) add_pair(i, "fp8_unscaled");
    }
  }

  // A scale in fp8 is no weight: taken for one, it would be widened beside a weight that lost its scale.
  bool may_be_fp8_scale(const std::string& name) const {
    for (const ScaleRule& rule : scale_rules()) {
      if (!ends_with(name, rule.suffix)) continue;
      const Tensor* target = inventory_.find(stem(name, rule.suffix) + std::string(rule.target));
      if (target ? is_fp8_payload(target->dtype) || rule.unmistakable : rule.unmistakable) return true;
    }
    return false;
  }

  // Two rows of 4-bit integers in a byte: only ModelOpt's INT4_AWQ has twice as many rows of scales as of bytes.
  bool claim_output_packed(uint32_t weight, uint32_t scale) {
    const Shape& bytes = tensor(weight).shape;
    const Shape& scales = tensor(scale).shape;
    if (bytes.size() != 2 || scales.size() != 2 || scales[0] != bytes[0] * 2 || bytes[0] == 0) return false;
    Pair& pair = add_pair(weight, "int4_by_outputs");
    pair.per_element = 2;
    add_evidence(pair, Evidence::name);
    add_evidence(pair, Evidence::dtypes_and_shapes);
    return true;
  }

  // fp8 codes in a U8 container, beside a float scale: config says so, or somebody must (case E14).
  bool claim_u8_payload(uint32_t weight, uint32_t scale, const ScaleRule& rule) {
    if (tensor(weight).dtype != Dtype::U8 || !free(weight) || !rule.unmistakable ||
        !is_plain_float(tensor(scale).dtype))
      return false;
    if (claim_output_packed(weight, scale)) return true;
    Pair& pair = add_pair(weight, "fp8_scaled");
    const bool e5m2 = config_.format == "e5m2" || config_.format == "float8_e5m2";
    pair.codec = e5m2 ? Codec::F8_E5M2 : Codec::F8_E4M3;
    if (config_.method == "fp8") {
      add_evidence(pair, Evidence::config);
    } else {
      pair.issues.push_back({Errc::layout_undecided, tensor(weight).name,
                             described(tensor(weight)) + " has the float scale " + described(tensor(scale)) +
                                 ": its bytes may be fp8 codes or packed 4-bit values, and no config says which"});
    }
    return true;
  }

  void claim_scales() {
    for (uint32_t i = 0; i < count(); ++i) {
      if (free(i)) claim_scale(i);
    }
  }

  void claim_scale(uint32_t i) {
    const std::string& name = tensor(i).name;
    for (const ScaleRule& rule : scale_rules()) {
      if (!ends_with(name, rule.suffix)) continue;
      const std::string target = stem(name, rule.suffix) + std::string(rule.target);
      const int64_t at = inventory_.find_index(target);
      if (at < 0) {
        if (rule.unmistakable && (is_scale_dtype(tensor(i).dtype) || is_fp8_payload(tensor(i).dtype)))
          return add_orphan(i, target);
        continue;
      }
      const auto weight = static_cast<uint32_t>(at);
      if (result_.pair_of[weight] < 0 && !claim_u8_payload(weight, i, rule)) {
        if (!rule.unmistakable || !is_plain_float(tensor(weight).dtype) || !free(weight)) continue;
        add_pair(weight, "scaled_float");
      }
      if (result_.roles[weight] != Role::weight) continue;
      refuse_another_scale(result_.pairs[static_cast<size_t>(result_.pair_of[weight])], i);
      return attach(static_cast<uint32_t>(result_.pair_of[weight]), i, Role::scale);
    }
  }

  // A layer's .pre_quant_scale belongs to its weight, whatever the scheme: ignored, it would change the result.
  void claim_smoothing() {
    constexpr std::string_view kSmoothing = ".pre_quant_scale";
    for (uint32_t i = 0; i < count(); ++i) {
      if (!free(i) || !ends_with(tensor(i).name, kSmoothing)) continue;
      for (const std::string_view payload : {".weight", ".weight_packed"}) {
        const int64_t at = inventory_.find_index(stem(tensor(i).name, kSmoothing) + std::string(payload));
        if (at < 0 || result_.roles[static_cast<size_t>(at)] != Role::weight) continue;
        const auto pair = static_cast<uint32_t>(result_.pair_of[static_cast<size_t>(at)]);
        if (result_.pairs[pair].scales.empty()) {
          result_.pairs[pair].issues.push_back({Errc::scheme_unsupported, tensor(static_cast<uint32_t>(at)).name,
                                                described(tensor(i)) + " stands beside a weight that has no scale"});
          result_.roles[i] = Role::auxiliary;
        } else {
          attach(pair, i, Role::scale);
        }
        break;
      }
    }
  }

  // A packed payload has taken its companions; one more scale under another name contradicts them.
  void refuse_another_scale(Pair& pair, uint32_t scale) const {
    const bool packed = pair.scheme != "fp8_unscaled" && pair.scheme != "fp8_scaled" && pair.scheme != "scaled_float";
    if (!packed || pair.scales.empty()) return;
    pair.issues.push_back({Errc::scale_conflict, tensor(pair.weight).name,
                           described(tensor(pair.weight)) + " has its scale " + described(tensor(pair.scales[0])) +
                               ", and " + described(tensor(scale)) + " besides"});
  }

  void add_orphan(uint32_t scale, const std::string& target) {
    Pair pair;
    pair.expected_weight = target;
    pair.scheme = "fp8_scaled";
    pair.issues.push_back({Errc::scale_orphan, target,
                           "`" + tensor(scale).name + "` scales `" + target + "`, which is not in the input"});
    orphans_.push_back(pair);
    orphans_.back().scales.push_back(scale);
    result_.roles[scale] = Role::scale;
  }

  void claim_auxiliaries() {
    for (Pair& orphan : orphans_) {
      result_.pair_of[orphan.scales[0]] = static_cast<int32_t>(result_.pairs.size());
      result_.pairs.push_back(std::move(orphan));
    }
    const bool markers = std::find(result_.roles.begin(), result_.roles.end(), Role::marker) != result_.roles.end();
    result_.quantized = !result_.pairs.empty() || markers || config_.says_quantized() || !markers_.empty();
    if (!result_.quantized) return;  // a model of plain floats may well call a parameter input_scale
    for (uint32_t i = 0; i < count(); ++i) {
      if (!free(i)) continue;
      for (const AuxiliaryRule& rule : auxiliary_rules()) {
        if (ends_with(tensor(i).name, rule.suffix)) {
          result_.roles[i] = rule.role;
          break;
        }
      }
    }
  }

  void resolve(Pair& pair) {
    if (pair.weight == kNoTensor) return;
    const Tensor& weight = tensor(pair.weight);
    const LayerMarker* marker = apply_marker(weight, pair);
    if (!scheme(pair.scheme).supported) return refuse_scheme(weight, pair);
    const ResolveContext context{inventory_, config_, values_, marker};
    if (config_.says_quantized()) add_evidence(pair, Evidence::config);
    for (const Resolver& resolver : kResolvers) {
      if (pair.scheme != resolver.scheme) continue;
      if (resolver.payloads & dtype_bit(weight.dtype)) {
        resolver.resolve(context, pair);
        return fold_smoothing(context, pair);
      }
      pair.issues.push_back({Errc::scheme_unsupported, weight.name,
                             "the marker says " + std::string(scheme(pair.scheme).title) + ", but " +
                                 described(weight) + " cannot hold that"});
      return;
    }
    if (pair.scales.empty()) return resolve_unscaled(weight, marker, pair);
    if (pair.scheme == "fp8_unscaled") pair.scheme = "fp8_scaled";
    add_evidence(pair, Evidence::name);
    add_evidence(pair, Evidence::dtypes_and_shapes);
    const bool smoothed = context.companion(pair, ".pre_quant_scale") != kNoTensor;
    if (pair.scales.size() > (smoothed ? 2 : 1)) {
      pair.issues.push_back({Errc::scale_conflict, weight.name,
                             "`" + weight.name + "` has two scales: " + described(tensor(pair.scales[0])) + " and " +
                                 described(tensor(pair.scales[1]))});
      return;
    }
    resolve_grid(context, pair);
    fold_smoothing(context, pair);
  }

  const LayerMarker* apply_marker(const Tensor& weight, Pair& pair) {
    const auto at = markers_.find(std::string(layer_of(weight.name)));
    if (at == markers_.end()) {
      if (scaled_fp8_marker_) add_evidence(pair, Evidence::scaled_fp8_marker);
      return nullptr;
    }
    const LayerMarker& marker = at->second;
    add_evidence(pair, marker.from_metadata ? Evidence::quantization_metadata : Evidence::comfy_quant);
    const std::string_view named = scheme_of_marker(marker.format);
    if (named.empty() && weight.dtype == Dtype::U8) read_bytes_as(marker.format, pair);
    if (!named.empty()) {
      pair.scheme = named;
    } else if ((marker.format == "float8_e5m2") != (pair.codec == Codec::F8_E5M2)) {
      pair.issues.push_back({Errc::marker_conflict, weight.name,
                             "the marker of `" + weight.name + "` says " + marker.format + ", its dtype is " +
                                 std::string(dtype_info(weight.dtype).name) + "; the dtype is used"});
    }
    return &marker;
  }

  // Older ComfyUI files keep fp8 codes in a U8 container; there only the marker knows the codes.
  static void read_bytes_as(const std::string& format, Pair& pair) {
    pair.codec = format == "float8_e5m2" ? Codec::F8_E5M2 : Codec::F8_E4M3;
    const auto undecided = [](const Error& issue) { return issue.code == Errc::layout_undecided; };
    pair.issues.erase(std::remove_if(pair.issues.begin(), pair.issues.end(), undecided), pair.issues.end());
  }

  void refuse_scheme(const Tensor& weight, Pair& pair) const {
    const Scheme& row = scheme(pair.scheme);
    pair.issues.push_back(
        {Errc::scheme_unsupported, weight.name,
         described(weight) + " is " + std::string(row.title) + ", which this version recognises but does not convert"});
  }

  // No scale at all: plain fp8 if nothing anywhere says otherwise, else a scale was lost (case C08).
  void resolve_unscaled(const Tensor& weight, const LayerMarker* marker, Pair& pair) const {
    add_evidence(pair, Evidence::dtypes_and_shapes);
    std::string why;
    if (marker) {
      why = "its marker says " + marker->format;
    } else if (any_scaled_) {
      why = "other weights have scales";
    } else if (scaled_fp8_marker_) {
      why = "the marker scaled_fp8 says that there are scales";
    } else if (config_.says_quantized()) {
      why = "the config says quant_method " + config_.method;
    } else if (inventory_.sources.size() == 1 && named_like_a_shard(inventory_.sources[0].name)) {
      why = "this is one shard of a set; the scale may be in another shard";
    } else {
      pair.issues.push_back({Errc::unscaled_fp8, {}, {}});  // no words of its own: a model may hold 500,000
      return;
    }
    pair.issues.push_back({Errc::scale_missing, weight.name, described(weight) + " has no scale, but " + why});
  }

  // Case F03: one model in the reports says untied and still ships no head.
  void note_missing_head() {
    if (config_.tie_word_embeddings != std::optional<bool>(false)) return;
    bool embeds = false;
    for (const Tensor& each : inventory_.tensors) {
      if (ends_with(each.name, "lm_head.weight") || each.name == "output.weight") return;
      embeds = embeds || ends_with(each.name, "embed_tokens.weight");
    }
    if (embeds) {
      result_.notes.push_back({Errc::untied_head_missing, "lm_head.weight",
                               "the config says that embeddings are not tied, but lm_head.weight is not in the input"});
    }
  }

  const Inventory& inventory_;
  const QuantConfig& config_;
  const SmallValues& values_;
  LayerMarkers markers_;
  bool scaled_fp8_marker_ = false;
  bool any_scaled_ = false;  // some fp8 weight has a scale, so the others should have one too
  std::vector<Pair> orphans_;
  Pairing result_;
};

}  // namespace

void resolve_grid(const ResolveContext& context, Pair& pair) {
  const Tensor& weight = context.tensor(pair.weight);
  const Tensor& scale = context.tensor(pair.scales[0]);
  if (!is_scale_dtype(scale.dtype)) {
    pair.issues.push_back(
        {Errc::scale_dtype_unknown, weight.name, described(scale) + " cannot be the scale of " + described(weight)});
    return;
  }
  GridHints hints;
  hints.block = context.config.block;
  const LayerMarker* marker = context.marker;
  if (!hints.block && marker && marker->group_size) hints.block = {{*marker->group_size, *marker->group_size}};
  hints.parts = fused_parts(weight.name);
  hints.outputs_last = context.config.method == "fbgemm_fp8";
  GridMatch match = match_grid(weight.name, pair.shape, scale.shape, hints);
  if (match.problem && is_fp8_payload(weight.dtype) && weight.shape.size() == 2 && has_tiled_exponents(weight, scale)) {
    pair.scheme = "mxfp8";
    return resolve_mxfp8(context, pair);
  }
  pair.granularity = match.granularity;
  pair.grid = match.grid;
  pair.scale_dtype = scale.dtype;
  for (Error& note : match.notes) pair.issues.push_back(std::move(note));
  if (match.problem) pair.issues.push_back(std::move(*match.problem));
}

Pairing find_pairs(const Inventory& inventory, const QuantConfig& config, const SmallValues& values) {
  Pairing pairing = PairFinder(inventory, config, values).find();
  check_scale_values(inventory, values, pairing);
  return pairing;
}

namespace {

std::string divided(const char* index, uint64_t by) {
  return by == 1 ? index : std::string(index) + "/" + std::to_string(by);
}

// The index into the scale, e.g. "[r/128, c/128]".
std::string scale_index(const Pair& pair) {
  const Grid& grid = pair.grid;
  const bool stack = grid.batch_rows != grid.rows;
  const std::string row = divided("r", grid.group_rows);
  const std::string col = divided("c", grid.group_cols);
  switch (pair.granularity) {
    case Granularity::per_row:
    case Granularity::per_part: return stack ? "[e, " + row + "]" : "[" + row + "]";
    case Granularity::per_expert: return "[e]";
    case Granularity::per_column: return stack ? "[e, c]" : "[c]";
    case Granularity::group:
    case Granularity::block: return (stack ? "[e, " : "[") + row + ", " + col + "]";
    default: return "";
  }
}

}  // namespace

static std::string with_global(const Inventory& inventory, const Pair& pair, const std::string& scale) {
  if (pair.global_scale == kNoTensor) return scale;
  const std::string& global = inventory.tensors[pair.global_scale].name;
  return "(e4m3(" + scale + ")" + (pair.divide_global ? " / " : " * ") + global.substr(global.rfind('.') + 1) + ")";
}

std::string formula_text(const Inventory& inventory, const Pair& pair) {
  if (pair.weight == kNoTensor) return "";
  const Scheme& row = scheme(pair.scheme);
  if (pair.tiling && !pair.tiling->formula.empty()) return pair.tiling->formula;
  if (!row.supported || pair.scheme == "scaled_float" || pair.scheme == "bnb_int8") return std::string(row.formula);
  const std::string codec(codec_info(pair.codec).formula_name);
  if (pair.scales.empty()) return "w = " + codec + "(code)";
  if (pair.granularity == Granularity::unknown || pair.granularity == Granularity::none) return "undecided";
  const Tensor& scale = inventory.tensors[pair.scales[0]];
  const std::string index = scale_index(pair);
  const std::string name = scale.name.substr(scale.name.rfind('.') + 1) + index;
  const bool exponent = pair.scale_dtype == Dtype::F8_E8M0 || pair.scale_dtype == Dtype::U8;
  const std::string at = index.empty() ? "" : index[1] == 'e' ? "[e,r,c]" : "[r,c]";
  return "w" + at + " = " + codec + "(code" + at + ") * " +
         (exponent ? "2^(" + name + " - 127)" : with_global(inventory, pair, name));
}

}  // namespace wb
