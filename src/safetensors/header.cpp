// The header's JSON by events: a tree would silently keep the last of two equal keys, lose 2^53 + 1 and
// need several times the memory.
#include "safetensors/header.h"

#include <algorithm>
#include <unordered_set>

#include "base/json_scan.h"
#include "base/name_table.h"
#include "base/utf8.h"

namespace wb {
namespace {

class HeaderHandler {
 public:
  explicit HeaderHandler(Header& header) : header_(header) {}

  bool null() {
    if (where_ == Where::root && slot_ == Slot::metadata) {
      warn(Errc::metadata_null, "__metadata__", "__metadata__ is null and counts as absent");
      return true;
    }
    return scalar("null");
  }
  bool boolean(bool) { return scalar("a boolean"); }
  // -1, -0, 1.0, 1e0 and whole numbers from 2^64 on.
  bool other_number(std::string_view written) { return scalar("the number " + std::string(written)); }

  bool unsigned_number(uint64_t number) {
    if (where_ == Where::shape) {
      dims_.push_back(number);
      return true;
    }
    if (where_ == Where::offsets) {
      if (offsets_ == 2) return bad_entry("data_offsets has more than two numbers");
      (offsets_++ == 0 ? entry_.begin : entry_.end) = number;
      return true;
    }
    return scalar("the number " + std::to_string(number));
  }

  bool string(const JsonString& string) {
    const std::string_view text = string.text;
    if (where_ == Where::metadata) {
      header_.metadata.emplace_back(key_, text);
      return true;
    }
    if (where_ == Where::entry && slot_ == Slot::dtype) {
      if (string.escaped) {
        warn(Errc::escaped_spelling, entry_.name, "the dtype " + std::string(text) + " is spelled with JSON escapes");
      }
      entry_.dtype = dtype_from_name(text);
      if (!entry_.dtype) entry_.unknown_dtype = text;
      return true;
    }
    return scalar("a string");
  }

  bool start_object() {
    if (!deeper()) return false;
    switch (where_) {
      case Where::outside: where_ = Where::root; return true;
      case Where::root:
        if (slot_ == Slot::metadata) {
          header_.has_metadata = true;
          where_ = Where::metadata;
        } else {
          entry_ = TensorEntry{};
          entry_.name = std::move(key_);
          seen_ = 0;
          unknown_fields_.clear();
          where_ = Where::entry;
        }
        return true;
      case Where::entry:
        if (slot_ != Slot::unknown) return bad_entry(std::string(slot_name()) + " is an object");
        return skip();
      case Where::metadata: return bad_metadata("an object");
      case Where::shape:
      case Where::offsets: return bad_entry(std::string(slot_name()) + " holds an object");
      case Where::skipped: ++skipped_; return true;
    }
    return false;
  }

  bool end_object() {
    --depth_;
    switch (where_) {
      case Where::skipped: return unskip();
      case Where::metadata: where_ = Where::root; return true;
      case Where::entry: where_ = Where::root; return finish_entry();
      default: where_ = Where::outside; return true;
    }
  }

  bool start_array() {
    if (!deeper()) return false;
    switch (where_) {
      case Where::outside: return refuse(Errc::header_not_json, {}, "the header is a JSON array, not an object");
      case Where::root:
        if (slot_ == Slot::metadata) return metadata_is("an array");
        return refuse(Errc::invalid_entry, key_, "the entry of `" + key_ + "` is an array, not an object");
      case Where::entry:
        if (slot_ == Slot::dtype) return bad_entry("dtype is an array");
        if (slot_ == Slot::unknown) return skip();
        where_ = slot_ == Slot::shape ? Where::shape : Where::offsets;
        offsets_ = 0;
        dims_.clear();
        return true;
      case Where::metadata: return bad_metadata("an array");
      case Where::shape:
      case Where::offsets: return bad_entry(std::string(slot_name()) + " holds an array");
      case Where::skipped: ++skipped_; return true;
    }
    return false;
  }

  bool end_array() {
    --depth_;
    if (where_ == Where::skipped) return unskip();
    if (where_ == Where::shape) entry_.shape.assign(dims_.begin(), dims_.end());
    const bool short_offsets = where_ == Where::offsets && offsets_ != 2;
    where_ = Where::entry;
    return short_offsets ? bad_entry("data_offsets has " + std::to_string(offsets_) + " numbers, not 2") : true;
  }

  bool key(const JsonString& name) {
    switch (where_) {
      case Where::root: return root_key(name);
      case Where::entry: return entry_key(name.text);
      case Where::metadata: key_ = name.text; return true;
      default: return true;
    }
  }

