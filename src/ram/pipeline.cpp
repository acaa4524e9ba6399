#include "ram/pipeline.h"

#include <algorithm>

namespace wb {
namespace {

// What the components that are loaded already hold, as one term for each kind.
struct Others {
  uint64_t file_pages = 0;
  uint64_t anonymous = 0;
  uint64_t device = 0;

  void add(const MemoryStage& steady) {
    for (const MemoryTerm& term : steady.terms) {
      if (term.kind == TermKind::file_pages) file_pages += term.bytes;
      if (term.kind == TermKind::anonymous) anonymous += term.bytes;
      if (term.kind == TermKind::device) device += term.bytes;
    }
  }

  void join(MemoryStage& stage) const {
    const MemoryTerm terms[] = {{"other_components", TermKind::anonymous, anonymous},
                                {"other_components_mapped", TermKind::file_pages, file_pages},
                                {"other_components_on_device", TermKind::device, device}};
    std::copy_if(std::begin(terms), std::end(terms), std::back_inserter(stage.terms),
                 [](const MemoryTerm& term) { return term.bytes > 0; });
  }
};

bool uses_device(const MemoryStage& stage) { return stage.device_bytes() > 0; }

// The highest moment of a component above what it keeps: with the others in memory, the worst comes last.
uint64_t excess(const Stages& stages) {
  return stages[highest(stages, &MemoryStage::ram_bytes)].ram_bytes() - stages.back().lasting_bytes();
}

Stages together(std::vector<Stages> parts) {
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return excess(a) < excess(b); });
  Others others;
  Stages all;
  for (Stages& part : parts) {
    const MemoryStage steady = part.back();
    for (MemoryStage& stage : part) {
      others.join(stage);
      all.push_back(std::move(stage));
    }
    others.add(steady);
  }
  return all;
}

// Loading as if there were no graphics card, then each on it alone.
Stages offload(const std::vector<Stages>& parts) {
  std::vector<Stages> loading;
  for (const Stages& part : parts) {
    Stages in_ram;
    std::copy_if(part.begin(), part.end(), std::back_inserter(in_ram),
                 [](const auto& each) { return !uses_device(each); });
    loading.push_back(std::move(in_ram));
  }
  Stages all = together(loading);
  for (size_t i = 0; i < parts.size(); ++i) {
    MemoryStage used = parts[i].back();
    Others others;
    for (size_t k = 0; k < parts.size(); ++k) {
      if (k != i) others.add(loading[k].back());
    }
    others.join(used);
    all.push_back(std::move(used));
  }
  return all;
}

Stages in_turn(std::vector<Stages> parts) {
  Stages all;
  for (Stages& part : parts) std::move(part.begin(), part.end(), std::back_inserter(all));
  return all;
}

bool can_stay_in_ram(const std::vector<Stages>& parts) {
  return std::none_of(parts.begin(), parts.end(), [](const Stages& part) { return uses_device(part.front()); });
}

}  // namespace

std::string_view arrangement_name(Arrangement arrangement) {
  constexpr std::string_view kNames[] = {"together", "offload", "in_turn"};
  return kNames[static_cast<uint8_t>(arrangement)];
}

std::vector<Arrangement> arrangements(std::span<const Component> components) {
  if (components.size() < 2) return {Arrangement::together};
  const bool device = components[0].load.device;
  return device ? std::vector{Arrangement::together, Arrangement::offload, Arrangement::in_turn}
                : std::vector{Arrangement::together, Arrangement::in_turn};
}

LoaderTimeline timeline_of(const Loader& loader, std::span<const Component> components, Arrangement arrangement) {
  LoaderTimeline timeline{&loader, arrangement, {}, {}};
  std::vector<Stages> parts;
  for (const Component& component : components) {
    const std::string refusal = loader.refusal(component.load);
    if (!refusal.empty()) {
      timeline.reason = components.size() > 1 ? component.title + ": " + refusal : refusal;
      return timeline;
    }
    parts.push_back(loader.stages(component.load));
    if (components.size() < 2) continue;
    for (MemoryStage& stage : parts.back()) stage.component = component.title;
  }
  if (arrangement == Arrangement::offload && !can_stay_in_ram(parts)) {
    timeline.reason = "it reads straight onto the graphics card";
    return timeline;
  }
  timeline.stages = parts.size() == 1                      ? std::move(parts[0])
                    : arrangement == Arrangement::together ? together(std::move(parts))
                    : arrangement == Arrangement::offload  ? offload(parts)
                                                           : in_turn(std::move(parts));
  return timeline;
}

}  // namespace wb
