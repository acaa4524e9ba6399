// Help: what would take less memory than one row of the loader table does, computed from the other rows.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ram/machine.h"
#include "ram/pipeline.h"

namespace wb {

enum class HelpAction : uint8_t { other_loader, convert_first, hold_as, arrange };
std::string_view help_action_name(HelpAction action);

struct HelpRow {
  HelpAction action;
  LoaderTimeline timeline;
  HeldAs held_as = HeldAs::stored;  ///< what the weights are held as, or converted to first
  std::optional<MachineVerdict> verdict;
  uint64_t need_bytes = 0;   ///< highest firm memory: what must be there
  uint64_t saves_bytes = 0;  ///< against the row that is to be helped
};

/// The highest moment without file pages, which is what decides where nothing else is said.
uint64_t firm_peak(const Stages& stages);

/// Best first; empty when nothing is better. `helped` applies.
std::vector<HelpRow> what_would_help(const LoaderTimeline& helped, std::span<const Component> components,
                                     const std::optional<Machine>& machine);

}  // namespace wb
