// sniff: what a file is when it is not safetensors.
#include <catch2/catch.hpp>

#include "safetensors/sniff.h"

using namespace wb;

TEST_CASE("sniff: every format by its first bytes") {
  struct Row {
    const char* name;
    std::string bytes;
    const char* code;
    const char* mentions;
  };
  const Row rows[] = {
      {"LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 134\n", "git_lfs_pointer",
       "134 bytes (object sha256:4d7a)"},
      {"HTML", "<!DOCTYPE html>\n<html><head><title>Sign in</title>", "html_page", "\"Sign in\""},
      {"HTML, title in capitals", "<HTML><TITLE>Access \xC3\xA9</TITLE>", "html_page", "\"Access \xC3\xA9\""},
      {"HTML after a BOM and spaces", "\xEF\xBB\xBF \r\n<html>", "html_page", "web page"},
      {"HTML by its head", "<head>", "html_page", "web page"},
      {"XML", "<?xml version=\"1.0\"?><Error><Message>Access denied</Message></Error>", "xml_document",
       "Access denied"},
      {"JSON error", "{\"error\":\"Repository not found\"}", "json_document", "Repository not found"},
      {"JSON list", "\n[1]", "json_document", "[1]"},
      {"zip", std::string("PK\3\4\0\0", 6), "zip_archive", "zip"},
      {"GGUF", std::string("GGUF\3\0", 6), "gguf_file", "GGUF"},
      {"pickle 2", "\x80\x02}q", "pickle_file", "pickle"},
      {"pickle 3", "\x80\x03}q", "pickle_file", "pickle"},
      {"pickle 4", "\x80\x04\x95", "pickle_file", "pickle"},
      {"pickle 5", "\x80\x05\x95", "pickle_file", "pickle"},
      {"HDF5", "\x89HDF\r\n\x1a\n", "other_format", "HDF5"},
      {"NumPy", "\x93NUMPY\x01", "other_format", "NumPy"},
      {"7z", "7z\xBC\xAF\x27\x1C", "other_format", "7z"},
      {"RAR", "Rar!\x1A\x07", "other_format", "RAR"},
      {"gzip", "\x1F\x8B\x08", "other_format", "gzip"},
      {"zstd", "\x28\xB5\x2F\xFD", "other_format", "zstd"},
      {"bzip2", "BZh91AY", "other_format", "bzip2"},
      {"xz",
       std::string("\xFD"
                   "7zXZ\0",
                   6),
       "other_format", "xz"},
      {"PDF", "%PDF-1.4", "other_format", "PDF"},
      {"PNG", "\x89PNG\r\n", "other_format", "PNG"},
      {"JPEG", "\xFF\xD8\xFF\xE0", "other_format", "JPEG"},
      {"ggml", "ggml", "other_format", "ggml"},
      {"zeros", std::string(100, '\0'), "zero_filled", "100 bytes"},
      {"safetensors", std::string("\x08\0\0\0\0\0\0\0{}", 10), "none", ""},
      {"text", "hello, world", "none", ""},
      {"version, but no pointer", "version 3 of the file", "none", ""},
      {"half a magic", "GGU", "none", ""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto what = sniff({reinterpret_cast<const uint8_t*>(row.bytes.data()), row.bytes.size()}, row.bytes.size());
    CHECK((what ? std::string(errc_name(what->code)) : "none") == row.code);
    if (what) CHECK_THAT(what->message, Catch::Contains(row.mentions));
  }
  CHECK(sniff({}, 0)->code == Errc::empty_file);
}

TEST_CASE("sniff: what it quotes is printable") {
  const std::string bytes = "{\"error\":\"\xFF\x01" + std::string(300, 'x');
  const auto what = sniff({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, bytes.size());
  REQUIRE(what);
  CHECK_THAT(what->message, Catch::Contains("??xxx"));
  CHECK(what->message.size() < 500);
}
