// Timeline: what a way of loading holds in memory, stage by stage, as named terms.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wb {

/// What a system can do about the bytes of a term.
enum class TermKind : uint8_t {
  file_pages,  ///< pages of a mapped file: in memory, but the file has them too
  anonymous,   ///< stands in memory (or swap) only
  device,      ///< on the graphics card, or in the pool that it shares
  transient,   ///< for a moment, beside everything else of its stage
};
std::string_view term_kind_name(TermKind kind);

struct MemoryTerm {
  std::string_view name;  ///< snake_case; docs/ram.md says what each is
  TermKind kind = TermKind::anonymous;
  uint64_t bytes = 0;
  bool on_device = false;  ///< only of a transient term: not in RAM

  bool in_ram() const { return kind != TermKind::device && !on_device; }
  bool is_firm() const { return in_ram() && kind != TermKind::file_pages; }
};

/// One moment: everything that is alive at once, the source included where it still is.
struct MemoryStage {
  std::string_view stage;
  std::vector<MemoryTerm> terms;
  std::string component;  ///< of a pipeline: the one that is being loaded or used

  uint64_t ram_bytes() const;   ///< file pages, anonymous and transient
  uint64_t firm_bytes() const;  ///< the same without the file pages
  uint64_t file_pages() const;
  uint64_t device_bytes() const;   ///< with what is transient there
  uint64_t lasting_bytes() const;  ///< in RAM, without what is transient
};

/// Stages in the order they happen; the last is the steady state.
using Stages = std::vector<MemoryStage>;

/// Index of the stage with the highest of `measure`; the first of equals.
size_t highest(const Stages& stages, uint64_t (MemoryStage::*measure)() const);

}  // namespace wb
