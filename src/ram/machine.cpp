#include "ram/machine.h"

#include <algorithm>
#include <iterator>

namespace wb {
namespace {

constexpr std::string_view kKinds[] = {"linux", "windows", "unified", "container"};
constexpr std::string_view kFits[] = {"fits", "fits_if_closed", "will_swap", "will_be_killed"};

// A limit to compare with, and what it means to stay below it.
struct Limit {
  Fit fit;
  uint64_t bytes;
};

// What counts against one pool.
struct Pool {
  std::string_view name;
  bool (*counts)(const MemoryTerm&);
  std::vector<Limit> limits;  ///< ascending; above the last: `beyond`
  Fit beyond = Fit::will_be_killed;
};

bool is_firm(const MemoryTerm& term) { return term.is_firm(); }
bool in_ram(const MemoryTerm& term) { return term.in_ram(); }
bool is_on_device(const MemoryTerm& term) { return !term.in_ram(); }
bool is_not_pages(const MemoryTerm& term) { return term.kind != TermKind::file_pages; }

std::vector<Pool> pools_of(const Machine& machine, bool splits) {
  const uint64_t free = std::min(machine.free_bytes, machine.ram_bytes);
  const uint64_t with_swap = machine.ram_bytes + machine.swap_bytes;
  const bool unified = machine.kind == MachineKind::unified;
  std::vector<Pool> pools = {
      {"ram",
       unified ? is_not_pages : is_firm,
       {{Fit::fits, free}, {Fit::fits_if_closed, machine.ram_bytes}, {Fit::will_swap, with_swap}}}};
  if (machine.kind == MachineKind::windows) {
    pools.push_back({"commit", in_ram, {{Fit::fits, free + machine.swap_bytes}, {Fit::fits_if_closed, with_swap}}});
  }
  if (machine.vram_bytes && *machine.vram_bytes > 0 && !unified && !splits) {
    // Windows lets a full card spill into RAM; elsewhere the allocation fails.
    const Fit beyond = machine.kind == MachineKind::windows ? Fit::will_swap : Fit::will_be_killed;
    pools.push_back({"vram", is_on_device, {{Fit::fits, *machine.vram_bytes}}, beyond});
  }
  return pools;
}

MachineVerdict judge_pool(const Stages& stages, const Pool& pool) {
  MachineVerdict verdict;
  verdict.pool = pool.name;
  uint64_t largest_term = 0;
  for (size_t i = 0; i < stages.size(); ++i) {
    uint64_t need = 0;
    const MemoryTerm* largest = nullptr;
    for (const MemoryTerm& term : stages[i].terms) {
      if (!pool.counts(term)) continue;
      need += term.bytes;
      if (!largest || term.bytes > largest->bytes) largest = &term;
    }
    if (!largest || (i > 0 && need <= verdict.need_bytes)) continue;
    verdict.need_bytes = need;
    verdict.stage = i;
    verdict.term = largest->name;
    largest_term = largest->bytes;
  }
  if (largest_term == 0 && verdict.term.empty() && !stages.empty() && !stages[0].terms.empty())
    verdict.term = stages[0].terms[0].name;
  verdict.fit = pool.beyond;
  verdict.have_bytes = pool.limits.back().bytes;
  for (const Limit& limit : pool.limits) {
    if (verdict.need_bytes > limit.bytes) continue;
    verdict.fit = limit.fit;
    verdict.have_bytes = limit.bytes;
    break;
  }
  return verdict;
}

}  // namespace

std::string_view machine_kind_name(MachineKind kind) { return kKinds[static_cast<uint8_t>(kind)]; }
std::string_view fit_name(Fit fit) { return kFits[static_cast<uint8_t>(fit)]; }

std::optional<MachineKind> machine_kind_of(std::string_view name) {
  const auto at = std::find(std::begin(kKinds), std::end(kKinds), name);
  if (at == std::end(kKinds)) return std::nullopt;
  return static_cast<MachineKind>(at - std::begin(kKinds));
}

MachineVerdict judge(const Stages& stages, const Machine& machine, bool splits) {
  MachineVerdict worst;
  bool first = true;
  for (const Pool& pool : pools_of(machine, splits)) {
    const MachineVerdict verdict = judge_pool(stages, pool);
    if (first || verdict.fit > worst.fit) worst = verdict;
    first = false;
  }
  for (const MemoryStage& stage : stages) {
    const uint64_t device = machine.kind == MachineKind::unified ? stage.device_bytes() : 0;
    const uint64_t all = stage.ram_bytes() + device;
    if (all <= machine.free_bytes) continue;
    worst.dropped_bytes = std::max(worst.dropped_bytes, std::min(stage.file_pages(), all - machine.free_bytes));
  }
  return worst;
}

}  // namespace wb
