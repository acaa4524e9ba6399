#include "ram/help.h"

#include <algorithm>
#include <tuple>

namespace wb {
namespace {

std::vector<Component> held_as(std::span<const Component> components, HeldAs dtype) {
  std::vector<Component> changed(components.begin(), components.end());
  for (Component& component : changed) component.load.held_as = dtype;
  return changed;
}

std::vector<Component> after_converting(std::span<const Component> components, HeldAs to) {
  std::vector<Component> changed(components.begin(), components.end());
  for (Component& component : changed) {
    CheckpointSums& sums = component.load.sums;
    sums.all = converted(sums.all, to);
    for (WeightSums& file : sums.files) file = converted(file, to);
    component.load.facts.schemes.clear();
    component.load.facts.markers = component.load.facts.legacy_scales = false;
    component.load.held_as = HeldAs::stored;
  }
  return changed;
}

class Helper {
 public:
  Helper(const LoaderTimeline& helped, const std::optional<Machine>& machine) : machine_(machine) {
    need_bytes_ = firm_peak(helped.stages);
    fit_ = fit_of(helped);
  }

  void offer(HelpAction action, const Loader& loader, std::span<const Component> components, Arrangement arrangement,
             HeldAs dtype) {
    LoaderTimeline timeline = timeline_of(loader, components, arrangement);
    if (!timeline.applies()) return;
    HelpRow row{action, std::move(timeline), dtype, std::nullopt, 0, 0};
    row.need_bytes = firm_peak(row.timeline.stages);
    if (machine_) row.verdict = judge(row.timeline.stages, *machine_, loader.splits_over_devices);
    const Fit fit = row.verdict ? row.verdict->fit : Fit::fits;
    if (fit > fit_ || (fit == fit_ && row.need_bytes >= need_bytes_)) return;
    row.saves_bytes = need_bytes_ - std::min(need_bytes_, row.need_bytes);
    rows_.push_back(std::move(row));
  }

  std::vector<HelpRow> ranked() {
    std::stable_sort(rows_.begin(), rows_.end(), [](const HelpRow& a, const HelpRow& b) { return key(a) < key(b); });
    return std::move(rows_);
  }

 private:
  static std::tuple<Fit, uint64_t> key(const HelpRow& row) {
    return {row.verdict ? row.verdict->fit : Fit::fits, row.need_bytes};
  }
  Fit fit_of(const LoaderTimeline& timeline) const {
    return machine_ ? judge(timeline.stages, *machine_, timeline.loader->splits_over_devices).fit : Fit::fits;
  }

  const std::optional<Machine>& machine_;
  uint64_t need_bytes_ = 0;
  Fit fit_ = Fit::fits;
  std::vector<HelpRow> rows_;
};

bool is_quantized(std::span<const Component> components) {
  return std::any_of(components.begin(), components.end(),
                     [](const Component& component) { return component.load.sums.all.quantized > 0; });
}

}  // namespace

std::string_view help_action_name(HelpAction action) {
  constexpr std::string_view kNames[] = {"other_loader", "convert_first", "hold_as", "arrange"};
  return kNames[static_cast<uint8_t>(action)];
}

uint64_t firm_peak(const Stages& stages) { return stages[highest(stages, &MemoryStage::firm_bytes)].firm_bytes(); }

std::vector<HelpRow> what_would_help(const LoaderTimeline& helped, std::span<const Component> components,
                                     const std::optional<Machine>& machine) {
  Helper helper(helped, machine);
  const HeldAs now = components[0].load.held_as;
  for (const Loader& loader : loaders()) {
    if (&loader == helped.loader || loader.purpose != Purpose::program) continue;
    helper.offer(HelpAction::other_loader, loader, components, helped.arrangement, now);
  }
  for (const HeldAs to : {HeldAs::bf16, HeldAs::f16}) {
    if (is_quantized(components)) {
      helper.offer(HelpAction::convert_first, *helped.loader, after_converting(components, to), helped.arrangement, to);
    }
  }
  for (const HeldAsName& row : held_as_names()) {
    if (row.held_as == now) continue;
    helper.offer(HelpAction::hold_as, *helped.loader, held_as(components, row.held_as), helped.arrangement,
                 row.held_as);
  }
  for (const Arrangement each : arrangements(components)) {
    if (each != helped.arrangement) helper.offer(HelpAction::arrange, *helped.loader, components, each, now);
  }
  return helper.ranked();
}

}  // namespace wb