  void syntax_error(uint64_t at_bytes) {
    refuse(Errc::header_not_json, {},
           "the header is not valid JSON near byte " + std::to_string(at_bytes) + " of its text (byte " +
               std::to_string(at_bytes + 8) + " of the file)");
  }

 private:
  enum class Where : uint8_t { outside, root, entry, shape, offsets, metadata, skipped };
  enum class Slot : uint8_t { tensor, metadata, dtype, shape, offsets, unknown };

  const char* slot_name() const {
    switch (slot_) {
      case Slot::dtype: return "dtype";
      case Slot::shape: return "shape";
      case Slot::offsets: return "data_offsets";
      default: return "the field";
    }
  }

  bool refuse(Errc code, std::string where, std::string message) {
    if (!header_.error) header_.error = Error{code, std::move(where), std::move(message)};
    return false;
  }
  // Refused, but the rest of the header can still be read and shown.
  bool refuse_later(Errc code, std::string where, std::string message) {
    refuse(code, std::move(where), std::move(message));
    return true;
  }
  bool bad_entry(const std::string& what) {
    return refuse(Errc::invalid_entry, entry_.name, "`" + entry_.name + "`: " + what);
  }
  bool bad_metadata(const std::string& what) {
    return refuse(Errc::invalid_metadata, key_, "the metadata value `" + key_ + "` is " + what + ", not a string");
  }
  bool metadata_is(const std::string& what) {
    return refuse(Errc::invalid_metadata, "__metadata__", "__metadata__ is " + what + ", not an object");
  }
  void warn(Errc code, std::string where, std::string message) {
    if (header_.warnings.size() < kHeaderWarningsMax) {
      header_.warnings.push_back({code, std::move(where), std::move(message)});
    } else if (header_.warnings.size() == kHeaderWarningsMax) {
      header_.warnings.push_back({code, {}, "further notes about the header are left out"});
    }
  }

  bool deeper() {
    if (++depth_ <= kHeaderDepthMax) return true;
    return refuse(Errc::header_too_deep, {},
                  "more than " + std::to_string(kHeaderDepthMax) + " containers are open at once");
  }
  bool skip() {
    after_skip_ = where_;
    where_ = Where::skipped;
    skipped_ = 1;
    return true;
  }
  bool unskip() {
    if (--skipped_ == 0) where_ = after_skip_;
    return true;
  }

  // Any scalar where it is not wanted; in an ignored field nothing is wrong with it.
  bool scalar(const std::string& what) {
    switch (where_) {
      case Where::skipped: return true;
      case Where::outside: return refuse(Errc::header_not_json, {}, "the header is " + what + ", not an object");
      case Where::root:
        if (slot_ == Slot::metadata) {
          return metadata_is(what);
        }
        return refuse(Errc::invalid_entry, key_, "the entry of `" + key_ + "` is " + what + ", not an object");
      case Where::metadata: return bad_metadata(what);
      case Where::entry:
        if (slot_ == Slot::unknown) return true;
        return bad_entry(std::string(slot_name()) + " is " + what);
      case Where::shape:
      case Where::offsets: return bad_entry(std::string(slot_name()) + " holds " + what + ", not an unsigned integer");
    }
    return false;
  }

  bool root_key(const JsonString& name) {
    key_ = name.text;
    slot_ = key_ == "__metadata__" ? Slot::metadata : Slot::tensor;
    if (slot_ == Slot::metadata) {
      if (name.escaped) warn(Errc::escaped_spelling, key_, "__metadata__ is spelled with JSON escapes");
      if (metadata_keys_++ != 0) return refuse(Errc::duplicate_key, key_, "__metadata__ stands twice in the header");
    }
    return true;
  }

  bool entry_key(std::string_view name) {
    slot_ = name == "dtype"          ? Slot::dtype
            : name == "shape"        ? Slot::shape
            : name == "data_offsets" ? Slot::offsets
                                     : Slot::unknown;
    if (slot_ == Slot::unknown) {
      if (!unknown_fields_.emplace(name).second) return field_twice(name);
      warn(Errc::unknown_field, entry_.name,
           "`" + entry_.name + "` has the unknown field `" + std::string(name) + "`, which is ignored");
      return true;
    }
    const auto bit = static_cast<uint8_t>(1u << static_cast<uint8_t>(slot_));
    if (seen_ & bit) return field_twice(name);
    seen_ |= bit;
    return true;
  }
  bool field_twice(std::string_view name) {
    return refuse(Errc::duplicate_key, entry_.name,
                  "`" + entry_.name + "` has the field `" + std::string(name) + "` twice");
  }

