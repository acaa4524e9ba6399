// The index's JSON by events, as the header's is, and for the same reasons: a tree would silently keep the last
// of two equal keys and need several times the memory.
#include "safetensors/shard_index.h"

#include <algorithm>
#include <unordered_map>

#include "base/json_scan.h"
#include "base/utf8.h"
#include "safetensors/header.h"

namespace wb {
namespace {

class IndexHandler {
 public:
  explicit IndexHandler(ShardIndex& index) : index_(index) {}

  std::optional<Error> error;
  bool has_map = false;

  bool null() { return scalar("null"); }
  bool boolean(bool) { return scalar("a boolean"); }
  bool other_number(std::string_view written) { return scalar("the number " + std::string(written)); }

  bool unsigned_number(uint64_t number) {
    if (where_ != Where::metadata || key_ != "total_size") return scalar("the number " + std::to_string(number));
    index_.total_size = number;
    return true;
  }

  bool string(const JsonString& string) {
    if (where_ != Where::map) return scalar("the text `" + std::string(string.text) + "`");
    return take(string.text);
  }

  bool start_object() {
    if (!deeper()) return false;
    if (where_ == Where::outside) {
      where_ = Where::root;
    } else if (where_ == Where::root && key_ == "weight_map") {
      if (has_map) return refuse(Errc::index_not_json, "weight_map stands twice in it");
      has_map = true;
      where_ = Where::map;
    } else if (where_ == Where::root && key_ == "metadata") {
      where_ = Where::metadata;
    } else if (where_ == Where::map) {
      return wrong_value("an object");
    } else {
      skip();
    }
    return true;
  }

  bool end_object() {
    --depth_;
    if (where_ == Where::skipped) return unskip();
    where_ = where_ == Where::root ? Where::outside : Where::root;
    return true;
  }

  bool start_array() {
    if (!deeper()) return false;
    if (where_ == Where::outside || where_ == Where::map || (where_ == Where::root && key_ == "weight_map"))
      return wrong_value("an array");
    skip();
    return true;
  }

  bool end_array() {
    --depth_;
    return unskip();
  }

  bool key(const JsonString& name) {
    if (where_ != Where::skipped) key_ = name.text;
    return true;
  }

  void syntax_error(uint64_t at_bytes) {
    refuse(Errc::index_not_json, "it is no valid JSON near byte " + std::to_string(at_bytes));
  }

 private:
  enum class Where : uint8_t { outside, root, map, metadata, skipped };

  bool refuse(Errc code, const std::string& what) {
    if (!error) error = Error{code, index_.name, index_.name + ": " + what};
    return false;
  }
  bool wrong_value(const std::string& what) {
    if (where_ == Where::outside) return refuse(Errc::index_not_json, "it is " + what + ", not an object");
    if (where_ == Where::root) return refuse(Errc::index_not_json, "weight_map is " + what + ", not an object");
    return refuse(Errc::index_not_json, "the file of `" + key_ + "` is " + what + ", not a name");
  }

  bool deeper() {
    if (++depth_ <= kHeaderDepthMax) return true;
    return refuse(Errc::index_not_json,
                  "more than " + std::to_string(kHeaderDepthMax) + " containers are open at once");
  }
  void skip() {
    if (skipped_++ == 0) after_skip_ = where_;
    where_ = Where::skipped;
  }
  bool unskip() {
    if (--skipped_ == 0) where_ = after_skip_;
    return true;
  }

  // Any value but those that are wanted; writers add fields of their own, and those may hold anything.
  bool scalar(const std::string& what) {
    if (where_ == Where::outside || where_ == Where::map || (where_ == Where::root && key_ == "weight_map"))
      return wrong_value(what);
    if (where_ == Where::metadata && key_ == "total_size") {
      index_.warnings.push_back(
          {Errc::total_size_wrong, index_.name, index_.name + ": total_size is " + what + ", not a whole number"});
      has_odd_total_ = true;
    }
    return true;
  }

