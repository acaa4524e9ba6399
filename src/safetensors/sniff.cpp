#include "safetensors/sniff.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "base/utf8.h"

namespace wb {
namespace {

struct Magic {
  std::string_view bytes;
  Errc code;
  std::string_view says;
};

// One row per format known by its first bytes.
constexpr std::string_view kZip("PK\3\4", 4);
constexpr Magic kMagics[] = {
    {kZip, Errc::zip_archive, "a zip archive, most often a PyTorch .pt or .ckpt file; convert it to safetensors first"},
    {"GGUF", Errc::gguf_file, "a GGUF file; its tensors are packed in another way"},
    {"\x80\x02", Errc::pickle_file, "a Python pickle (.bin, .pt or .ckpt), which can run code when it is loaded"},
    {"\x80\x03", Errc::pickle_file, "a Python pickle (.bin, .pt or .ckpt), which can run code when it is loaded"},
    {"\x80\x04", Errc::pickle_file, "a Python pickle (.bin, .pt or .ckpt), which can run code when it is loaded"},
    {"\x80\x05", Errc::pickle_file, "a Python pickle (.bin, .pt or .ckpt), which can run code when it is loaded"},
    {"\x89HDF", Errc::other_format, "an HDF5 file (.h5)"},
    {"\x93NUMPY", Errc::other_format, "a NumPy array (.npy)"},
    {"7z\xBC\xAF", Errc::other_format, "a 7z archive"},
    {"Rar!", Errc::other_format, "a RAR archive"},
    {"\x1F\x8B", Errc::other_format, "a gzip archive"},
    {"\x28\xB5\x2F\xFD", Errc::other_format, "a zstd archive"},
    {"BZh", Errc::other_format, "a bzip2 archive"},
    {"\xFD"
     "7zXZ",
     Errc::other_format, "an xz archive"},
    {"%PDF", Errc::other_format, "a PDF document"},
    {"\x89PNG", Errc::other_format, "a PNG picture"},
    {"\xFF\xD8\xFF", Errc::other_format, "a JPEG picture"},
    {"ggml", Errc::other_format, "an old ggml file"},
};

std::string lower(std::string_view text) {
  std::string copy(text);
  std::transform(copy.begin(), copy.end(), copy.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return copy;
}

std::string printable(std::string_view text) {
  return printable_utf8({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

// "key value" on a line of its own, as in an LFS pointer.
std::string_view line_value(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + key.size());
  return rest.substr(0, rest.find('\n'));
}

std::string_view between(std::string_view text, std::string_view open, std::string_view close) {
  const size_t begin = text.find(open);
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = text.substr(begin + open.size());
  return rest.substr(0, rest.find(close));
}

Error lfs_pointer(std::string_view text) {
  const std::string size = printable(line_value(text, "\nsize "));
  const std::string oid = printable(line_value(text, "\noid "));
  return {Errc::git_lfs_pointer,
          {},
          "this is a Git LFS pointer, not the model; the model itself has " + size + " bytes (object " + oid +
              "). Run `git lfs pull`, or download the file again"};
}

Error html_page(std::string_view text) {
  // Search in lower case, quote from the original: both have the same length.
  const std::string small = lower(text);
  const std::string_view title = between(small, "<title>", "</title>");
  std::string says = "this is a web page (HTML), not a checkpoint";
  if (!title.empty()) {
    says +=
        ", titled \"" + printable(text.substr(static_cast<size_t>(title.data() - small.data()), title.size())) + "\"";
  }
  return {Errc::html_page, {}, says + "; the site probably wanted a log-in or a token. Download the file again"};
}

}  // namespace

std::optional<Error> sniff(ByteView start, uint64_t file_bytes) {
  if (file_bytes == 0) return Error{Errc::empty_file, {}, "the file is empty (0 bytes)"};
  const std::string_view raw(reinterpret_cast<const char*>(start.data()), start.size());
  if (raw.substr(0, 8) == "version " && raw.find("git-lfs") != std::string_view::npos) return lfs_pointer(raw);

  std::string_view text = raw;
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  const std::string head = lower(text.substr(0, 16));
  if (head.rfind("<!doctype html", 0) == 0 || head.rfind("<html", 0) == 0 || head.rfind("<head", 0) == 0)
    return html_page(text);
  if (head.rfind("<?xml", 0) == 0) {
    const std::string message = printable(between(text, "<Message>", "</Message>"));
    return Error{Errc::xml_document,
                 {},
                 "this is an XML answer of a server, not a checkpoint" + (message.empty() ? "" : ": " + message)};
  }
  if (!text.empty() && (text[0] == '{' || text[0] == '[')) {
    return Error{Errc::json_document,
                 {},
                 "this is a JSON text, not a checkpoint; most often the error message of a server: " +
                     printable(text.substr(0, 200)) + ". A log-in, a token or an accepted licence may be missing"};
  }
  for (const Magic& magic : kMagics) {
    if (raw.substr(0, magic.bytes.size()) == magic.bytes)
      return Error{magic.code, {}, "this is " + std::string(magic.says)};
  }
  if (std::all_of(start.begin(), start.end(), [](uint8_t byte) { return byte == 0; })) {
    return Error{Errc::zero_filled,
                 {},
                 "the first " + std::to_string(start.size()) +
                     " bytes are all zero: the file was preallocated but never written"};
  }
  return std::nullopt;
}

}  // namespace wb