  bool finish_entry() {
    for (const Slot needed : {Slot::dtype, Slot::shape, Slot::offsets}) {
      slot_ = needed;
      if (!(seen_ & (1u << static_cast<uint8_t>(needed)))) return bad_entry(std::string(slot_name()) + " is missing");
    }
    if (header_.tensors.size() == kTensorsMax) {
      return refuse(Errc::too_many_tensors, {}, "more than " + std::to_string(kTensorsMax) + " tensors");
    }
    if (entry_.name.find('\0') != std::string::npos) {
      warn(Errc::nul_in_name, entry_.name, "the tensor name contains a NUL character; many tools cut it there");
    }
    if (!entry_.dtype) {
      refuse_later(Errc::unknown_dtype, entry_.name,
                   "`" + entry_.name + "` has dtype " + entry_.unknown_dtype +
                       ", which this version does not know: its size cannot be checked");
    }
    header_.tensors.push_back(std::move(entry_));
    return true;
  }

  Header& header_;
  Where where_ = Where::outside;
  Where after_skip_ = Where::outside;
  Slot slot_ = Slot::tensor;
  std::string key_;
  TensorEntry entry_;
  Shape dims_;  // of the shape being read, so that each tensor's own list is made once and to measure
  std::unordered_set<std::string> unknown_fields_;
  uint8_t seen_ = 0;
  int offsets_ = 0;
  int metadata_keys_ = 0;
  int depth_ = 0;
  int skipped_ = 0;
};

// JSON allows four white-space characters; the format's README only spaces, and only at the end.
void note_white_space(ByteView text, Header& header) {
  const auto is_space = [](uint8_t c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  if (!text.empty() && is_space(text.front())) {
    header.warnings.push_back({Errc::leading_whitespace, {}, "white space before the header's first brace"});
  }
  for (size_t i = text.size(); i > 0 && is_space(text[i - 1]); --i) {
    if (text[i - 1] != ' ') {
      header.warnings.push_back({Errc::unusual_padding, {}, "the header is padded with other white space than spaces"});
      return;
    }
  }
}

// Editors show neither a byte order mark nor a NUL; both are syntax errors.
void name_hidden_bytes(ByteView text, Header& header) {
  if (!header.error || header.error->code != Errc::header_not_json) return;
  const bool bom = text.size() >= 3 && text[0] == 0xEF && text[1] == 0xBB && text[2] == 0xBF;
  const auto nul = std::find(text.begin(), text.end(), uint8_t{0});
  if (bom) {
    header.error->message = "the header starts with a byte order mark";
  } else if (nul != text.end()) {
    header.error->message = "byte " + std::to_string(nul - text.begin()) + " of the header is NUL";
  }
}

std::string range_text(const TensorEntry& tensor) {
  return std::to_string(tensor.begin) + ".." + std::to_string(tensor.end);
}

// README: "Duplicate keys are disallowed". The crate keeps the last one; we refuse (section 1.6).
void find_duplicates(Header& header) {
  NameTable names;
  const auto twice = names.build(static_cast<uint32_t>(header.tensors.size()),
                                 [&](uint32_t i) -> std::string_view { return header.tensors[i].name; });
  if (twice && !header.error) {
    const TensorEntry& first = header.tensors[twice->first];
    header.error = Error{Errc::duplicate_tensor, first.name,
                         "duplicate tensor name `" + first.name + "`: bytes " + range_text(first) + " and " +
                             range_text(header.tensors[twice->second])};
  }
  std::vector<std::string_view> keys;
  for (const auto& [key, value] : header.metadata) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  const auto same = std::adjacent_find(keys.begin(), keys.end());
  if (same != keys.end() && !header.error) {
    header.error =
        Error{Errc::duplicate_key, std::string(*same), "the metadata key `" + std::string(*same) + "` stands twice"};
  }
}

}  // namespace

std::string shape_text(const Shape& shape) {
  std::string text = "[";
  constexpr size_t kDimsMax = 16;
  for (size_t i = 0; i < shape.size() && i < kDimsMax; ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  if (shape.size() > kDimsMax) text += ", ... " + std::to_string(shape.size()) + " dimensions";
  return text + "]";
}

Header parse_header(ByteView text) {
  Header header;
  const size_t valid = utf8_valid_prefix(text);
  if (valid != text.size()) {
    header.error = Error{Errc::header_not_utf8, {}, "byte " + std::to_string(valid) + " of the header is not UTF-8"};
    return header;
  }
  // An upper bound of the tensors, so that a long list need not be copied while it grows.
  const auto objects = std::count(text.begin(), text.end(), uint8_t{'{'});
  header.tensors.reserve(std::min<size_t>(static_cast<size_t>(objects), kTensorsMax));
  HeaderHandler handler(header);
  json_scan({reinterpret_cast<const char*>(text.data()), text.size()}, handler);
  name_hidden_bytes(text, header);
  note_white_space(text, header);
  find_duplicates(header);
  return header;
}

}  // namespace wb