  bool take(std::string_view file) {
    // Neighbours mostly share their file.
    if (index_.size() > 0 && index_.files[last_] == file && index_.size() < kTensorsMax)
      return index_.add(key_, last_), true;
    if (!is_plain_file_name(file)) {
      return refuse(Errc::index_bad_path, "`" + key_ + "` is said to be in `" +
                                              printable_utf8({reinterpret_cast<const uint8_t*>(file.data()),
                                                              std::min<size_t>(file.size(), 200)}) +
                                              "`, which is not the name of a file beside it; nothing is opened by it");
    }
    if (index_.size() == kTensorsMax)
      return refuse(Errc::too_many_tensors, "more than " + std::to_string(kTensorsMax) + " tensors");
    const auto [at, is_new] = files_.try_emplace(std::string(file), static_cast<uint32_t>(index_.files.size()));
    if (is_new) {
      if (index_.files.size() == kShardsMax)
        return refuse(Errc::index_too_large, "more than " + std::to_string(kShardsMax) + " files");
      index_.files.emplace_back(file);
    }
    last_ = at->second;
    index_.add(key_, last_);
    return true;
  }

 public:
  bool says_total() const { return index_.total_size.has_value() || has_odd_total_; }

 private:
  ShardIndex& index_;
  Where where_ = Where::outside;
  Where after_skip_ = Where::outside;
  std::string key_;
  std::unordered_map<std::string, uint32_t> files_;
  uint32_t last_ = 0;
  bool has_odd_total_ = false;
  int depth_ = 0;
  int skipped_ = 0;
};

}  // namespace

int64_t ShardIndex::find(std::string_view wanted) const {
  const auto name_of = [this](const Entry& entry) {
    return std::string_view(names_).substr(entry.begin, entry.length);
  };
  const auto at =
      std::lower_bound(entries_.begin(), entries_.end(), wanted,
                       [&](const Entry& entry, std::string_view sought) { return name_of(entry) < sought; });
  return at != entries_.end() && name_of(*at) == wanted ? at - entries_.begin() : -1;
}

void ShardIndex::add(std::string_view tensor_name, uint32_t file_index) {
  entries_.push_back({static_cast<uint32_t>(names_.size()), static_cast<uint32_t>(tensor_name.size()), file_index});
  names_ += tensor_name;
}

std::optional<std::string_view> ShardIndex::sort() {
  const auto name_of = [this](const Entry& entry) {
    return std::string_view(names_).substr(entry.begin, entry.length);
  };
  std::sort(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) { return name_of(a) < name_of(b); });
  const auto twice = std::adjacent_find(entries_.begin(), entries_.end(),
                                        [&](const Entry& a, const Entry& b) { return name_of(a) == name_of(b); });
  return twice == entries_.end() ? std::nullopt : std::optional(name_of(*twice));
}

// No separator of any system, no drive or stream of Windows, nothing that is cut or hidden when shown.
bool is_plain_file_name(std::string_view name) {
  constexpr size_t kNameBytesMax = 255;
  if (name.empty() || name.size() > kNameBytesMax || name == "." || name == "..") return false;
  return std::none_of(name.begin(), name.end(), [](char each) {
    const auto byte = static_cast<uint8_t>(each);
    return byte < 0x20 || byte == 0x7F || each == '/' || each == '\\' || each == ':';
  });
}

Result<ShardIndex> parse_shard_index(const std::string& name, ByteView text) {
  if (text.size() > kIndexBytesMax) {
    return fail(
        Errc::index_too_large, name,
        name + " has " + std::to_string(text.size()) + " bytes; the limit is " + std::to_string(kIndexBytesMax));
  }
  const size_t valid = utf8_valid_prefix(text);
  if (valid != text.size())
    return fail(Errc::index_not_json, name, name + ": byte " + std::to_string(valid) + " is not UTF-8");
  // Told apart from other syntax errors, because editors hide it.
  if (std::find(text.begin(), text.end(), uint8_t{0}) != text.end())
    return fail(Errc::index_not_json, name, name + ": it holds a NUL byte");
  ShardIndex index;
  index.name = name;
  IndexHandler handler(index);
  json_scan({reinterpret_cast<const char*>(text.data()), text.size()}, handler);
  if (handler.error) return tl::unexpected(std::move(*handler.error));
  if (!handler.has_map) return fail(Errc::index_not_json, name, name + ": it has no weight_map");
  if (index.size() == 0) return fail(Errc::index_not_json, name, name + ": its weight_map is empty");
  if (!handler.says_total())
    index.warnings.push_back({Errc::total_size_wrong, name, name + ": it states no total_size"});
  if (const auto twice = index.sort()) {
    return fail(Errc::duplicate_tensor, std::string(*twice),
                name + ": the tensor `" + std::string(*twice) + "` stands in it twice");
  }
  return index;
}

}  // namespace wb
