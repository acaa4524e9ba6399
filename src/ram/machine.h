// Machine: whose memory it is, and whether a timeline fits into it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ram/timeline.h"

namespace wb {

enum class MachineKind : uint8_t {
  linux_like,  ///< file pages can be dropped at any time
  windows,     ///< the loaders' private mappings count against the commit limit
  unified,     ///< RAM and graphics memory are one pool
  container,   ///< a limit of its own; file pages count, but are taken back first
};
std::string_view machine_kind_name(MachineKind kind);
std::optional<MachineKind> machine_kind_of(std::string_view name);

struct Machine {
  uint64_t ram_bytes = 0;
  uint64_t free_bytes = 0;             ///< for a new program, file pages that can be dropped included
  uint64_t swap_bytes = 0;             ///< swap, or the page file
  std::optional<uint64_t> vram_bytes;  ///< 0: no graphics card; absent: not said, and not judged
  MachineKind kind = MachineKind::linux_like;
};

enum class Fit : uint8_t { fits, fits_if_closed, will_swap, will_be_killed };
std::string_view fit_name(Fit fit);

/// What decides, and both numbers.
struct MachineVerdict {
  Fit fit = Fit::fits;
  std::string_view pool;  ///< ram, commit or vram
  size_t stage = 0;
  std::string_view term;  ///< the largest of that stage in that pool
  uint64_t need_bytes = 0;
  uint64_t have_bytes = 0;     ///< what it was compared with: free, all, or all with swap
  uint64_t dropped_bytes = 0;  ///< file pages that do not fit beside it: dropped and read again
};

/// `splits`: the loader leaves in RAM what does not fit on the graphics card.
MachineVerdict judge(const Stages& stages, const Machine& machine, bool splits);

}  // namespace wb
