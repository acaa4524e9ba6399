// Pipeline: the timelines of several components put together, in each way they can share a machine.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ram/loaders.h"

namespace wb {

enum class Arrangement : uint8_t {
  together,  ///< all in RAM, and all on the graphics card where there is one
  offload,   ///< all in RAM, one at a time on the graphics card
  in_turn,   ///< each is loaded, used and freed before the next
};
std::string_view arrangement_name(Arrangement arrangement);

struct Component {
  std::string title;
  LoadCase load;
};

/// A row of the loader table for these components: its stages, or why it does not apply.
struct LoaderTimeline {
  const Loader* loader = nullptr;
  Arrangement arrangement = Arrangement::together;
  std::string reason;  ///< empty: it applies
  Stages stages;

  bool applies() const { return reason.empty(); }
};

/// The arrangements that differ for these components: one component has one.
std::vector<Arrangement> arrangements(std::span<const Component> components);

LoaderTimeline timeline_of(const Loader& loader, std::span<const Component> components, Arrangement arrangement);

}  // namespace wb
